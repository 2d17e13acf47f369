package forms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/testkit"
)

// surveyForm has a field of each kind that filters, sorting and summaries tell
// apart.
var surveyForm = &Form{Fields: []*Field{
	{ID: "name", Type: Textfield},
	{ID: "size", Type: Dropdown, Validation: OneOf, Options: []string{"S", "M", "L"}},
	{ID: "extras", Type: Checkbox, Validation: AnyOf, Options: []string{"a", "b", "c"}},
	{ID: "count", Type: Textfield, Validation: Numeric},
	{ID: "day", Type: Date, Validation: DateOnly},
}}

var surveyTime = time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC)

// survey makes a submission from pairs of a field id and a value.
func survey(id int64, username string, idsAndValues ...string) Submission {
	var entries []Entry
	for i := 0; i < len(idsAndValues); i += 2 {
		entries = append(entries, Entry{ID: int64(i + 1), FieldID: idsAndValues[i], Value: idsAndValues[i+1]})
	}
	return Submission{
		ID: id, Username: username, Created: surveyTime.Add(time.Duration(id) * time.Second), Entries: EncodeEntries(nil, entries),
		Changed: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
	}
}

func matches(t testing.TB, f Filter, s Submission) bool {
	t.Helper()
	got, err := surveyForm.NewMatcher(f, time.UTC).Match(s)
	testkit.Must(t, err)
	return got
}

// rows scans each line of a table into the variables, and calls check.
func rows(t *testing.T, format string, into []any, check func(line string), table string) {
	t.Helper()
	for line := range strings.Lines(table) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if _, err := fmt.Sscanf(line, format, into...); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		check(line)
	}
}

func TestFilters(t *testing.T) {
	s := survey(7, "ann", "name", `Say "hi"`, "extras", "a;b", "count", "12.50", "day", "2026-01-31", "gone", "still here")
	var id, operator, value string
	var want bool
	rows(t, "%s %s %q %t", []any{&id, &operator, &value, &want}, func(line string) {
		rule, message := NewRule(id, operator, value)
		if got := matches(t, Filter{Rules: []Rule{rule}}, s); message != nil || got != want {
			t.Errorf("%s: got %t %s", line, got, message)
		}
	}, `
name equals "Say \"hi\"" true
name contains "y \"h" true
size equals "" true
size empty "" true
name not-empty "true" true
extras contains "b" true
extras contains "a;b" false
count greater-than "12.4999" true
day greater-than "2026-01-30" true
count between "12.5;13" true
count between "12;12.50" true
count between "12.51;" false
count between ";12.49" false
count between "12;" true
count between "13;12" false
day between "2026-01-31;2026-02-01" true
day between ";2026-01-30" false
name between "1;5" false
size between ";5" false
_id between "7;7" true
_timestamp between "2026-03-01;2026-03-01" true
_timestamp between "2026-03-02;" false
_timestamp between ";2026-02-28" false
_timestamp between "2026-03-01;2026-03-01T12:00:07" false
_timestamp between "2026-03-01;2026-03-01T12:00:08" true
_timestamp between "1772366407123;1772366407123" true
_changed between "2026-03-04;2026-03-05" true
gone equals "still here" true
gone contains "ill" true
nowhere empty "" true
_id equals "7" true
_id greater-than "6" true
_username equals "ann" true
_timestamp equals "1772366407123" true
_timestamp equals "2026-03-01T12:00:07.123+0000" true
_timestamp equals "2026-03-01T13:00:07.123+01:00" true
_timestamp not-equals "2026-03-01T12:00:07.123Z" false
_timestamp one-of "5;2026-03-01T12:00:07.123Z" true
_timestamp equals "2026-03-01" true
_timestamp equals "2026-02-28" false
_timestamp not-equals "2026-03-01" false
_timestamp not-equals "2026-03-02" true
_timestamp one-of "2026-02-28;2026-03-01" true
_timestamp one-of "2026-02-28;2026-03-02" false
_timestamp one-of "2026-02-28;2026-03-01T12:00:07.123Z" true
_timestamp contains "2026-03-01" true
_timestamp contains "2026-03-02" false
_timestamp greater-than "2026-03-01" false
_timestamp greater-than "2026-02-28" true
_timestamp less-than "2026-03-01" false
_timestamp less-than "2026-03-02" true
_timestamp not-empty "" true
_changed equals "2026-03-04" true
_changed equals "2026-03-04T00:00:00Z" true
_changed greater-than "2026-03-03T23:59:59.999Z" true
_changed less-than "2026-03-04" false
_timestamp greater-than "2026-03-01T12:00:07" true
_timestamp greater-than "2026-03-01T12:00" true
_timestamp greater-than "2026-03-01T12:00:07.1229999Z" true
_timestamp greater-than "2026-03-01T12:00:07.1230001Z" false
_timestamp less-than "2026-03-01T12:00:07.123001" true
_timestamp less-than "2026-03-01T12:00:07.123" false
_timestamp less-than "1969-01-01" false
_timestamp contains "6640" true
`)
}

