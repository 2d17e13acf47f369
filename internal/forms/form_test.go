package forms

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestConditionsOfFieldsAndSectionsAreYieldedOnceInPageOrder(t *testing.T) {
	own, shared, last := shownIf(MatchAll, is("a", "1")), shownIf(MatchAll, is("a", "2")), shownIf(MatchAny, is("a", "3"))
	form := &Form{
		Fields: []*Field{
			{ID: "a", MacroID: "A"},
			{ID: "b", MacroID: "B", Condition: own},
			{ID: "c", MacroID: "C", Condition: shared},
			{ID: "d", MacroID: "D", Condition: shared},
			{ID: "e", MacroID: "E"},
			{ID: "f", MacroID: "F"},
			{ID: "g", MacroID: "G", Condition: last},
		},
		Sections: []Section{{MacroID: "C+D", First: 2, Count: 2, Condition: shared}, {MacroID: "E+F", First: 4, Count: 2}},
	}
	want := []struct {
		macroID   string
		condition *Condition
	}{{"B", own}, {"C+D", shared}, {"G", last}}
	i := 0
	for macroID, condition := range form.Conditions() {
		if i == len(want) || macroID != want[i].macroID || condition != want[i].condition {
			t.Fatalf("condition %d is that of %s", i, macroID)
		}
		i++
	}
	testkit.Same(t, "conditions", i, len(want))
	for macroID := range form.Conditions() {
		testkit.Same(t, "went on to after a break", macroID, "B")
		break
	}
}

// Integrators keep macro ids. A change of any of these is a break of the
// contract, however good the reason looks: change the code, not this table.
func TestMacroIDsNeverChange(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"form", MacroID(123, "feedback"), "221f03fc-ece6-5138-876c-2d2971d63ca2"},
		{"form on another page", MacroID(124, "feedback"), "8e09d7c2-42be-5806-8f1f-71b0a7fac954"},
		{"form with letters beyond ASCII", MacroID(1, "rückmeldung.v2"), "c2c4458a-0e86-5391-a7e2-19a74a9f7869"},
		{"field", MacroID(123, "feedback", "field", "rating"), "cc7e81b5-1f33-5b0f-8587-45f6fe053c13"},
		{"section", MacroID(123, "feedback", "section", "rating"), "52ec786f-b07e-5f83-8f5d-e4ddcfc4bff0"},
		{"largest page id", MacroID(1<<63-1, "a"), "9945fd17-2768-5692-a514-68ff75fd5c79"},
	} {
		testkit.Same(t, tt.name, tt.got, tt.want)
	}
}
