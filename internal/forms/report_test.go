package forms

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// reportOf reports on submissions that were checked against a form, which is nil if it is not known.
func reportOf(t *testing.T, f, then *Form, stored ...Submission) []Finding {
	t.Helper()
	r := NewReport(f, submittedAt.AddDate(0, 0, 90), func(int64) (*Form, error) { return then, nil })
	for _, s := range stored {
		testkit.Must(t, r.Add(s))
	}
	return r.Findings()
}

var submittedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// submitted is a submission with answers that are written as id=value.
func submitted(username string, answers ...string) Submission {
	var entries []Entry
	for _, a := range answers {
		id, value, _ := strings.Cut(a, "=")
		entries = append(entries, Entry{FieldID: id, Value: value})
	}
	return Submission{Username: username, Created: submittedAt, Entries: EncodeEntries(nil, entries)}
}

func text(id string) *Field { return &Field{ID: id, Type: Textfield} }

func choices(id string, options ...string) *Field {
	return &Field{ID: id, Type: Radio, Validation: OneOf, Options: options}
}

func TestReport(t *testing.T) {
	required := text("a")
	required.Required = true
	renamed := choices("color", "red")
	renamed.Was, renamed.ValueWas = []string{"colour"}, map[string]string{"rouge": "red"}
	hidden := choices("a", "1")
	hidden.Required, hidden.Condition = true, shownIf(MatchAll, is("b", "yes"))
	bounded := &Field{ID: "a", Type: Textfield, Validation: Numeric, Min: &Bound{FieldID: "b"}}
	today := &Field{ID: "a", Type: Date, Validation: DateOnly, Min: &Bound{Value: Today}}
	short := &Field{ID: "a", Type: Textbox, MaxLength: 3}
	then := &Form{Fields: []*Field{text("a"), text("b"), choices("r", "1", "2", "3", "4", "5"), {ID: "m", Type: Checkbox, Options: []string{"x", "y"}}}}
	many := &Field{ID: "m", Type: Checkbox, Validation: AnyOf, Options: []string{"x"}}
	later := submitted("bob")
	later.Created = submittedAt.AddDate(0, 0, 1)
	for _, tt := range []struct {
		name   string
		form   *Form
		stored []Submission
		want   string // code, field, place, reason, values, count and of, for each
	}{
		{"all is well", &Form{Fields: []*Field{required}}, []Submission{submitted("amy", "a=x")}, ""},
		{"nothing stored", &Form{Fields: []*Field{required}, Limit: 1}, nil, ""},
		{"gone", &Form{Fields: []*Field{text("a")}}, []Submission{submitted("amy", "a=x", "b=y"), submitted("amy", "b="), submitted("amy", "b=z")}, "field-gone b   2/3\n"},
		{"gone, and one new field", &Form{Fields: []*Field{text("a"), text("c")}}, []Submission{submitted("amy", "a=x", "b=y")}, "field-gone b c  1/1\n"},
		{"gone, and two new fields", &Form{Fields: []*Field{text("c"), text("d")}}, []Submission{submitted("amy", "b=y")}, "field-gone b   1/1\n"},
		{"gone, and new fields of other types", &Form{Fields: []*Field{choices("c", "y"), text("d")}}, []Submission{submitted("amy", "r=1")}, "field-gone r c  1/1\n"},
		{"gone, and a new field that was another", &Form{Fields: []*Field{{ID: "c", Type: Textfield, Was: []string{"q"}}}}, []Submission{submitted("amy", "b=y")}, "field-gone b   1/1\n"},
		{"gone, and never asked", &Form{Fields: []*Field{text("d")}}, []Submission{submitted("amy", "q=y")}, "field-gone q   1/1\n"},
		{"renamed", &Form{Fields: []*Field{renamed}}, []Submission{submitted("amy", "colour=rouge"), submitted("amy", "color=red")}, ""},
		{"renamed, and answered twice", &Form{Fields: []*Field{renamed}}, []Submission{submitted("amy", "colour=rouge", "color=red")}, "field-gone colour   1/1\n"},
		{
			"refused", &Form{Fields: []*Field{choices("a", "1", "2")}},
			[]Submission{submitted("amy", "a=1"), submitted("amy", "a=3"), submitted("amy", "a=secret")},
			"value-refused a a must be one of 1, 2 2/3\n",
		},
		{
			"refused, with values that were sent twice", &Form{Fields: []*Field{many}},
			[]Submission{submitted("amy", "m=y;y;x;y"), submitted("amy", "m="+strings.Repeat("x;", 1<<19)+"y")},
			"value-refused m m must be any of x [y] 2/2\n",
		},
		{
			"refused, with values that were options", &Form{Fields: []*Field{choices("r", "1")}},
			[]Submission{submitted("amy", "r=2"), submitted("amy", "r=1"), submitted("amy", "r=2"), submitted("amy", "r=secret"), submitted("amy", "r=5"), submitted("amy", "r=3"), submitted("amy", "r=4")},
			"value-refused r r must be one of 1 [2 5 3] 6/7\n",
		},
		{
			"refused, with parts that were options", &Form{Fields: []*Field{{ID: "n", Was: []string{"m"}, Type: Checkbox, Validation: AnyOf, Options: []string{"x"}}}},
			[]Submission{submitted("amy", "m=x;y"), submitted("amy", "m=secret;x")},
			"value-refused n n must be any of x [y] 2/2\n",
		},
		{
			"no values of an anonymous form", &Form{Anonymous: true, Fields: []*Field{choices("r", "1")}},
			[]Submission{submitted("", "r=2")},
			"value-refused r r must be one of 1 1/1\n",
		},
		{"too long", &Form{Fields: []*Field{short}}, []Submission{submitted("amy", "a=secret")}, "value-refused a a must have at most 3 characters 1/1\n"},
		{
			"a bound does not show the other answer", &Form{Fields: []*Field{bounded, text("b")}},
			[]Submission{submitted("amy", "a=1", "b=77"), submitted("amy", "a=99", "b=77")},
			"value-refused a a must not be below min or above max 1/2\n",
		},
		{"today is when it was sent", &Form{Fields: []*Field{today}}, []Submission{submitted("amy", "a=2026-03-01"), submitted("amy", "a=2026-02-28")}, "value-refused a a must not be below min or above max 1/2\n"},
		{"missing", &Form{Fields: []*Field{required}}, []Submission{submitted("amy"), submitted("amy", "a="), submitted("amy", "a= "), submitted("amy", "a=x")}, "required-missing a a  3/4\n"},
		{
			"hidden answers count as that alone", &Form{Fields: []*Field{text("b"), hidden}},
			[]Submission{
				submitted("amy", "a=other"), submitted("amy", "a=1", "b=yes"), submitted("amy"), submitted("amy", "b=yes"),
			},
			"hidden a a  1/4\nrequired-missing a a  1/4\n",
		},
		{"old", &Form{Keep: Period{89, "day"}, OneSubmission: true}, []Submission{submitted("ann"), later}, "over-keep   89 days 1/2\n"},
		{"not old yet", &Form{Keep: Period{90, "day"}}, []Submission{submitted("amy")}, ""},
		{"limit", &Form{Limit: 2}, []Submission{submitted("amy"), submitted("amy"), submitted("amy")}, "over-limit    3/2\n"},
		{"as many as the limit", &Form{Limit: 2}, []Submission{submitted("amy"), submitted("amy")}, ""},
		{
			"twice", &Form{OneSubmission: true},
			[]Submission{submitted("ann"), submitted("bob"), submitted("ann"), submitted(""), submitted(""), submitted("ann"), submitted("Ann")},
			"anonymous-before    2/7\nsubmitted-twice    1/3\n",
		},
		{
			"anonymous now", &Form{Anonymous: true, OneSubmission: true},
			[]Submission{submitted("ann"), submitted(""), submitted("ann"), submitted("bob")},
			"named-before    3/4\n",
		},
		{"named now", &Form{}, []Submission{submitted(""), submitted("ann")}, "anonymous-before    1/2\n"},
		{"several are allowed", &Form{}, []Submission{submitted("ann"), submitted("ann")}, ""},
		{
			"in the order of the form", &Form{Fields: []*Field{text("z"), required}, Limit: 1},
			[]Submission{submitted("amy", "b=1"), submitted("amy", "z=1")},
			"over-limit    2/1\nfield-gone b a  1/2\nrequired-missing a a  2/2\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.form.ID = "f"
			tt.form.NameFields()
			got := ""
			for _, f := range reportOf(t, tt.form, then, tt.stored...) {
				values := ""
				if f.Values != nil {
					values = fmt.Sprint(f.Values, " ")
				}
				got += fmt.Sprintf("%s %s %s %s %s%d/%d\n", f.Code, f.FieldID, f.At, f.Reason, values, f.Count, f.Of)
				message, hint := f.Message()
				if message == "" || f.FormID != "f" || strings.Contains(message+hint, "secret") || strings.Contains(message+hint, "77") {
					t.Errorf("%+v: %s; %s", f, message, hint)
				}
			}
			testkit.Same(t, "got", got, tt.want)
		})
	}
}

