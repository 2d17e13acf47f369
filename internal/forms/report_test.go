package forms

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
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

// TestReportIsExact changes a form in many ways, and compares each report of 10,000 submissions
// with what is counted here, by rules that are written for the change alone.
func TestReportIsExact(t *testing.T) {
	const n = 10_000
	type answers map[string]string
	random := rand.New(rand.NewPCG(1, 2)) // the same submissions in every run
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	var stored []Submission
	var sentAnswers []answers
	users := map[string]int{}
	for i := range n {
		a := answers{
			"name": pick("", " ", "Ann", "Zoë", "x1"), "mail": pick("", "a@b.c", "none"), "rating": pick("", "1", "2", "3", "4", "5"),
			"travel": pick("", "bus", "bus;car", "train", "car;train"), "day": pick("", "2026-01-31", "2026-02-01", "2026-03-01"),
			"people": pick("", "3", "-1", "10.5", "200"), "note": pick("", "short", "a longer note"),
		}
		user := "user" + strconv.Itoa(random.IntN(9000))
		users[user]++
		var list []string
		for id, value := range a {
			if random.IntN(20) == 0 {
				delete(a, id)
				continue
			}
			list = append(list, id+"="+value)
		}
		s := submitted(user, list...)
		s.ID = int64(i + 1)
		stored, sentAnswers = append(stored, s), append(sentAnswers, a)
	}
	form := func() *Form {
		return &Form{ID: "f", Fields: []*Field{
			text("name"), text("mail"), choices("rating", "1", "2", "3", "4", "5"),
			{ID: "travel", Type: Checkbox, Validation: AnyOf, Options: []string{"bus", "car", "train"}},
			text("day"), text("people"),
			{ID: "note", Type: Textbox},
		}}
	}
	field := func(f *Form, id string) *Field { return f.Field(id) }
	drop := func(f *Form, id string) {
		f.Fields = slices.DeleteFunc(f.Fields, func(field *Field) bool { return field.ID == id })
	}
	has := func(id string, values ...string) func(answers) bool {
		return func(a answers) bool { return slices.Contains(values, a[id]) }
	}
	set := func(id string) func(answers) bool { return func(a answers) bool { return a[id] != "" } }
	when := func(id, value string) *Condition {
		return &Condition{Match: MatchAll, Rules: []Rule{{FieldID: id, Operator: Equals, Value: value}}}
	}
	required := func(id string) func(*Form) { return func(f *Form) { field(f, id).Required = true } }
	validate := func(id string, v Validation) func(*Form) { return func(f *Form) { field(f, id).Validation = v } }
	options := func(id string, values ...string) func(*Form) {
		return func(f *Form) { field(f, id).Options = values }
	}
	const gone, refused, missing, hidden = CodeFieldGone, CodeValueRefused, CodeRequiredMissing, CodeHidden
	for i, change := range []struct {
		change func(*Form)
		code   string // of the only finding
		field  string
		counts func(answers) bool
	}{
		{func(*Form) {}, "", "", nil},
		{func(f *Form) { drop(f, "name") }, gone, "name", set("name")},
		{func(f *Form) { drop(f, "rating") }, gone, "rating", set("rating")},
		{func(f *Form) { drop(f, "travel") }, gone, "travel", set("travel")},
		{func(f *Form) { field(f, "note").ID = "remark" }, gone, "note", set("note")},
		{func(f *Form) { field(f, "note").Was = []string{"note"}; field(f, "note").ID = "remark" }, "", "", nil},
		{func(f *Form) { f.Fields = append(f.Fields, text("more")) }, "", "", nil},
		{func(f *Form) { slices.Reverse(f.Fields) }, "", "", nil},
		{func(f *Form) { field(f, "name").Label = "Your name" }, "", "", nil},
		{required("name"), missing, "name", func(a answers) bool { return strings.TrimSpace(a["name"]) == "" }},
		{required("mail"), missing, "mail", func(a answers) bool { return a["mail"] == "" }},
		{required("rating"), missing, "rating", func(a answers) bool { return a["rating"] == "" }},
		{required("travel"), missing, "travel", func(a answers) bool { return a["travel"] == "" }},
		{func(f *Form) { f.Fields = append(f.Fields, &Field{ID: "new", Required: true}) }, missing, "new", func(answers) bool { return true }},
		{validate("mail", Email), refused, "mail", has("mail", "none")},
		{validate("name", Alpha), refused, "name", has("name", " ", "x1")},
		{validate("people", Numeric), "", "", nil},
		{validate("note", Numeric), refused, "note", set("note")},
		{validate("day", DateOnly), "", "", nil},
		{validate("day", Email), refused, "day", set("day")},
		{options("rating", "1", "2", "3", "4"), refused, "rating", has("rating", "5")},
		{options("rating", "5", "6"), refused, "rating", has("rating", "1", "2", "3", "4")},
		{options("rating", "1", "2", "3", "4", "5", "6"), "", "", nil},
		{func(f *Form) {
			field(f, "rating").Options, field(f, "rating").ValueWas = []string{"1", "2", "3", "4", "top"}, map[string]string{"5": "top"}
		}, "", "", nil},
		{options("travel", "bus", "train"), refused, "travel", has("travel", "bus;car", "car;train")},
		{func(f *Form) { field(f, "travel").Type, field(f, "travel").Validation = Radio, OneOf }, refused, "travel", has("travel", "bus;car", "car;train")},
		{func(f *Form) { field(f, "note").MaxLength = 5 }, refused, "note", has("note", "a longer note")},
		{func(f *Form) { field(f, "name").MaxLength = 3 }, "", "", nil},
		{func(f *Form) { validate("day", DateOnly)(f); field(f, "day").Min = &Bound{Value: "2026-02-01"} }, refused, "day", has("day", "2026-01-31")},
		{func(f *Form) { validate("day", DateOnly)(f); field(f, "day").Max = &Bound{Value: Today} }, "", "", nil},
		{func(f *Form) { validate("people", Numeric)(f); field(f, "people").Max = &Bound{Value: "10"} }, refused, "people", has("people", "10.5", "200")},
		{func(f *Form) { validate("people", Numeric)(f); field(f, "people").Min = &Bound{FieldID: "rating"} }, refused, "people", func(a answers) bool {
			people, err := strconv.ParseFloat(a["people"], 64)
			rating, none := strconv.ParseFloat(a["rating"], 64)
			return err == nil && none == nil && people < rating
		}},
		{func(f *Form) { field(f, "note").Condition = when("rating", "1") }, hidden, "note", func(a answers) bool { return a["note"] != "" && a["rating"] != "1" }},
		{func(f *Form) { field(f, "mail").Condition = when("rating", "1"); required("mail")(f) }, "", "", nil}, // two findings, see below
		{func(f *Form) { f.Limit = 9999 }, CodeOverLimit, "", func(answers) bool { return true }},
		{func(f *Form) { f.Limit = n }, "", "", nil},
	} {
		f := form()
		change.change(f)
		f.NameFields()
		found := reportOf(t, f, nil, stored...)
		if cond := f.Field("mail"); cond != nil && cond.Condition != nil {
			want := map[string]int{}
			for _, a := range sentAnswers {
				switch {
				case a["rating"] != "1" && a["mail"] != "":
					want[hidden]++
				case a["rating"] == "1" && a["mail"] == "":
					want[missing]++
				}
			}
			if len(found) != 2 || found[0].Count != want[found[0].Code] || found[1].Count != want[found[1].Code] {
				t.Errorf("change %d: got %+v, want %v", i, found, want)
			}
			continue
		}
		want := 0
		for _, a := range sentAnswers {
			if change.counts != nil && change.counts(a) {
				want++
			}
		}
		switch {
		case want == 0 && len(found) == 0:
		case len(found) != 1 || found[0].Code != change.code || found[0].FieldID != change.field || found[0].Count != want:
			t.Errorf("change %d: got %+v, want %s %s %d", i, found, change.code, change.field, want)
		case found[0].Of != n && change.code != CodeOverLimit:
			t.Errorf("change %d: of %d", i, found[0].Of)
		}
		if (want == 0) != (change.code == "") {
			t.Errorf("change %d counts %d", i, want)
		}
	}
	f := form()
	f.OneSubmission = true
	twice := 0
	for _, count := range users {
		if count > 1 {
			twice++
		}
	}
	if found := reportOf(t, f, nil, stored...); len(found) != 1 || found[0].Count != twice || found[0].Of != len(users) {
		t.Errorf("got %+v, want %d of %d", found, twice, len(users))
	}
}
