package web

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/testkit"
)

func day(text string) time.Time {
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return d
}

func TestTimeChart(t *testing.T) {
	for _, c := range []struct {
		days         string // with one submission each
		head, labels string
		counts       string
	}{
		{"2025-11-15", "Day", "15 Nov 2025", "[1]"},
		{"2025-11-15 2025-11-15 2025-11-18", "Day", "15 Nov 2025, 16 Nov 2025, 17 Nov 2025, 18 Nov 2025", "[2 0 0 1]"},
		{"2025-02-27 2025-05-01", "Week from Monday", "24 Feb 2025", "[1 0 0 0 0 0 0 0 0 1]"},
		{"2020-01-01 2020-01-31 2022-12-31", "Month", "Jan 2020, Feb 2020", "[2 0 "},
		{"2000-01-01 2020-01-31", "Year", "2000, 2001", "[1 0 "},
		{"1970-01-01 2250-01-31", "5 years", "1970, 1975", "[1 0 "},
	} {
		s := query.Summary{}
		for _, text := range strings.Fields(c.days) {
			if n := len(s.Days); n > 0 && s.Days[n-1].Day.Equal(day(text)) {
				s.Days[n-1].Count++
				continue
			}
			s.Days = append(s.Days, query.DayCount{Day: day(text), Count: 1})
		}
		chart := newPeriodChart(english, "time", "Submissions over time", s.Days, periods)
		var labels []string
		var counts []int64
		for _, column := range chart.Columns {
			labels, counts = append(labels, column.Label), append(counts, column.Count)
		}
		if chart.Head != c.head || !strings.HasPrefix(strings.Join(labels, ", "), c.labels) || !strings.HasPrefix(fmt.Sprint(counts), c.counts) {
			t.Errorf("%s: by %s, %v %v", c.days, chart.Head, labels, counts)
		}
		if len(labels) > maxPeriods+1 {
			t.Errorf("%s: %d columns", c.days, len(labels))
		}
	}
}

