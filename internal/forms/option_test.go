package forms

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

var optionForm = &Form{Fields: []*Field{{ID: "name"}, {
	ID: "state", Type: Checkbox, Validation: AnyOf, Options: []string{"open", "ok", "no"},
	Labels: map[string]string{"ok": "Granted", "no": "Refused"}, Colors: map[string]string{"ok": "green"},
}}}

func TestLabelOf(t *testing.T) {
	f := optionForm.Fields[1]
	many := strings.Repeat("ok;", maxLabelBytes/len("Granted")) // its labels would be too long
	cases := map[string]string{
		"": "", "ok": "Granted", "no;open;ok": "Refused;open;Granted", "OK": "OK", "Granted": "Granted", "gone;ok;": "gone;Granted;",
		many + "x":                   strings.ReplaceAll(many, "ok", "Granted") + "x",
		many + "ok;ok;ok":            many + "ok;ok;ok",
		strings.Repeat(";", 1<<20):   strings.Repeat(";", 1<<20),
		strings.Repeat("ok;", 1<<18): strings.Repeat("ok;", 1<<18),
	}
	for answer, want := range cases {
		testkit.Same(t, answer, f.LabelOf(answer), want)
	}
	testkit.Same(t, "without labels", (&Field{}).LabelOf("ok"), "ok")
	testkit.Same(t, "a field without labels takes allocations",
		testing.AllocsPerRun(10, func() { optionForm.Fields[0].LabelOf("a;b") }),
		0,
	)
}

func TestColorOf(t *testing.T) {
	for value, want := range map[string]string{"ok": "green", "open": "grey", "": "grey", "gone": "grey"} {
		testkit.Same(t, value, optionForm.Fields[1].ColorOf(value), want)
	}
}

// Programs send values, so the message that they get has these.
func TestWithLabels(t *testing.T) {
	f := *optionForm.Fields[1]
	message := f.check("x")
	if want := "must be any of open, ok, no"; message.String() != want {
		t.Errorf("got %q", message)
	}
	if got, want := f.WithLabels(message), "must be any of open, Granted, Refused"; got.String() != want {
		t.Errorf("got %q", got)
	}
	testkit.Same(t, "f.WithLabels(msgRequired)", f.WithLabels(msgRequired), msgRequired)
	testkit.Same(t, "(&Field{}).WithLabels(msgRequired)", (&Field{}).WithLabels(msgRequired), msgRequired)
}
