//go:build !race

package web

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// conditionsModule makes a global function of the module. It takes many forms
// with many answers each, because a call costs more than an evaluation. Its
// result has a line for each set of answers, with 1 for each field that shows
// and 0 for each other, by rank.
const conditionsModule = `
import { visibility } from "conditions.js";

globalThis.visibleOf = (json) => {
  const lines = [];
  for (const { form, answers } of JSON.parse(json)) {
    const visible = visibility(form);
    const ids = Object.values(form.fields).sort((a, b) => a.rank - b.rank).map((field) => field.fieldId);
    for (const values of answers) {
      const byID = new Map();
      values.forEach((value, rank) => byID.set(ids[rank], value));
      const shown = visible(byID);
      let line = "";
      for (const id of ids) {
        line += shown.has(id) ? "1" : "0";
      }
      lines.push(line);
    }
  }
  return lines.join("\n");
};
`

// wireCase is a form as the API describes it, and sets of answers by rank.
type wireCase struct {
	Form    json.RawMessage `json:"form"`
	Answers [][]string      `json:"answers"`
}

func toWire(f *forms.Form) json.RawMessage { return encode.Form(f) }

// line is what visibleOf returns for one set of answers.
func line(shown []bool) string {
	b := make([]byte, len(shown))
	for i, s := range shown {
		b[i] = '0'
		if s {
			b[i] = '1'
		}
	}
	return string(b)
}

// evaluateBoth returns the lines of JavaScript and of Go.
func evaluateBoth(t *testing.T, script func(json string) string, cases []wireCase, evaluated []*forms.Form) (js, golang []string) {
	t.Helper()
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	js = strings.Split(script(string(text)), "\n")
	for i, form := range evaluated {
		for _, values := range cases[i].Answers {
			golang = append(golang, line(form.Visible(values)))
		}
	}
	if len(js) != len(golang) {
		t.Fatalf("JavaScript gave %d results, Go %d", len(js), len(golang))
	}
	return js, golang
}

// conditionsScript returns visibleOf.
func conditionsScript(t *testing.T) func(json string) string {
	t.Helper()
	vm := newVM(t)
	runModule(t, vm, conditionsModule)
	return func(json string) string { return callScript(t, vm, "visibleOf", json) }
}

func TestScriptsShowTheSameFieldsAsTheServer(t *testing.T) {
	const (
		formsInBatch  = 50
		answersToForm = 10
	)
	script := conditionsScript(t)
	results, hidden := 0, 0
	for seed := range uint64(testkit.Rounds(40, 200)) {
		g := newGenerator(seed)
		cases, made := make([]wireCase, formsInBatch), make([]*forms.Form, formsInBatch)
		for i := range cases {
			made[i] = g.form()
			cases[i].Form = toWire(made[i])
			for range answersToForm {
				cases[i].Answers = append(cases[i].Answers, g.answers(made[i]))
			}
		}
		js, golang := evaluateBoth(t, script, cases, made)
		for i := range js {
			if js[i] != golang[i] {
				c := cases[i/answersToForm]
				t.Fatalf("seed %d: JavaScript shows %s, Go %s\nform %s\nanswers %q", seed, js[i], golang[i], c.Form, c.Answers[i%answersToForm])
			}
			results++
			if strings.Contains(js[i], "0") {
				hidden++
			}
		}
	}
	if hidden < results/4 || hidden > results*9/10 {
		t.Errorf("%d of %d results hide a field: the generated forms say little", hidden, results)
	}
}
