package query

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
)

// failer is a test or a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// sorted returns the ids of a page of submissions.
func sorted(t failer, sort Sort, after *Position, limit int, subs []forms.Submission) (ids []int64, last *Position) {
	t.Helper()
	s := (&question{Source: Source{Form: surveyForm}, List: List{Sort: &sort}}).newSorter(after, limit, false)
	for _, sub := range subs {
		if err := s.Add(sub); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range s.Positions() {
		ids, last = append(ids, p.ID), &p
	}
	return ids, last
}

func TestSort(t *testing.T) {
	subs := []forms.Submission{
		survey(1, "bob", "name", "b", "count", "10", "day", "2026-01-02", "gone", "z"),
		survey(2, "ann", "name", "", "count", "-3", "day", "2025-12-31"),
		survey(3, "bob", "name", "B", "count", "9.5"),
		survey(4, "", "count", "-3.0", "day", "soon"),
		survey(5, "ann", "name", "ä", "count", "many", "day", "2026-01-02", "gone", "a"),
		survey(6, "ann", "name", " ", "count", "-3.1"),
	}
	for id, want := range map[string][2]string{ // ascending, descending
		"name":       {"3 1 5 2 4 6", "5 1 3 2 4 6"},
		"count":      {"6 2 4 3 1 5", "5 1 3 2 4 6"},
		"day":        {"2 1 5 4 3 6", "4 1 5 2 3 6"},
		"gone":       {"5 1 2 3 4 6", "1 5 2 3 4 6"},
		"_id":        {"1 2 3 4 5 6", "6 5 4 3 2 1"},
		"_timestamp": {"1 2 3 4 5 6", "6 5 4 3 2 1"},
		"_username":  {"2 5 6 1 3 4", "1 3 2 5 6 4"},
	} {
		for i, want := range want {
			if got, _ := sorted(t, Sort{id, i == 1}, nil, 10, subs); fmt.Sprint(got) != "["+want+"]" {
				t.Errorf("%s, descending %t: %v, want %s", id, i == 1, got, want)
			}
		}
	}
}

// Pages of any length, one after the other, are the list sorted as a whole, whatever
// order the submissions are stored in.
func TestPagesJoinedAreTheSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := Sort{
			ID:         rapid.SampledFrom([]string{"name", "count", "day", "extras", "gone", "_id", "_username"}).Draw(t, "sort"),
			Descending: rapid.Bool().Draw(t, "descending"),
		}
		var subs []forms.Submission
		for i := range int64(rapid.IntRange(0, 30).Draw(t, "rows")) {
			value := rapid.SampledFrom([]string{"", " ", "a", "B", "ä", "\U00010000", "\uffff", "1", "1.0", "01", "10", "9", "-1", "-10", "-1.5", "-0", "0", "2026-01-31", "2025-01-31"}).Draw(t, "value")
			subs = append(subs, survey(i+1, value, order.ID, value))
		}
		want, _ := sorted(t, order, nil, len(subs)+1, subs)
		subs = rapid.Permutation(subs).Draw(t, "order")
		var got []int64
		for after := (*Position)(nil); ; {
			page, last := sorted(t, order, after, rapid.IntRange(1, 7).Draw(t, "limit"), subs)
			if len(page) == 0 {
				break
			}
			got, after = append(got, page...), last
		}
		if !slices.Equal(got, want) || len(got) != len(subs) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// Keys of numbers compare as the numbers do, as a float64 tells them apart.
func TestNumberKeys(t *testing.T) {
	number := rapid.OneOf(
		rapid.StringMatching(`-?0{0,2}[0-9]{1,4}(\.[0-9]{1,4})?`), rapid.StringMatching(`-?0\.0{0,330}[0-9]{1,20}`), rapid.StringMatching(`-?[0-9]{300,320}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		if got := bytes.Compare(appendSortKey(nil, forms.Numeric, a), appendSortKey(nil, forms.Numeric, b)); got != cmp.Compare(x, y) {
			t.Errorf("%s and %s: %d", a, b, got)
		}
	})
}

// However long the values are, a sorter keeps little of them.
func TestSortKeysAreBounded(t *testing.T) {
	digits := strings.Repeat("1", 1<<20)
	for kind, value := range map[forms.Validation]string{forms.NoValidation: digits, forms.Numeric: "-" + digits + "." + digits, forms.DateOnly: digits} {
		if n := len(appendSortKey(nil, kind, value)); n > MaxSortKey {
			t.Errorf("%d bytes", n)
		}
	}
}