// Numbers are compared exactly, however long they are.
func TestFiltersThatCompareNumbers(t *testing.T) {
	var stored, asked string
	var same bool
	rows(t, "%q %q %t", []any{&stored, &asked, &same}, func(string) {
		for operator, want := range map[Operator]bool{Equals: same, NotEquals: !same} {
			filter := Filter{Rules: []Rule{{"count", operator, asked}}, Numbers: true}
			if got := matches(t, filter, survey(1, "", "count", stored)); got != want {
				t.Errorf("%q %s %q: got %t", stored, operator, asked, got)
			}
		}
	}, `
"9.80" "9.8" true
"9.8" "9.80" true
"007" "7" true
"700" "7" false
"7.0" "7" true
"-0.50" "-00.5" true
"0.5" "-0.5" false
"-0" "0.00" true
"0" "" false
"" "0" false
"" "" true
"9007199254740993" "9007199254740992" false
"n/a" "n/a" true
`)
}

// A day is that of the zone, to the millisecond.
func TestDaysOfAZone(t *testing.T) {
	zone := time.FixedZone("UTC+13", 13*60*60)
	begin := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC) // of 2 March
	end := begin.AddDate(0, 0, 1)
	for _, tt := range []struct {
		at   time.Time
		want map[Operator]bool
	}{
		{begin.Add(-time.Millisecond), map[Operator]bool{LessThan: true, NotEquals: true}},
		{begin, map[Operator]bool{Equals: true, InList: true, Contains: true}},
		{end.Add(-time.Millisecond), map[Operator]bool{Equals: true, InList: true, Contains: true}},
		{end, map[Operator]bool{GreaterThan: true, NotEquals: true}},
	} {
		for _, o := range []Operator{Equals, NotEquals, InList, Contains, GreaterThan, LessThan} {
			rule, message := NewRule("_timestamp", string(o), "2026-03-02")
			got, err := surveyForm.NewMatcher(Filter{Rules: []Rule{rule}}, zone).Match(Submission{ID: 1, Created: tt.at})
			if message != nil || err != nil || got != tt.want[o] {
				t.Errorf("%v %s: %t, %v %s", tt.at, o, got, err, message)
			}
		}
	}
}

func TestAllRulesMustHold(t *testing.T) {
	rules := []Rule{{"name", Equals, "x"}, {"count", GreaterThan, "1"}, {"name", NotEquals, "y"}}
	for _, tt := range []struct {
		name, count string
		want        bool
	}{{"x", "2", true}, {"x", "1", false}, {"y", "2", false}, {"", "2", false}} {
		testkit.Same(t, tt, matches(t, Filter{Rules: rules}, survey(1, "", "name", tt.name, "count", tt.count)), tt.want)
	}
}

func TestRefusedRules(t *testing.T) {
	var id, operator, value, want string
	rows(t, "%s %q %q %q", []any{&id, &operator, &value, &want}, func(line string) {
		if _, message := NewRule(id, operator, value); !strings.Contains(message.String(), want) {
			t.Errorf("%s: %q", line, message)
		}
	}, `
name "Equals" "x" "unknown operator"
name "" "x" "unknown operator"
name "equals" "\xff" "valid text"
name "contains" "a\x00" "valid text"
name "empty" "false" "takes true"
name "not-empty" "1" "takes true"
name "greater-than" "ten" "must be a number"
name "less-than" "" "must be a number"
name "between" "" "must be two values"
name "between" ";" "must be two values"
name "between" "5" "must be two values"
name "between" "1;2;3" "must be two values"
name "between" "1;ten" "must be two numbers"
name "between" "1;2026-01-31" "must be two numbers"
name "between" "ten;" "must be two numbers"
_timestamp "between" "1;yesterday" "must be a time"
_timestamp "equals" "yesterday" "must be a time"
_timestamp "equals" "" "must be a time"
_timestamp "equals" "2026-03-01T12:00:07 0000" "%2B"
_timestamp "one-of" "5;x" "must be a time"
_timestamp "greater-than" "2026-02-30" "must be a time"
`)
}

func TestFilterLimits(t *testing.T) {
	rules := slices.Repeat([]Rule{{FieldID: "name", Operator: Equals, Value: "x"}}, MaxRules)
	long := Rule{FieldID: "name", Operator: Equals, Value: strings.Repeat("x", MaxFilterBytes-1)}
	for _, tt := range []struct {
		filter Filter
		ok     bool
	}{
		{Filter{Rules: rules}, true},
		{Filter{Rules: append(slices.Clone(rules), rules[0])}, false},
		{Filter{Rules: []Rule{long}, Search: "x"}, true},
		{Filter{Rules: []Rule{long}, Search: "xy"}, false},
		{Filter{Search: "\xff"}, false},
	} {
		if got := tt.filter.Check(); (got == nil) != tt.ok {
			t.Errorf("%d rules: %q", len(tt.filter.Rules), got)
		}
	}
}

