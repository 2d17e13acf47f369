package forms

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/testkit"
)

// storedDefinition is a definition as stores have it. Its members must stay readable.
const storedDefinition = `{"formId":"f","pageId":7,"macroId":"m","anonymous":true,"oneSubmission":true,` +
	`"fields":[{"fieldId":"a","type":"checkbox","label":"A \u003c é","macroId":"ma","required":true,"validation":"any-of",` +
	`"options":["x","y"],"labels":{"x":"X","y":"Y"}},` +
	`{"fieldId":"b","type":"file","label":"B","macroId":"mb","validation":"file","accept":[".pdf"],` +
	`"condition":{"match":"all","rules":[{"fieldId":"a","operator":"contains","value":"x"}]}}],` +
	`"sections":[{"macroId":"ms","first":1,"count":1,` +
	`"condition":{"match":"all","rules":[{"fieldId":"a","operator":"contains","value":"x"}]}}]}`

// A definition has what it is for, and nothing else: a change of anything else makes no other definition.
func TestDefinition(t *testing.T) {
	condition := &Condition{MatchAll, []Rule{{"a", Contains, "x"}}}
	want := &Form{
		ID: "f", PageID: 7, MacroID: "m", Anonymous: true, OneSubmission: true,
		Fields: []*Field{
			{
				ID: "a", Type: Checkbox, Label: "A < é", MacroID: "ma", Required: true, Validation: AnyOf, Options: []string{"x", "y"},
				Labels: map[string]string{"y": "Y", "x": "X"},
			},
			{ID: "b", Type: File, Label: "B", MacroID: "mb", Validation: FileName, Accept: []string{".pdf"}, Condition: condition},
		},
		Sections: []Section{{MacroID: "ms", First: 1, Count: 1, Condition: condition}},
	}
	whole := &Form{
		ID: want.ID, PageID: want.PageID, MacroID: want.MacroID, Anonymous: true, OneSubmission: true, Title: "T", Intro: "T", Thanks: "T",
		Limit: 9, LockIf: condition, Withdraw: true, Notify: []string{"a@example.org"}, SubmitterMail: "a", Fields: []*Field{{}, {}}, Sections: []Section{{}},
	}
	*whole.Fields[0], *whole.Fields[1], whole.Sections[0] = *want.Fields[0], *want.Fields[1], want.Sections[0]
	whole.Fields[0].Help, whole.Fields[0].Default, whole.Fields[0].ByEditors, whole.Fields[1].MaxSize = "H", "x", true, 5
	whole.Sections[0].Name, whole.Sections[0].Title = "s", "S"
	for _, f := range []*Form{want, whole} {
		if d := f.Definition(); d.Text != storedDefinition || fmt.Sprintf("%x", d.Hash) != "f13832e0f61ff4496954d92fe4615d44" || d != f.Definition() {
			t.Errorf("%+v", d)
		}
	}
	got, err := NewDefinition(storedDefinition).Form()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Form{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if f, err := NewDefinition(`{"formId":1}`).Form(); err == nil {
		t.Errorf("damaged: %+v", f)
	}
}

// The second create with a form takes its definition as it is.
func TestDefinitionIsMadeOnce(t *testing.T) {
	f := &Form{ID: "f", Fields: []*Field{{ID: "a"}}}
	testkit.Same(t, "allocations", testing.AllocsPerRun(10, func() { f.Definition() }), 0)
}

func TestAskedAs(t *testing.T) {
	then := &Form{Fields: []*Field{
		{ID: "a", Label: "A"},
		{ID: "old", Label: "Pick", Options: []string{"x", "y", "z"}, Labels: map[string]string{"x": "Ex", "y": "Why"}},
	}}
	labels := map[string]string{"x": "Ex", "y": "Yes", "new": "New"}
	pick := Field{ID: "now", Was: []string{"older", "old"}, Label: "Pick", Type: Checkbox, Options: []string{"x", "y", "zed", "new"}, Labels: labels}
	pick.ValueWas = map[string]string{"z": "zed"}
	for _, c := range []struct {
		field                Field
		value, label, answer string
	}{
		{Field{ID: "a", Label: "A"}, "text", "", ""},
		{Field{ID: "a", Label: "B"}, "text", "A", ""},
		{Field{ID: "b", Label: "B"}, "text", "", ""},
		{Field{ID: "old", Label: "old"}, "x;w", "Pick", "Ex;w"},
		{pick, "", "", ""},
		{pick, "x", "", ""},
		{pick, "x;y;new", "", "Ex;Why;New"},
		{pick, "zed", "", "z"},
		{pick, "typed", "", ""},
	} {
		if label, answer := c.field.AskedAs(then, c.value); label != c.label || answer != c.answer {
			t.Errorf("%s, %q: %q, %q, want %q, %q", c.field.ID, c.value, label, answer, c.label, c.answer)
		}
	}
}