// TestPeriodsFit has every span of time make few columns, and none fall out.
func TestPeriodsFit(t *testing.T) {
	first := day("2023-12-29")
	for days := 0; days < 200_000; days = days*11/10 + 1 {
		last := first.AddDate(0, 0, days)
		chart := newPeriodChart(english, "time", "Submissions over time", []query.DayCount{{Day: first, Count: 2}, {Day: last, Count: 3}}, periods)
		n := len(chart.Columns)
		if n > maxPeriods+1 || (n > 1 && (chart.Columns[0].Count != 2 || chart.Columns[n-1].Count != 3)) {
			t.Fatalf("%d days: %d columns, %v", days, n, chart.Columns)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 12: "12", -3.5: "-3.5", 0.1: "0.1", 1e-7: "1e-07", 999: "999", -999: "-999", 1234567: "1,234,567", -1234.5678: "-1,234.5678",
		5e9: "5,000,000,000", 1e15: "1,000,000,000,000,000", 12345678901234567890: "12,345,678,901,234,567,000", 1e21: "1e+21", -1e300: "-1e+300",
	} {
		testkit.Same(t, x, number(english, x), want)
	}
	testkit.Same(t, "means and a count",
		mean(english, 17.850877)+" "+mean(english, -52040.8163)+" "+mean(english, 1e300)+" "+
			mean(english, 0.12345)+" "+english.Count(int64(-1234)),
		"17.85 -52,040.82 1e+300 0.12345 -1,234",
	)
	testkit.Same(t, "shares", percent(english, 1, 3)+percent(english, 0, 0)+share(1, 3)+share(0, 0), "33 %0 %33.330")
}

func TestSummaryView(t *testing.T) {
	e := newFeedback(t, "")
	page := e.get("alice", feedbackResults)
	page.wantHTML(
		`aria-labelledby="time-title time-desc"><title id="time-title">Submissions over time, by day</title>`,
		`<th scope="row">15 Nov 2025</th><td class="number">4</td>`,
		`<a href="/page/1/form/feedback/results?filter%5Bstate%5D%5Bequals%5D=Open&amp;view=table" title="Show these"><span class="lozenge color-grey">Open</span></a>`,
		`<rect width="100" height="10"></rect></svg></td><td class="number">2</td><td class="number">50 %</td>`,
		"3 answered, 1 did not · from -3.5 to 10, on average 5.17, median 9, sum 15.5",
		"1 answered, 3 did not", // topics
		`<li dir="auto">cleo</li>
<li dir="auto">Ann Two</li>`,
	)
	page = e.get("alice", feedbackResults+"?q=ann&limit=1&filter[topics][contains]=Food")
	page.wantHTML("?filter%5Btopics%5D%5Bcontains%5D=Food&amp;filter%5Btopics%5D%5Bcontains%5D=Room&amp;q=ann&amp;view=table")
	// Filters count for the summary.
	e.get("alice", feedbackResults+"?filter[state]=Open").wantHTML("<strong>2</strong> submissions")
}

// TestSummaryBounds has the summary of a huge form be of a bounded size.
func TestSummaryBounds(t *testing.T) {
	f := &forms.Form{ID: "huge"}
	s := query.Summary{Count: 1, Days: []query.DayCount{{Day: day("2025-01-01"), Count: 1}}}
	var options []string
	var counts []query.OptionCount
	for j := range 1000 {
		options = append(options, fmt.Sprint(j, strings.Repeat("<", 1000)))
		counts = append(counts, query.OptionCount{Value: options[j], Count: int64(j)})
	}
	for i := range 1000 {
		id := fmt.Sprint("f", i)
		f.Fields = append(f.Fields, &forms.Field{ID: id, Label: strings.Repeat("label ", 1000), Type: forms.Dropdown, Options: options})
		s.Fields = append(s.Fields, query.FieldSummary{ID: id, Options: counts, Answered: 1})
	}
	v := newSummaryView(f, s, &resultsView{path: "/results", query: url.Values{}, lang: english})
	var b bytes.Buffer
	testkit.Must(t, parseTemplates("", newStaticFiles(nil), time.UTC, english).ExecuteTemplate(&b, "summary", v))
	if b.Len() > 1<<20 || v.Left != 1000-len(v.Fields) || v.Fields[0].LeftBars != 1000-maxFieldBars {
		t.Errorf("%d bytes, %d fields, %d left", b.Len(), len(v.Fields), v.Left)
	}
	if first := v.Fields[0].Bars[0]; first.Count != 999 {
		t.Errorf("the first bar is %v, want that of the most", first)
	}
}

// TestNumberChartOfOutliers has a column at the end for the few values that are far off.
func TestNumberChartOfOutliers(t *testing.T) {
	n := &query.Numbers{
		Count: 11, Min: 1, Max: 1e6, Mean: 90912, Median: 2, Bins: []query.Bin{{From: 0, To: 1e5, Count: 10}},
		Inner: []query.Bin{{From: 1, To: 2, Count: 4}, {From: 2, To: 3, Count: 6}}, Above: 1,
	}
	chart := newNumberChart(english, "n0", "Price", describeNumbers(english, n), n)
	var labels []string
	for _, c := range chart.Columns {
		labels = append(labels, fmt.Sprint(c.Label, ": ", c.Count))
	}
	if got := strings.Join(labels, ", "); got != "1 to below 2: 4, 2 to below 3: 6, 3 and above: 1" || chart.Most != 6 || !strings.HasSuffix(chart.Desc, "median about 2, sum 0") {
		t.Errorf("%s, at most %d, %s", got, chart.Most, chart.Desc)
	}
}

// TestSummaryOfTextsAndDates shows the latest answers with a link to all, and dates by
// month.
func TestSummaryOfTextsAndDates(t *testing.T) {
	e := newEnv(t, page1("", kindsForm))
	for i := range 7 {
		e.submit("alice", 1, "feedback", "name", fmt.Sprint("text ", i), "day", fmt.Sprintf("2026-%02d-28", i%3+1))
	}
	e.submit("alice", 1, "feedback", "state", "New")
	page := e.get("alice", feedbackResults)
	page.want(200, "text 6 text 5 text 4 text 3 text 2 Show all 7")
	page.wantHTML(`<th scope="row">Jan 2026</th><td class="number">3</td>`, `<th scope="row">Mar 2026</th><td class="number">2</td>`,
		`<p class="scale" aria-hidden="true"><span>8</span><span>0</span></p>`)
}

// TestSummaryOfMarks: a grid is one card with one scale, and marks have a mean but no sum.
func TestSummaryOfMarks(t *testing.T) {
	e := newEnv(t, page1("", `form: feedback
fields:
  - {id: likely, type: radio, label: Likely, options: [0, 1, 2], scale: [Never, At once]}
  - section: rooms
    title: Rooms
    grid: true
    fields:
      - {id: light, type: radio, label: Light, options: &marks [1, 2, 3]}
      - {id: air, type: radio, label: Air, options: *marks}
  - {id: seats, type: radio, label: Seats, options: [4, 8]}
`))
	for _, air := range []string{"1", "3"} {
		e.submit("alice", 1, "feedback", "likely", "2", "light", "3", "air", air, "seats", "8")
	}
	page := e.get("alice", feedbackResults+"?by=seats")
	page.want(200, "Rooms How often each answer was given AnswerBar SubmissionsShare Light 2 answered · on average 3 1", "Air 2 answered · on average 2 1")
	page.wantHTML(`<h3 dir="auto">Rooms</h3>`, `<p class="answered">2 answered · on average 2</p>`, "2 answered · on average 8, sum 16")
	testkit.Same(t, "cards", strings.Count(page.body, `<div class="chart">`), 4)
	testkit.Same(t, "bars of half the length", strings.Count(page.body, `<rect width="50"`), 2)
	testkit.Same(t, "columns of sums", strings.Count(page.text(), ", sum"), 1)
}
