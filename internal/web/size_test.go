package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// quotedForm is a form whose choices repeat long ids, which HTML makes longer.
func quotedForm(id string, fields, options int) string {
	text := "form: " + id + "\nfields:\n"
	list := "&o [x"
	for i := range options - 1 {
		list += ", " + strconv.Itoa(i)
	}
	list += "]"
	for i := range fields {
		text += fmt.Sprintf("  - {id: '%s%d', type: radio, options: %s}\n", strings.Repeat(`"`, markup.MaxIDBytes-2), i, list)
		list = "*o"
	}
	return text
}

// The HTML of a form counts, not the length of its text.
func TestLongIDsOfManyChoices(t *testing.T) {
	form := quotedForm("long", 10, 100)
	_, b := newAlice(t, map[string]string{"1-long.md": "```form\n" + form + "```\n"})
	if p := b.get("/page/1"); len(p.body) > maxPageHTML || p.link("Fill in this form") == "" {
		t.Errorf("a page of %d bytes, want a link to the form", len(p.body))
	}
	b.get("/page/1/form/long").want(200, "Send")
	p := b.write(form)
	p.want(200, "The form is too large to be shown here.")
	if len(p.body) > maxPreviewHTML {
		t.Errorf("the author's page has %d bytes", len(p.body))
	}
	huge := b.write(quotedForm("huge", 48, 1000))
	huge.want(200, "The form is too large to be shown here.")
	if len(huge.body) > maxPreviewHTML {
		t.Errorf("the author's page has %d bytes", len(huge.body))
	}
}

// An answer may hold hundreds of thousands of values, each of which would be an
// element.
func TestManyValuesAreOneText(t *testing.T) {
	value := strings.Repeat("a;", 2*maxCellValues)
	field := &forms.Field{ID: "f", Type: forms.Checkbox}
	if v := newAnswer(lang.Find("en"), field, value, nil); v.List != nil || v.Value != value {
		t.Errorf("got %+v", v)
	}
	field.Options = slices.Repeat([]string{"a"}, 2*maxCellValues+1)
	if v := newAnswer(lang.Find("en"), field, value, nil); len(v.List) != 2*maxCellValues+1 {
		t.Errorf("as many values as options: got %+v", v)
	}
	if v := newAnswer(lang.Find("en"), &forms.Field{Type: forms.Checkbox}, "a;b", nil); len(v.List) != 2 {
		t.Errorf("two values: got %+v", v)
	}
}

// Values that are no options are bounded for the form as a whole: it may have
// many fields.
func TestForeignChoicesOfAllFieldsAreBounded(t *testing.T) {
	form := &forms.Form{ID: "f"}
	with := filling{lang: english}
	for i := range 100 {
		form.Fields = append(form.Fields, &forms.Field{ID: strconv.Itoa(i), Type: forms.Checkbox, Options: []string{"b", "c"}})
		with.values = append(with.values, "c;"+strings.Repeat("a;", 100))
	}
	choices, chosen := 0, 0
	_, questions := layOut("f0", form, with)
	for _, q := range questions {
		choices += len(q.Choices)
		for _, c := range q.Choices {
			if c.Chosen {
				chosen++
			}
		}
	}
	if choices != 200+markup.MaxOptions || chosen != 100+markup.MaxOptions {
		t.Errorf("%d choices, of which %d are chosen", choices, chosen)
	}
}

// Questions are shown as they are written, also where a condition names a later one.
func TestQuestionsAreInTheWrittenOrder(t *testing.T) {
	f := &forms.Form{ID: "f", Sections: []forms.Section{{Name: "S", First: 1, Count: 2}}}
	for _, id := range []string{"a", "b", "c", "d"} {
		f.Fields = append(f.Fields, &forms.Field{ID: id, Type: forms.Textfield})
	}
	f.Fields[0].Condition = &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{{FieldID: "c", Operator: forms.NotEmpty}}}
	items, all := layOut("f0", f, filling{lang: english, values: make([]string, 4)})
	if len(items) != 3 || items[0].Questions[0] != all[0] || !slices.Equal(items[1].Questions, all[1:3]) || items[2].Questions[0] != all[3] {
		t.Errorf("got %+v", items)
	}
	if !all[0].Hidden || items[1].Hidden {
		t.Errorf("hidden: %v, %v", all[0].Hidden, items[1].Hidden)
	}
}

// An answer whose characters are all escaped can be read, changed and deleted.
func TestQuotationMarks(t *testing.T) {
	e, b := newAlice(t, map[string]string{"1-long.md": "```form\nform: f\nfields:\n  - {id: a, type: textbox}\n```\n"})
	marks := strings.Repeat(`"`, 1_000_000)
	sub, err := e.Store.Create(t.Context(), store.New{
		PageID: 1, FormID: "f", Username: "alice", Created: e.Clock.Now(), Entries: []forms.Entry{{FieldID: "a", Value: marks}},
	})
	testkit.Must(t, err)
	path := fmt.Sprintf("/page/1/form/f/submission/%d", sub.ID)
	b.get(path).want(200, "Change")
	b.get(path+"/change").want(200, "Save")
	p := b.get(path + "/delete")
	p.want(200, "This can't be undone")
	if len(p.body) > 32<<10 {
		t.Errorf("the question has %d bytes", len(p.body))
	}
}
