package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func summarize(t testing.TB, subs ...forms.Submission) Summary {
	t.Helper()
	return summarizeBy(t, surveyForm, -1, subs...)
}

func summarizeBy(t testing.TB, form *forms.Form, rank int, subs ...forms.Submission) Summary {
	t.Helper()
	s := newSummarizer(form, time.UTC, rank)
	for _, sub := range subs {
		testkit.Must(t, s.Add(sub))
	}
	return s.Summary()
}

// A day is that of the zone, as in filters.
func TestSummaryOfDaysInAZone(t *testing.T) {
	s := newSummarizer(surveyForm, time.FixedZone("UTC+13", 13*60*60), -1)
	begin := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC) // of 2 March
	for i, at := range []time.Time{begin.Add(-time.Millisecond), begin, begin.Add(24*time.Hour - time.Millisecond), time.UnixMilli(-1)} {
		testkit.Must(t, s.Add(forms.Submission{ID: int64(i + 1), Created: at, Entries: forms.Entries("{}")}))
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	want := []DayCount{{time.UnixMilli(0).UTC(), 1}, {day, 1}, {day.AddDate(0, 0, 1), 2}}
	testkit.Diff(t, "", s.Summary().Days, want)
}

func TestSummary(t *testing.T) {
	got := summarize(t,
		survey(1, "ann", "name", "x", "size", "M", "extras", "a;c;a", "count", "1", "day", "2026-01-31"),
		survey(2, "bob", "name", " ", "size", "XL", "extras", "c;;old", "count", "3"),
		survey(86_400, "bob", "size", "M", "extras", ";", "count", "many", "gone", "x"),
	)
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	want := Summary{
		Count: 3, First: surveyTime.Add(time.Second), Last: surveyTime.Add(24 * time.Hour),
		Days: []DayCount{{day, 2}, {day.AddDate(0, 0, 1), 1}},
		Fields: []FieldSummary{
			{ID: "name", Answered: 1, Latest: []string{"x"}},
			{ID: "size", Answered: 3, Options: []OptionCount{{"S", 0}, {"M", 2}, {"L", 0}, {"XL", 1}}},
			{ID: "extras", Answered: 2, Options: []OptionCount{{"a", 1}, {"b", 0}, {"c", 2}, {"old", 1}}},
			{ID: "count", Answered: 3, Numbers: &Numbers{Count: 2, Min: 1, Max: 3, Mean: 2, Sum: 4, Median: 2, Exact: true, Bins: []Bin{{1, 2, 1}, {2, 3, 0}, {3, 4, 1}}}},
			{ID: "day", Answered: 1, Months: []DayCount{{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 1}}},
		},
	}
	testkit.Diff(t, "", got, want)
}

func TestSummaryOfNothing(t *testing.T) {
	got := summarize(t)
	if got.Count != 0 || !got.First.IsZero() || !got.Last.IsZero() || got.Days != nil || len(got.Fields) != 5 {
		t.Errorf("%+v", got)
	}
	if n := got.Fields[3].Numbers; n == nil || n.Count != 0 || n.Bins != nil {
		t.Errorf("%+v", n)
	}
}

// Whatever is stored for a field with options, a summary stays short.
func TestOtherValuesAreBounded(t *testing.T) {
	var subs []forms.Submission
	for i := range int64(maxOtherValues + 5) {
		subs = append(subs, survey(i+1, "", "size", fmt.Sprintf("%04d%s", i, strings.Repeat("x", 1000)), "extras", fmt.Sprintf("%d;%d", i, i+1000)))
	}
	got := summarize(t, subs...)
	for _, rank := range []int{1, 2} {
		options := got.Fields[rank].Options
		if len(options) != 3+maxOtherValues+1 || options[len(options)-1].Value != remainder {
			t.Fatalf("%d values, the last is %v", len(options), options[len(options)-1])
		}
		for _, o := range options {
			if len(o.Value) > 200+len("…") {
				t.Errorf("a value of %d bytes", len(o.Value))
			}
		}
	}
	testkit.Same(t, "the rest", got.Fields[1].Options[3+maxOtherValues].Count, 5)
}

// Sums are exact up to 15 digits before the point and 6 after it, in whichever order.
func TestSums(t *testing.T) {
	var list string
	var want float64
	testkit.ScanRows(t, "%q %g", []any{&list, &want}, func(line string) {
		testkit.Same(t, line, numbersOf(strings.Fields(list)).Sum, want)
	}, `
"0.1 0.2" 0.3
"0.1 0.7 -0.8" 0
"-0.5 0.25" -0.25
"1.000001 2.000002" 3.000003
"999999999999999 0.1" 999999999999999.1
"99999999.999999 0.000001" 100000000
"many 5" 5
"1000000000000000 1" 1000000000000001
"0.0000001 1" 1.0000001
"12.500000000" 12.5
"007" 7
`)
	many := slices.Repeat([]string{"999999999999999"}, 10_000)
	if got := numbersOf(many).Sum; math.Abs(got/9.99999999999999e18-1) > 1e-9 {
		t.Errorf("many large numbers make %g", got)
	}
	testkit.Same(t, "numbers beyond a float64 make", numbersOf(slices.Repeat([]string{strings.Repeat("9", 400)}, 3)).Sum, 3*largestNumber)
}

