package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// drawn is a random field together with what is sent for it.
type drawn struct {
	id       string
	kind     forms.FieldType
	validate forms.Validation
	options  []string
	required bool
	showIf   string // the id of a field that must not be empty; "" for always

	sent  bool
	parts []string // more or less than one for checkboxes only
	list  bool     // sent as a list
}

func (d *drawn) value() string { return strings.Join(d.parts, ";") }

// shown is the rule of showIf, worked out without the code under test.
func (d *drawn) shown(all []drawn) bool {
	i := slices.IndexFunc(all, func(o drawn) bool { return o.id == d.showIf })
	return i < 0 || (all[i].sent && strings.TrimSpace(all[i].value()) != "")
}

func drawFields(t *rapid.T) []drawn {
	all := make([]drawn, rapid.IntRange(1, 9).Draw(t, "fields"))
	for i := range all {
		d := &all[i]
		d.id = fmt.Sprintf("%s%d", rapid.StringMatching(`[a-zA-Zä"'<\\?/][a-zA-Z0-9._"'\\,:;#{}½-]{0,8}-`).Draw(t, "id"), i)
		d.kind = rapid.SampledFrom(forms.FieldTypes).Draw(t, "type")
		d.required = rapid.Bool().Draw(t, "required")
		switch d.kind {
		case forms.Dropdown, forms.Radio, forms.Status, forms.Checkbox:
			d.options = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9äß名]([a-z &<'"\\,:#]{0,6}[a-z0-9])?`), 1, 5, rapid.ID).Draw(t, "options")
		case forms.Textfield:
			d.validate = rapid.SampledFrom([]forms.Validation{"", forms.Numeric, forms.Alpha, forms.Email}).Draw(t, "validate")
		case forms.Date:
			d.validate = forms.DateOnly
		}
		if i > 0 && all[0].showIf == "" && rapid.Bool().Draw(t, "conditional") {
			d.showIf = all[0].id
		}
		d.sent = d.required || rapid.Bool().Draw(t, "sent")
		d.drawValue(t)
	}
	return all
}

func (d *drawn) drawValue(t *rapid.T) {
	value := textWithoutNUL
	switch {
	case d.kind == forms.Checkbox:
		d.parts = rapid.SliceOfN(rapid.SampledFrom(d.options), 1, 4).Draw(t, "values")
		d.list = rapid.Bool().Draw(t, "list")
		return
	case d.options != nil:
		value = rapid.SampledFrom(d.options)
	case d.validate == forms.Numeric:
		value = rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{1,5})?`)
	case d.validate == forms.Alpha:
		value = rapid.StringMatching(`[a-zA-Zäßéñ名字]{1,9}`)
	case d.validate == forms.Email:
		value = rapid.StringMatching(`[a-z.+'&]{1,9}@[a-z0-9]{1,9}(\.[a-z]{1,5})?`)
	case d.validate == forms.DateOnly:
		value = rapid.StringMatching(`[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])`)
	case d.required:
		value = rapid.Map(textWithoutNUL, func(s string) string { return s + "!" })
	}
	d.parts = []string{value.Draw(t, "value")}
}

var textWithoutNUL = rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "\x01") })

// pageWith writes the fields down as an author would.
func pageWith(all []drawn) string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	text := "```form\nform: f\nfields:\n"
	for _, d := range all {
		text += fmt.Sprintf("  - id: %s\n    type: %s\n    label: Label\n    required: %t\n", quoted(d.id), d.kind, d.required)
		if d.validate != "" {
			text += "    validate: " + string(d.validate) + "\n"
		}
		if d.showIf != "" {
			text += "    showIf: {field: " + quoted(d.showIf) + ", not-empty: true}\n"
		}
		for i, o := range d.options {
			if i == 0 {
				text += "    options:\n"
			}
			text += "      - " + quoted(o) + "\n"
		}
	}
	return text + "```\n"
}

// sending is what a client sends, in the encoding of its own library.
func sending(all []drawn) string {
	fields := map[string]any{}
	for _, d := range all {
		switch {
		case d.sent && d.list:
			fields[d.id] = map[string]any{"fieldId": d.id, "value": d.parts}
		case d.sent:
			fields[d.id] = map[string]any{"fieldId": d.id, "value": d.value()}
		}
	}
	text, err := json.Marshal(map[string]any{"fields": fields})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestAnyAcceptedSubmissionReadsBackTheSame(t *testing.T) {
	enginetest.Each(t, testAnyAcceptedSubmissionReadsBackTheSame)
}

func testAnyAcceptedSubmissionReadsBackTheSame(t *testing.T, on enginetest.Engine) {
	e := newEnvOn(t, on, nil)
	rapid.Check(t, func(rt *rapid.T) {
		all := drawFields(rt)
		e.Write(t, "1.md", pageWith(all))
		a := e.do(t, testRequest{user: "alice", method: "POST", path: form(1, "f") + "/submission", body: sending(all)})
		if a.status != http.StatusCreated {
			rt.Fatalf("status %d: %s\n%s\n%s", a.status, a.body, pageWith(all), sending(all))
		}
		path := a.header.Get("Location")
		nested := e.get(t, "alice", path)
		if nested != a.body {
			rt.Fatalf("created\n%s\nread\n%s", a.body, nested)
		}
		flat := e.get(t, "alice", result(path))
		checkReadBack(rt, all, nested, flat)
		for list, one := range map[string]string{"/submission": nested, "/result": flat} {
			if got := e.get(t, "alice", form(1, "f")+list+"?order=desc&limit=1"); got != "["+one+"]" {
				rt.Fatalf("%s lists\n%s\nwant\n%s", list, got, one)
			}
		}
		for _, w := range []testRequest{{method: "POST", path: path, body: nested}, {method: "PUT", path: result(path), body: flat}} {
			w.user = "alice"
			if a := e.do(t, w); a.status != http.StatusOK || a.body != w.body {
				rt.Fatalf("sent back by %s\n%s\nanswered %d\n%s", w.method, w.body, a.status, a.body)
			}
		}
	})
}

// checkReadBack compares both models with what was sent: exactly the fields
// that show, exactly the values.
func checkReadBack(t *rapid.T, all []drawn, nested, flat string) {
	var sub struct {
		Fields map[string]struct{ FieldID, Value string }
	}
	var res map[string]string
	if err := json.Unmarshal([]byte(nested), &sub); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(flat), &res); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for i := range all {
		d, want := &all[i], ""
		entry, there := sub.Fields[d.id]
		if d.sent && d.shown(all) {
			want = d.value()
			stored++
		}
		if there != (d.sent && d.shown(all)) || entry.Value != want || (there && entry.FieldID != d.id) {
			t.Fatalf("field %s: sent %q, shown %t, nested %q", d.id, d.value(), d.shown(all), entry)
		}
		if got, there := res[d.id]; !there || got != want {
			t.Fatalf("field %s: sent %q, shown %t, flat %q", d.id, d.value(), d.shown(all), got)
		}
	}
	if len(sub.Fields) != stored || len(res) != len(all)+3 {
		t.Fatalf("%d nested and %d flat members for %d fields, %d of them stored", len(sub.Fields), len(res), len(all), stored)
	}
}
