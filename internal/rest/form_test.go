package rest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/formulary/formulary/internal/testkit"
)

// members returns the names of a JSON object in the order they are written.
func members(t testing.TB, object string) []string {
	t.Helper()
	d := jsontext.NewDecoder(strings.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		t.Fatalf("%v in %s", err, clip(object))
	}
	var names []string
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		testkit.Must(t, err)
		names = append(names, name.String())
		testkit.Must(t, d.SkipValue())
	}
	return names
}

// pick returns the raw text of a member, however deep.
func pick(t testing.TB, object string, path ...string) string {
	t.Helper()
	for _, name := range path {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(object), &m); err != nil {
			t.Fatalf("%v in %s", err, clip(object))
		}
		raw, ok := m[name]
		if !ok {
			t.Fatalf("no member %q in %s", name, clip(object))
		}
		object = string(raw)
	}
	return object
}

// decoded is JSON for comparing where the order of members does not matter.
func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, clip(text))
	}
	return v
}

// golden reads a file of testdata as the one line that goes over the wire.
func golden(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	testkit.Must(t, err)
	var line bytes.Buffer
	testkit.Must(t, json.Compact(&line, text))
	return line.String()
}

func TestFormIsExactlyTheGoldenOne(t *testing.T) {
	e := newHouse(t)
	testkit.Same(t, "form", e.get(t, "alice", allPath), golden(t, "form.json"))
}

func TestFormsStandInPageOrder(t *testing.T) {
	e := newHouse(t)
	list := e.get(t, "alice", Prefix+"/page/1/form")
	one := e.get(t, "alice", form(1, "zeta"))
	all := e.get(t, "alice", allPath)
	if want := "[" + one + "," + all + "]"; list != want {
		t.Errorf("list of forms:\n%s\nwant the single ones in page order:\n%s", list, want)
	}
}

func TestPageWithoutFormsIsAnEmptyArray(t *testing.T) {
	e := newHouse(t)
	testkit.Same(t, "answer", e.get(t, "alice", Prefix+"/page/2/form"), "[]")
}

// The file types that a field accepts are its validations. The interface has no
// place for help texts and sizes.
func TestFormListsAcceptedFileTypes(t *testing.T) {
	e := newExamplesEnv(t)
	field := pick(t, e.get(t, "alice", form(102, "leave")), "fields", "certificate")
	testkit.Same(t, "validations", pick(t, field, "validations"), `[{"value":".pdf"},{"value":"image/*"}]`)
	want := []string{"type", "fieldId", "label", "macroId", "required", "validationType", "validations", "condition", "rank"}
	testkit.Diff(t, "members of the field", members(t, field), want)
}

func TestFormKeepsTheMacroIDsOfItsHost(t *testing.T) {
	e := newExamplesEnv(t)
	body := e.get(t, "alice", form(104, "registration"))
	testkit.Same(t, "macroId of the form", pick(t, body, "macroId"), `"5f0b2c1e-74a7-4d7c-9f3e-2f3f1f6f0a11"`)
	testkit.Same(
		t, "macroId of the field", pick(t, body, "fields", "mail", "macroId"), `"0d7c8e7a-9e0c-45b5-8f0e-a4f3b6a1c002"`,
	)
	testkit.Same(t, "conditions", pick(t, body, "conditions"), "{}")
}