// Choices among numbers have a sum, and a mean.
func TestSumsOfChoices(t *testing.T) {
	form := &forms.Form{Fields: []*forms.Field{{ID: "stars", Options: []string{"1", "2", "2.5"}}, {ID: "size", Options: []string{"1", "M"}}}}
	got := summarizeBy(t, form, -1,
		survey(1, "", "stars", "2.5", "size", "1"), survey(2, "", "stars", "2.5"), survey(3, "", "stars", "4"), survey(4, "", "stars", "none"))
	testkit.Diff(t, "", got.Fields[0].Numbers, &Numbers{Count: 3, Sum: 9, Mean: 3})
	if got.Fields[1].Numbers != nil {
		t.Errorf("options of which one is no number: %+v", got.Fields[1].Numbers)
	}
}

// Groups come in the order of the options, then other values, then no answer. A submission
// is in the group of each value that it has.
func TestGroups(t *testing.T) {
	subs := []forms.Submission{
		survey(1, "", "size", "XL", "extras", "a;c;a", "count", "0.1"),
		survey(2, "", "size", "M", "extras", "c;old", "count", "5", "name", "x", "day", "2026-01-31"),
		survey(3, "", "count", "1"),
		survey(4, "", "size", "XL", "count", "0.2"),
		survey(5, "", "size", "M", "count", "many"),
	}
	for rank, want := range map[int]string{1: "M:2 XL:2 :1", 2: "a:1 c:2 old:1 :3"} {
		var got []string
		for _, g := range summarizeBy(t, surveyForm, rank, subs...).Groups {
			got = append(got, fmt.Sprintf("%s:%d", g.Value, g.Count))
		}
		testkit.Same(t, surveyForm.Fields[rank].ID, strings.Join(got, " "), want)
	}
	groups := summarizeBy(t, surveyForm, 1, subs...).Groups
	want := []FieldSummary{
		{ID: "name", Answered: 1},
		{ID: "size", Answered: 2, Options: []OptionCount{{"S", 0}, {"M", 2}, {"L", 0}}},
		{ID: "extras", Answered: 1, Options: []OptionCount{{"a", 0}, {"b", 0}, {"c", 1}, {"old", 1}}},
		{ID: "count", Answered: 2, Numbers: &Numbers{Count: 1, Sum: 5, Mean: 5}},
		{ID: "day", Answered: 1},
	}
	var got []FieldSummary
	for rank := range want {
		got = append(got, groups[0].Field(rank))
	}
	testkit.Diff(t, "", got, want)
	if n := groups[1].Field(3).Numbers; n.Sum != 0.3 || n.Mean != 0.15 {
		t.Errorf("a sum of 0.1 and 0.2: %+v", n)
	}
	if groups := summarizeBy(t, surveyForm, 1).Groups; groups == nil || len(groups) != 0 {
		t.Errorf("of no submission: %v", groups)
	}
}

// Whatever is stored, and however many options there are, the groups are few. Those of the
// first options come first.
func TestGroupsAreBounded(t *testing.T) {
	for _, options := range []int{1, maxGroups - 1, maxGroups + 10} {
		field := &forms.Field{ID: "size"}
		for i := range options {
			field.Options = append(field.Options, fmt.Sprintf("option %02d", i))
		}
		var subs []forms.Submission
		for i := range int64(2 * maxGroups) {
			subs = append(subs, survey(i+1, "", "size", fmt.Sprintf("other %02d%s", i, strings.Repeat("x", 1000))))
		}
		for i, o := range append(slices.Clone(field.Options), "") {
			subs = append(subs, survey(int64(1000+i), "", "size", o))
		}
		groups := summarizeBy(t, &forms.Form{Fields: []*forms.Field{field}}, 0, subs...).Groups
		last := len(groups) - 1
		if len(groups) != maxGroups || groups[0].Value != "option 00" || groups[last].Value != "" || groups[last].Count != 1 {
			t.Errorf("%d options: %d groups, from %q to %q", options, len(groups), groups[0].Value, groups[last].Value)
		}
		for _, g := range groups {
			if len(g.Value) > 200+len("…") || g.Count != 1 {
				t.Errorf("%d options: a group of %d bytes counts %d", options, len(g.Value), g.Count)
			}
		}
	}
}

