package forms

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
)

func summarize(t testing.TB, subs ...Submission) Summary {
	t.Helper()
	s := surveyForm.NewSummarizer()
	for _, sub := range subs {
		if err := s.Add(sub); err != nil {
			t.Fatal(err)
		}
	}
	return s.Summary()
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
			{ID: "name", Answered: 1},
			{ID: "size", Answered: 3, Options: []OptionCount{{"S", 0}, {"M", 2}, {"L", 0}, {"XL", 1}}},
			{ID: "extras", Answered: 2, Options: []OptionCount{{"a", 1}, {"b", 0}, {"c", 2}, {"old", 1}}},
			{ID: "count", Answered: 3, Numbers: &Numbers{Count: 2, Min: 1, Max: 3, Mean: 2, Bins: []Bin{{1, 2, 1}, {2, 3, 0}, {3, 4, 1}}}},
			{ID: "day", Answered: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
	var subs []Submission
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
			if len(o.Value) > maxNamed+len("…") {
				t.Errorf("a value of %d bytes", len(o.Value))
			}
		}
	}
	if rest := got.Fields[1].Options[3+maxOtherValues].Count; rest != 5 {
		t.Errorf("the rest is %d", rest)
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
	c := &numberCounter{}
	for _, v := range values {
		c.add(v)
	}
	return c.result()
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
