package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// surveyForm has a field of each kind that filters, sorting and summaries tell
// apart.
var surveyForm = &forms.Form{Fields: []*forms.Field{
	{ID: "name", Type: forms.Textfield},
	{ID: "size", Type: forms.Dropdown, Validation: forms.OneOf, Options: []string{"S", "M", "L"}},
	{ID: "extras", Type: forms.Checkbox, Validation: forms.AnyOf, Options: []string{"a", "b", "c"}},
	{ID: "count", Type: forms.Textfield, Validation: forms.Numeric},
	{ID: "day", Type: forms.Date, Validation: forms.DateOnly},
}}

var surveyTime = time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC)

// survey makes a submission from pairs of a field id and a value.
func survey(id int64, username string, idsAndValues ...string) forms.Submission {
	var entries []forms.Entry
	for i := 0; i < len(idsAndValues); i += 2 {
		entries = append(entries, forms.Entry{ID: int64(i + 1), FieldID: idsAndValues[i], Value: idsAndValues[i+1]})
	}
	return forms.Submission{
		ID: id, Username: username, Created: surveyTime.Add(time.Duration(id) * time.Second), Entries: forms.EncodeEntries(nil, entries),
		Changed: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
	}
}

func matches(t testing.TB, f Filter, s forms.Submission) bool {
	t.Helper()
	got, err := NewMatcher(surveyForm, f, time.UTC).Match(s)
	testkit.Must(t, err)
	return got
}