// TestGroupsOfLaterOptions: options are left out only if there are too many that were chosen, and
// what a group counts is complete.
func TestGroupsOfLaterOptions(t *testing.T) {
	field := &forms.Field{ID: "size"}
	for i := range 2 * maxGroups {
		field.Options = append(field.Options, fmt.Sprintf("option %02d", i))
	}
	f := &forms.Form{Fields: []*forms.Field{field}}
	var subs []forms.Submission
	for i := range int64(3) {
		subs = append(subs, survey(i+1, "", "size", "option 98"), survey(i+10, "", "size", "other"))
	}
	if s := summarizeBy(t, f, 0, subs...); len(s.Groups) != 2 || s.Groups[0].Count != 3 || s.Groups[1].Value != "other" || s.GroupsCut {
		t.Errorf("got %+v", s)
	}
	for i, o := range slices.Backward(field.Options) { // later ones make room for those before them
		subs = append(subs, survey(int64(1000+2*i), "", "size", o), survey(int64(1001+2*i), "", "size", o))
	}
	s := summarizeBy(t, f, 0, subs...)
	if len(s.Groups) != maxGroups-1 || !s.GroupsCut {
		t.Fatalf("%d groups, %t", len(s.Groups), s.GroupsCut)
	}
	for i, g := range s.Groups {
		if g.Value != field.Options[i] || g.Count != 2 {
			t.Errorf("group %d is %s with %d", i, g.Value, g.Count)
		}
	}
}