func TestSearch(t *testing.T) {
	s := survey(7, "ann", "name", "Straße \"ΣΊΣΥΦΟΣ\" K\tnaïve Deseret 𐐀", "extras", "a;B", "gone", "Left")
	for text, want := range map[string]bool{
		"": true, "STRAßE": true, "strasse": false, "σίσυφοσ": true, "ς": true, "\" k": true, "k\tNAÏVE": true, "nai\u0308ve": false, "𐐨": true,
		"A;b": true, "left": true, "eft\"": false,
		"ann": false, "gone": false, "7": false, "fieldId": false, "id": false, "\\": false,
	} {
		testkit.Same(t, text, matches(t, Filter{Search: text}, s), want)
	}
}

// Two texts are found in each other if strings.EqualFold says that they are
// alike, and only then.
func TestSearchFoldsLikeEqualFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[kKKsSſaAäÄσςΣ]{1,3}`))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if len([]rune(a)) != len([]rune(b)) || a == "" || !storable(a) || !storable(b) {
			return
		}
		m := surveyForm.NewMatcher(Filter{Search: a}, time.UTC)
		got, err := m.Match(survey(1, "", "name", b))
		if err != nil || got != strings.EqualFold(a, b) {
			t.Errorf("%q in %q: %t, %v", a, b, got, err)
		}
	})
}

// A value with escapes is decoded once, however many rules are about it: it may
// be as long as a body.
func TestFilteringDecodesAValueOnce(t *testing.T) {
	s := survey(7, "ann", "name", strings.Repeat("\n", 100))
	allocations := func(rules int) float64 {
		m := surveyForm.NewMatcher(Filter{Rules: slices.Repeat([]Rule{{"name", NotEquals, "x"}}, rules)}, time.UTC)
		return testing.AllocsPerRun(100, func() {
			if ok, err := m.Match(s); !ok || err != nil {
				t.Fatal(ok, err)
			}
		})
	}
	if one, most := allocations(1), allocations(MaxRules); one != most {
		t.Errorf("%v allocations for one rule, %v for %d", one, most, MaxRules)
	}
}

func TestFilterReportsWhatCantBeRead(t *testing.T) {
	s := Submission{ID: 3, Entries: Entries(`{"name":broken`)}
	if _, err := surveyForm.NewMatcher(Filter{Search: "x"}, time.UTC).Match(s); err == nil {
		t.Error("no error")
	}
	if _, err := surveyForm.Missing("x").Find(s); err == nil {
		t.Error("no error")
	}
	if ok, err := surveyForm.NewMatcher(Filter{Rules: []Rule{{"_id", Equals, "3"}}}, time.UTC).Match(s); !ok || err != nil {
		t.Errorf("metadata needs no entries: %t, %v", ok, err)
	}
}

func TestMissingIDsAreFoundInWhatIsStored(t *testing.T) {
	m := surveyForm.Missing("name", "_id", "gone", "nowhere", "say \"x\"", "gone")
	all, err := m.Find(survey(1, "", "name", "x", "gone", "x"))
	if all || err != nil || !slices.Equal(m.IDs(), []string{"nowhere", "say \"x\""}) {
		t.Errorf("%t, %v: %q", all, err, m.IDs())
	}
	if all, err = m.Find(survey(2, "", "say \"x\"", "x")); all || err != nil {
		t.Errorf("%t, %v", all, err)
	}
	if all, err = m.Find(survey(3, "", "nowhere", "")); !all || err != nil || m.IDs() != nil {
		t.Errorf("%t, %v: %q", all, err, m.IDs())
	}
}

func FuzzNewRule(f *testing.F) {
	for _, value := range []string{"", "1", "2026-01-31", "2026-03-01T12:00:07.123+0000", "-5", "a;b", "1;2026-01-31"} {
		for _, o := range Operators {
			f.Add("_timestamp", string(o), value)
			f.Add("_changed", string(o), value)
			f.Add("name", string(o), value)
		}
	}
	f.Fuzz(func(t *testing.T, id, operator, value string) {
		rule, message := NewRule(id, operator, value)
		if message != nil {
			return
		}
		testkit.Must(t, testkit.ErrorOf(surveyForm.NewMatcher(Filter{Rules: []Rule{rule}}, time.UTC).Match(survey(1, "x", "name", "y"))))
		if IsTimeColumn(id) && rule.Operator == Equals {
			if _, again := NewRule(id, operator, rule.Value); again != nil && !strings.Contains(rule.Value, ".") {
				t.Fatalf("%q became %q, which is refused: %s", value, rule.Value, again)
			}
		}
	})
}

func TestFindFold(t *testing.T) {
	for _, c := range []struct{ text, search, want string }{
		{"Straße Äpfel", "äPF", "Äpf"},
		{"a", "b", ""},
		{"aKb", "k", "K"}, // the Kelvin sign, which is longer than k
		{"KK", "kk", "KK"},
		{"\xffab", "AB", "ab"},
		{"end", "ND", "nd"},
	} {
		got := ""
		if start, end := FindFold(c.text, Fold(c.search)); start >= 0 {
			got = c.text[start:end]
		}
		if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.search, c.text, got, c.want)
		}
	}
}