func TestFilters(t *testing.T) {
	s := survey(7, "ann", "name", `Say "hi"`, "extras", "a;b", "count", "12.50", "day", "2026-01-31", "gone", "still here")
	var id, operator, value string
	var want bool
	testkit.ScanRows(t, "%s %s %q %t", []any{&id, &operator, &value, &want}, func(line string) {
		rule, message := NewRule(id, operator, value)
		if got := matches(t, Filter{Rules: []forms.Rule{rule}}, s); message != nil || got != want {
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
	testkit.ScanRows(t, "%q %q %t", []any{&stored, &asked, &same}, func(string) {
		for operator, want := range map[forms.Operator]bool{forms.Equals: same, forms.NotEquals: !same} {
			filter := Filter{Rules: []forms.Rule{{FieldID: "count", Operator: operator, Value: asked}}, Numbers: true}
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
		want map[forms.Operator]bool
	}{
		{begin.Add(-time.Millisecond), map[forms.Operator]bool{forms.LessThan: true, forms.NotEquals: true}},
		{begin, map[forms.Operator]bool{forms.Equals: true, forms.InList: true, forms.Contains: true}},
		{end.Add(-time.Millisecond), map[forms.Operator]bool{forms.Equals: true, forms.InList: true, forms.Contains: true}},
		{end, map[forms.Operator]bool{forms.GreaterThan: true, forms.NotEquals: true}},
	} {
		for _, o := range []forms.Operator{forms.Equals, forms.NotEquals, forms.InList, forms.Contains, forms.GreaterThan, forms.LessThan} {
			rule, message := NewRule("_timestamp", string(o), "2026-03-02")
			got, err := NewMatcher(surveyForm, Filter{Rules: []forms.Rule{rule}}, zone).Match(forms.Submission{ID: 1, Created: tt.at})
			if message != nil || err != nil || got != tt.want[o] {
				t.Errorf("%v %s: %t, %v %s", tt.at, o, got, err, message)
			}
		}
	}
}

func TestAllRulesMustHold(t *testing.T) {
	rules := []forms.Rule{{FieldID: "name", Operator: forms.Equals, Value: "x"}, {FieldID: "count", Operator: forms.GreaterThan, Value: "1"}, {FieldID: "name", Operator: forms.NotEquals, Value: "y"}}
	for _, tt := range []struct {
		name, count string
		want        bool
	}{{"x", "2", true}, {"x", "1", false}, {"y", "2", false}, {"", "2", false}} {
		testkit.Same(t, tt, matches(t, Filter{Rules: rules}, survey(1, "", "name", tt.name, "count", tt.count)), tt.want)
	}
}

func TestRefusedRules(t *testing.T) {
	var id, operator, value, want string
	testkit.ScanRows(t, "%s %q %q %q", []any{&id, &operator, &value, &want}, func(line string) {
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
	rules := slices.Repeat([]forms.Rule{{FieldID: "name", Operator: forms.Equals, Value: "x"}}, MaxRules)
	long := forms.Rule{FieldID: "name", Operator: forms.Equals, Value: strings.Repeat("x", MaxFilterBytes-1)}
	for _, tt := range []struct {
		filter Filter
		ok     bool
	}{
		{Filter{Rules: rules}, true},
		{Filter{Rules: append(slices.Clone(rules), rules[0])}, false},
		{Filter{Rules: []forms.Rule{long}, Search: "x"}, true},
		{Filter{Rules: []forms.Rule{long}, Search: "xy"}, false},
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
		if len([]rune(a)) != len([]rune(b)) || a == "" || !forms.Storable(a) || !forms.Storable(b) {
			return
		}
		m := NewMatcher(surveyForm, Filter{Search: a}, time.UTC)
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
		m := NewMatcher(surveyForm, Filter{Rules: slices.Repeat([]forms.Rule{{FieldID: "name", Operator: forms.NotEquals, Value: "x"}}, rules)}, time.UTC)
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
	s := forms.Submission{ID: 3, Entries: forms.Entries(`{"name":broken`)}
	if _, err := NewMatcher(surveyForm, Filter{Search: "x"}, time.UTC).Match(s); err == nil {
		t.Error("no error")
	}
	if ok, err := NewMatcher(surveyForm, Filter{Rules: []forms.Rule{{FieldID: "_id", Operator: forms.Equals, Value: "3"}}}, time.UTC).Match(s); !ok || err != nil {
		t.Errorf("metadata needs no entries: %t, %v", ok, err)
	}
}

func FuzzNewRule(f *testing.F) {
	for _, value := range []string{"", "1", "2026-01-31", "2026-03-01T12:00:07.123+0000", "-5", "a;b", "1;2026-01-31"} {
		for _, o := range forms.Operators {
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
		testkit.Must(t, testkit.ErrorOf(NewMatcher(surveyForm, Filter{Rules: []forms.Rule{rule}}, time.UTC).Match(survey(1, "x", "name", "y"))))
		if IsTimeColumn(id) && rule.Operator == forms.Equals {
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

var labelForm = &forms.Form{Fields: []*forms.Field{{ID: "name"}, {
	ID: "state", Type: forms.Checkbox, Validation: forms.AnyOf, Options: []string{"open", "ok", "no"},
	Labels: map[string]string{"ok": "Granted", "no": "Refused"}, Colors: map[string]string{"ok": "green"},
}}}

func TestSearchLabels(t *testing.T) {
	sub := func(state string) forms.Submission {
		return forms.Submission{Entries: forms.EncodeEntries(nil, []forms.Entry{{ID: 1, FieldID: "name", Value: "ok"}, {ID: 2, FieldID: "state", Value: state}, {ID: 3, FieldID: "gone", Value: "no"}})}
	}
	cases := []struct {
		search, state string
		want          bool
	}{
		{"granTED", "ok", true},
		{"granted", "open;ok", true},
		{"granted", "", false},   // name has no labels
		{"refused", "ok", false}, // nor has a field that has left
		{"open", "open;ok", true},
		{"OK", "no", true},
		{"open;ok", "open;ok", true},
		{"okgranted", "ok", false},
		{"granted;", "ok", false},
	}
	for _, c := range cases {
		m := NewMatcher(labelForm, Filter{Search: c.search}, time.UTC)
		if got, err := m.Match(sub(c.state)); got != c.want || err != nil {
			t.Errorf("%q in %q: %v, %v", c.search, c.state, got, err)
		}
	}
	byLabel := Filter{Rules: []forms.Rule{{FieldID: "state", Operator: forms.Contains, Value: "Granted"}}}
	if got, _ := NewMatcher(labelForm, byLabel, time.UTC).Match(sub("ok")); got {
		t.Error("a filter takes a label")
	}
}