// TestReportOfAnonymousAnswers: if a form was anonymous when an answer was sent, or nobody knows, the report does not
// show its value.
func TestReportOfAnonymousAnswers(t *testing.T) {
	for _, then := range []*Form{{Anonymous: true, Fields: []*Field{choices("r", "1", "2")}}, nil} {
		found := reportOf(t, &Form{Fields: []*Field{choices("r", "1")}}, then, submitted("amy", "r=2"))
		if len(found) != 1 || found[0].Count != 1 || found[0].Values != nil {
			t.Errorf("got %+v", found)
		}
	}
}

func TestReportOfDamagedEntries(t *testing.T) {
	err := NewReport(&Form{}, time.Now(), nil).Add(Submission{ID: 7, Entries: Entries("{")})
	if err == nil || !strings.Contains(err.Error(), "submission 7") {
		t.Errorf("got %v", err)
	}
}

func TestFindingMessages(t *testing.T) {
	for want, f := range map[string]Finding{
		"the form has no field `a`, to which 312 of 4,000 submissions have an answer; if this is `a`, write `was: a`":                       {Code: CodeFieldGone, FieldID: "a", At: "b", Count: 312, Of: 4000},
		"the form has no field `a`, to which 1 of 2 submissions have an answer; if another field has taken its place, write `was: a` there": {Code: CodeFieldGone, FieldID: "a", Count: 1, Of: 2},
		"1,999 submissions are stored under `retro`, which the page no longer has; keep `form: retro`, and change `title`":                  {Code: CodeFormGone, FormID: "retro", Count: 1999},
		"100,000 or more submissions are stored under `retro`, which the page no longer has; keep `form: retro`, and change `title`":        {Code: CodeFormGone, FormID: "retro", Count: 100_000, Of: 100_000},
		"1 submission is stored under `retro`, which the page no longer has; keep `form: retro`, and change `title`":                        {Code: CodeFormGone, FormID: "retro", Count: 1},
		"in 2 of 3 submissions the answer to `a`, such as `x` or `y`, would be refused now: it must be z; ":                                 {Code: CodeValueRefused, FieldID: "a", Reason: "must be z", Values: []string{"x", "y"}, Count: 2, Of: 3},
		"the form has 12,345 submissions, and its limit is 10,000; ":                                                                        {Code: CodeOverLimit, Count: 12345, Of: 10000},
	} {
		if message, hint := f.Message(); message+"; "+hint != want {
			t.Errorf("got %s; %s\nwant %s", message, hint, want)
		}
	}
}
