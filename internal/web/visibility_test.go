//go:build !race

package web

import (
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
)

// shownModule makes a global function that takes a form and its values by field
// id, and returns the ids of the fields that show.
const shownModule = `
import { visibility } from "conditions.js";

globalThis.shown = (json) => {
  const { form, values } = JSON.parse(json);
  return [...visibility(form)(new Map(Object.entries(values)))].join(" ");
};
`

// apiForm is a form as the API describes it. Its field ids include integers, and
// its last field is alone in a section with the macro id m4.
const apiForm = `{"formId":"feedback","pageId":123,"macroId":"m0","anonymous":false,"oneSubmission":false,"fields":{` +
	`"rating":{"type":"dropdown","fieldId":"rating","label":"Rating","macroId":"m1","required":false,"validationType":"one-of",` +
	`"validations":[{"value":"1"},{"value":"2"},{"value":"3"}],"condition":null,"rank":0},` +
	`"10":{"type":"textbox","fieldId":"10","label":"What went wrong?","macroId":"m2","required":true,"validationType":null,"validations":[],` +
	`"condition":{"action":"show","match":"all","rules":[{"fieldId":"rating","operator":"one-of","value":"1;2"}]},"rank":1},` +
	`"2":{"type":"textfield","fieldId":"2","label":"E-mail","macroId":"m3","required":false,"validationType":"email","validations":[],` +
	`"condition":{"action":"show","match":"any","rules":[{"fieldId":"10","operator":"not-empty","value":""}]},"rank":2}},` +
	`"conditions":{"m2":{"action":"show","match":"all","rules":[{"fieldId":"rating","operator":"one-of","value":"1;2"}]},` +
	`"m4":{"action":"show","match":"any","rules":[{"fieldId":"10","operator":"not-empty","value":""}]}}}`

func TestScriptsKeepTheOrderOfTheQuestions(t *testing.T) {
	vm := newVM(t)
	runModule(t, vm, shownModule)
	for _, test := range []struct{ values, want string }{
		{`{}`, "rating"},
		{`{"rating":"3","10":"kept, but hidden"}`, "rating"},
		{`{"rating":"2"}`, "rating 10"},
		{`{"rating":"2","10":" "}`, "rating 10"},
		{`{"rating":"2","10":"slow"}`, "rating 10 2"},
	} {
		if got := callScript(t, vm, "shown", `{"form":`+apiForm+`,"values":`+test.values+`}`); got != test.want {
			t.Errorf("values %s show %q, want %q", test.values, got, test.want)
		}
	}
}

// chain makes a form of which each field shows when the one before is a.
func chain(length int) *forms.Form {
	f := &forms.Form{}
	for i := range length {
		field := forms.Field{ID: "f" + strconv.Itoa(i), Type: forms.Textfield}
		if i > 0 {
			rule := forms.Rule{FieldID: f.Fields[i-1].ID, Operator: forms.Equals, Value: "a"}
			field.Condition = &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{rule}}
		}
		f.Fields = append(f.Fields, field)
	}
	return f
}

// evaluateOne holds the browser's result for one form against the server's.
func evaluateOne(t *testing.T, form *forms.Form, values []string) {
	t.Helper()
	c := wireCase{Form: toWire(form), Answers: [][]string{values}}
	js, golang := evaluateBoth(t, conditionsScript(t), []wireCase{c}, []*forms.Form{form})
	if js[0] != golang[0] {
		t.Errorf("JavaScript shows %.100s, Go %.100s", js[0], golang[0])
	}
}

// A form may have 1,000 rules, and the last field may be the first on the page:
// then the recursion is as deep as it can be.
func TestScriptsFollowLongChainsOfConditions(t *testing.T) {
	form := chain(1000)
	for i, j := 0, len(form.Fields)-1; i < j; i, j = i+1, j-1 {
		form.Fields[i], form.Fields[j] = form.Fields[j], form.Fields[i]
	}
	values := strings.Split(strings.Repeat("a;", 999)+"a", ";")
	evaluateOne(t, form, values)
	values[500] = "b"
	evaluateOne(t, form, values)
}

// The parser refuses cycles. The page must not hang should one get past it.
func TestScriptsEndCycles(t *testing.T) {
	form := chain(3)
	rule := forms.Rule{FieldID: "f2", Operator: forms.Equals, Value: "a"}
	form.Fields[0].Condition = &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{rule}}
	evaluateOne(t, form, []string{"a", "a", "a"})
}

// A value may be as long as a request body.
func TestScriptsTakeLongValues(t *testing.T) {
	const size = 1 << 20
	zeros, list := strings.Repeat("0", size), strings.Repeat("a;", size/2)
	for _, value := range []string{zeros, zeros + "1", "1." + zeros + "1", "-" + zeros, strings.Repeat(" ", size), list, list + "b"} {
		for _, fieldType := range []forms.FieldType{forms.Textfield, forms.Checkbox} {
			form := &forms.Form{Fields: []forms.Field{{ID: "f", Type: fieldType}}}
			values := []string{value}
			for _, operator := range forms.Operators {
				for _, operand := range []string{"0", "1", "b"} {
					rule := forms.Rule{FieldID: "f", Operator: operator, Value: operand}
					condition := &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{rule}}
					id := string(operator) + operand
					form.Fields = append(form.Fields, forms.Field{ID: id, Type: forms.Textfield, Condition: condition})
					values = append(values, "")
				}
			}
			evaluateOne(t, form, values)
		}
	}
}
