package rest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/store/enginetest"
)

func TestSummary(t *testing.T) { enginetest.Each(t, testSummary) }

func testSummary(t *testing.T, on enginetest.Engine) {
	e := newEnvOn(t, on, house())
	all := e.survey(t, 60)
	for _, query := range []string{"", "?filter[size]=M", "?q=zo%C3%AB&username=bob", "?filter[gone]=x", "?filter[_id][greater-than]=1000"} {
		values := queryOf(t, query)
		rows := slices.DeleteFunc(slices.Clone(all), func(row map[string]string) bool {
			return values.Has("filter[size]") && row["size"] != "M" || values.Has("q") && (!searched(row, "zoë") || row["_username"] != "bob") ||
				values.Has("filter[gone]") && row["gone"] != "x" || strings.Contains(query, "1000")
		})
		got := decoded(t, e.get(t, "alice", allPath+"/summary"+query)).(map[string]any)
		fields := got["fields"].(map[string]any)
		count := fields["count"].(map[string]any)
		checkBins(t, query, count["bins"].([]any), rows)
		delete(count, "bins")
		if diff := cmp.Diff(summaryOf(t, e, rows), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	empty := e.get(t, "alice", oncePath+"/summary")
	if want := `{"count":0,"first":null,"last":null,"days":[],"fields":{"text":{"answered":0}}}`; empty != want {
		t.Errorf("%s, want %s", empty, want)
	}
}

func checkBins(t *testing.T, query string, bins []any, rows []map[string]string) {
	t.Helper()
	if len(bins) > 20 || len(bins) == 0 && len(rows) > 0 {
		t.Errorf("%s: %d bins", query, len(bins))
	}
	for _, b := range bins {
		bin := b.(map[string]any)
		want := 0.0
		for _, row := range rows {
			if x, err := strconv.ParseFloat(row["count"], 64); err == nil && bin["from"].(float64) <= x && x < bin["to"].(float64) {
				want++
			}
		}
		if bin["count"] != want {
			t.Errorf("%s: bin %v, want %v", query, bin, want)
		}
	}
}

// summaryOf is the summary of results, but for bins, written down once more.
func summaryOf(t *testing.T, e *env, rows []map[string]string) map[string]any {
	t.Helper()
	options := map[string][]string{"size": {"S", "M", "L"}, "colour": {"red", "green"}, "extras": {"a", "b", "c"}, "state": {"open", "done"}}
	fields := map[string]any{}
	for _, id := range fieldsOf(allPath) {
		field := map[string]any{"answered": 0.0}
		counts := map[string]float64{}
		sum, numbers := 0.0, []float64{}
		for _, row := range rows {
			if strings.TrimSpace(row[id]) == "" {
				continue
			}
			field["answered"] = field["answered"].(float64) + 1
			for part := range strings.SplitSeq(row[id], ";") {
				counts[part]++
			}
			if x, err := strconv.ParseFloat(row[id], 64); err == nil {
				sum, numbers = sum+x, append(numbers, x)
			}
		}
		if list := options[id]; list != nil {
			chosen := []any{}
			for _, o := range list {
				chosen = append(chosen, map[string]any{"value": o, "count": counts[o]})
			}
			field["options"] = chosen
		}
		if id == "count" {
			field["min"], field["max"], field["mean"] = nil, nil, nil
			if len(numbers) > 0 {
				field["min"], field["max"], field["mean"] = slices.Min(numbers), slices.Max(numbers), sum/float64(len(numbers))
			}
		}
		fields[id] = field
	}
	first, last, days := timesOf(t, e, rows)
	return map[string]any{"count": float64(len(rows)), "first": first, "last": last, "days": days, "fields": fields}
}

// timesOf takes the times from the nested model.
func timesOf(t *testing.T, e *env, rows []map[string]string) (first, last any, days []any) {
	t.Helper()
	wanted := idsOf(rows)
	byDay := map[string]float64{}
	var times []string
	for _, s := range decoded(t, e.get(t, "alice", allPath+"/submission")).([]any) {
		sub := s.(map[string]any)
		if !slices.Contains(wanted, fmt.Sprint(sub["id"])) {
			continue
		}
		at := sub["timestamp"].(string)
		times = append(times, at)
		byDay[at[:len("2006-01-02")]]++
	}
	days = []any{}
	if len(times) == 0 {
		return nil, nil, days
	}
	slices.Sort(times)
	for _, at := range times {
		day := at[:len("2006-01-02")]
		if n := byDay[day]; n > 0 {
			days = append(days, map[string]any{"day": day, "count": n})
			delete(byDay, day)
		}
	}
	return times[0], times[len(times)-1], days
}