// bins are what they say they are, whatever the numbers and their order.
func TestBins(t *testing.T) {
	number := rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,3}`), rapid.StringMatching(`-?[0-9]{1,2}\.[0-9]{1,3}`), rapid.StringMatching(`-?0\.0{0,8}[0-9]{1,3}`),
		rapid.StringMatching(`-?[1-9][0-9]{14,30}`), rapid.StringMatching(`[1-5]`),
	)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.IntRange(0, 1).Draw(t, "few or many")
		values := rapid.SliceOfN(number, 1, []int{10, 300}[kind]).Draw(t, "values")
		n := numbersOf(values)
		if len(n.Bins) > maxBins || n.Bins[0].Count == 0 || n.Bins[len(n.Bins)-1].Count == 0 {
			t.Fatalf("%d bins: %v", len(n.Bins), n.Bins)
		}
		for i, b := range n.Bins {
			if i > 0 && b.From != n.Bins[i-1].To {
				t.Fatalf("there is a gap before %v", b)
			}
			var want int64
			for _, v := range values {
				if x, _ := strconv.ParseFloat(v, 64); b.From <= x && x < b.To {
					want++
				}
			}
			if b.Count != want {
				t.Fatalf("%v holds %d of %v", b, want, values)
			}
		}
		slices.Reverse(values)
		if diff := cmp.Diff(n.Bins, numbersOf(values).Bins); diff != "" {
			t.Fatalf("the order matters:\n%s", diff)
		}
	})
}

func numbersOf(values []string) *Numbers {
	c, sum := &numberCounter{most: maxCells}, FieldSummary{}
	for _, v := range values {
		c.add(v)
	}
	c.addTo(&sum)
	return sum.Numbers
}

func TestBinsOfManyValuesAreThoseOfFew(t *testing.T) {
	var all []string
	for i := range 5000 {
		all = append(all, fmt.Sprintf("%d.%02d", i*7919%5000/100, i*7919%5000%100))
	}
	many, few := numbersOf(all), numbersOf([]string{"0.00", "49.99"})
	if len(many.Bins) != 10 || len(few.Bins) != 10 || many.Bins[0].Count != 500 || many.Bins[0].To != 5 {
		t.Errorf("%v and %v", many.Bins, few.Bins)
	}
	if many.Min != 0 || many.Max != 49.99 || math.Abs(many.Mean-24.995) > 1e-12 {
		t.Errorf("%v", many)
	}
}

func TestNumbersBeyondAnyRange(t *testing.T) {
	digits := strings.Repeat("9", 100_000)
	n := numbersOf([]string{digits, "-" + digits, "0." + digits, digits, "-0"})
	for _, x := range []float64{n.Min, n.Max, n.Mean} {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			t.Errorf("%v", n)
		}
	}
	if n.Min != -1e300 || n.Max != 1e300 || len(n.Bins) > maxBins {
		t.Errorf("%v", n)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values string
		want   float64
	}{
		{"5", 5}, {"1 2", 1.5}, {"3 1 2", 2}, {"1 1 1 100", 1}, {"-2.5 -1 7", -1}, {"9.80 9.8 10", 9.8}, {"1000000 2000000 3000000", 2000000},
	} {
		if n := numbersOf(strings.Fields(c.values)); n.Median != c.want || !n.Exact {
			t.Errorf("the median of %s is %g, exactly %t", c.values, n.Median, n.Exact)
		}
	}
	var all []string
	for i := range 5001 {
		all = append(all, fmt.Sprintf("%d.%02d", i/100, i%100))
	}
	if n := numbersOf(all); n.Exact || math.Abs(n.Median-25) > 0.1 {
		t.Errorf("the median of many values is %g, exactly %t", n.Median, n.Exact)
	}
}

// A few values that are far from the others do not flatten what is shown of these.
func TestOutliers(t *testing.T) {
	var values []string
	for i := range 100 {
		values = append(values, strconv.Itoa(20+i%20))
	}
	if n := numbersOf(values); n.Inner != nil || n.Below != 0 || n.Above != 0 {
		t.Errorf("there are outliers of none: %+v", n)
	}
	n := numbersOf(append(values, "1000000", "-5000", "3000000"))
	if len(n.Inner) != 20 || n.Inner[0] != (Bin{20, 21, 5}) || n.Below != 1 || n.Above != 2 || len(n.Bins) > maxBins || n.Median != 30 {
		t.Errorf("%+v", n)
	}
	for i := range 10 { // more of them are no exceptions
		values = append(values, strconv.Itoa(1000*i+1000))
	}
	if n := numbersOf(values); n.Inner != nil {
		t.Errorf("%+v", n)
	}
	same := slices.Repeat([]string{"7"}, 50)
	if n := numbersOf(append(same, "100000")); len(n.Inner) != 1 || n.Above != 1 {
		t.Errorf("%+v", n)
	}
	few := strings.Fields("9 10 10 11 11 12 12 13 13 14")
	for _, c := range []struct {
		far          []string
		bins         int // in Inner
		below, above int64
	}{
		{[]string{"99999999999"}, 6, 0, 1},
		{[]string{"-4000", "99999999999"}, 6, 1, 1},
		{[]string{"99999", "99999", "99999"}, 0, 0, 0}, // too many to be exceptions
		{[]string{"25"}, 0, 0, 0},                      // flattens nothing
	} {
		if n := numbersOf(append(slices.Clone(few), c.far...)); len(n.Inner) != c.bins || n.Below != c.below || n.Above != c.above {
			t.Errorf("with %v: %+v", c.far, n)
		}
	}
}

// A number that is far longer than the others says nothing about these.
func TestLongNumbers(t *testing.T) {
	values := []string{"99999999999", "12345678901234567890"}
	for i := range 49 {
		values = append(values, strconv.Itoa(9+i%9))
	}
	n := numbersOf(values)
	if n.Median != 13 || !n.Exact || len(n.Inner) != 9 || n.Inner[0] != (Bin{9, 10, 6}) || n.Above != 2 || n.Max != 12345678901234567890 {
		t.Errorf("%+v", n)
	}
	for i := range 5000 { // also beside so many that they share cells
		values = append(values, fmt.Sprintf("%d.%02d", i/100, i%100))
	}
	if n := numbersOf(values); n.Exact || math.Abs(n.Median-25) > 1 || len(n.Inner) != 10 || n.Above != 2 {
		t.Errorf("%+v", n)
	}
}

// Cells stay few, and they are not made coarser ever so often, whatever the numbers.
func TestCellsAreBounded(t *testing.T) {
	c, steps, last := &numberCounter{most: maxCells}, 0, 0
	for i := range 30_000 {
		c.add(strconv.Itoa(i) + strings.Repeat("7", i/100))
		if len(c.counts) > maxCells {
			t.Fatalf("%d cells", len(c.counts))
		}
		if c.exp != last {
			steps, last = steps+1, c.exp
		}
	}
	sum := FieldSummary{}
	c.addTo(&sum)
	if n := sum.Numbers; steps > 80 || n.Count != 30_000 || len(n.Bins) > maxBins {
		t.Errorf("%d steps, %+v", steps, n)
	}
}

func TestLatestTexts(t *testing.T) {
	l := latestTexts{}
	for i := range 7 {
		l.add(fmt.Sprint("text ", i, strings.Repeat("é", i/6*maxLatestText)))
	}
	if len(l) != maxLatest || l[3] != "text 5" || l[0] != "text 2" || len(l[4]) > maxLatestText+len("…") || !strings.HasSuffix(l[4], "é…") {
		t.Errorf("%q", l)
	}
}

func TestMonthsAreBounded(t *testing.T) {
	c := monthCounter{most: maxMonths, counts: map[string]int64{}}
	for year := range 200 {
		for month := range 12 {
			c.add(fmt.Sprintf("%04d-%02d-07", year+1900, month+1))
		}
	}
	c.add("1900-01-31")
	c.add("soon")
	sum := FieldSummary{}
	c.addTo(&sum)
	if list := sum.Months; len(list) != maxMonths || list[0].Count != 2 || sum.Beyond != 1200 {
		t.Errorf("%d months, %d beyond", len(list), sum.Beyond)
	}
}
