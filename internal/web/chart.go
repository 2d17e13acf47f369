package web

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/query"
)

// Bounds of a summary on a page. A form may have a thousand fields with a
// thousand options each. The API's summary has all of them.
const (
	maxFieldBars = 40
	maxBars      = 400 // of all fields
	maxCharts    = 100 // fields
	maxPeriods   = 62  // columns of submissions over time
	maxBarLink   = 500 // bytes of the address that a bar leads to
)

// summaryView is a summary as it is shown.
type summaryView struct {
	Count       int64
	Lang        string // language tag of what an author wrote, or ""
	First, Last moment
	Time        *columnChart // nil without submissions
	Fields      []fieldChart
	Others      []fieldChart // of fields without a chart
	Unanswered  []string     // labels of questions that nobody has answered
	Left        int          // fields that are not shown
	SplitBy     splitForm
	Split       *splitView // nil if it is not asked for
}

// fieldChart has the answers to one field, or to the fields of a grid.
type fieldChart struct {
	Words                // the question, or the title of the grid
	Answered, Unanswered int64
	Width                string // of 100, of those who answered
	Bars                 []bar
	Status               bool         // options are statuses
	LeftBars             int          // values that are not shown
	Columns              *columnChart // of numbers or dates
	Range                string       // of numbers: from, to, mean, median and sum
	Texts                []string     // the latest
	All                  string       // path of the table of all, which has them in full; "" if that is too long
	Rows                 []fieldChart // the questions of a grid; empty for one field
	grid                 *forms.Section
}

// bar is the number of submissions that chose a value.
type bar struct {
	Label   string
	Count   int64
	Percent string // of those who answered
	Width   string // of 100
	Color   string
	Only    string // path of the results that have it; "" where there is no filter for it
}

// columnChart is a chart of columns from left to right.
type columnChart struct {
	ID          string // prefix of the ids of its elements
	Title, Desc string
	Head        string // of the first column of its table
	Columns     []chartColumn
	From, To    string // labels below the first and the last column
	Middle      string // the label below the one in the middle; "" where there are few
	Most        int64  // of a column
}

// chartColumn is a column of a chart.
type chartColumn struct {
	Label     string
	Count     int64
	X         int
	Y, Height string
}

// What a chart of columns measures, in units of its own.
const (
	columnStep   = 10
	columnWidth  = 8
	columnHeight = 100
	columnPixels = 36 // the most that a step takes on the screen
	maxPixels    = 640
)

// ViewWidth is how wide the chart is in units of its own.
func (c *columnChart) ViewWidth() int { return columnStep*len(c.Columns) - (columnStep - columnWidth) }

// Pixels is how wide the chart is on a large screen.
func (c *columnChart) Pixels() int { return min(columnPixels*len(c.Columns), maxPixels) }

// setHeights draws the columns.
func (c *columnChart) setHeights() {
	most := int64(1)
	for _, column := range c.Columns {
		most = max(most, column.Count)
	}
	c.Most = most
	for i := range c.Columns {
		column := &c.Columns[i]
		height := columnHeight * float64(column.Count) / float64(most)
		if column.Count > 0 {
			height = max(height, 1) // so that a few can be told from none
		}
		column.X = columnStep * i
		column.Height, column.Y = trimFloat(height, 2), trimFloat(columnHeight-height, 2)
	}
}

// newSummaryView makes the view of a summary on the given page of results.
func newSummaryView(f *forms.Form, s query.Summary, page *resultsView) *summaryView {
	l := page.lang
	v := &summaryView{
		Count: s.Count, Lang: page.tag, First: shownTime(f, s.First, page.zone), Last: shownTime(f, s.Last, page.zone),
	}
	if s.Count == 0 {
		return v
	}
	v.Time = newPeriodChart(l, "time", l.Text("Submissions over time"), s.Days, periods)
	v.SplitBy = newSplitForm(f, page)
	if s.Groups != nil {
		v.Split = newSplit(f, s, page)
	}
	bars := 0
	for rank, field := range f.Fields {
		sum := s.Fields[rank]
		if sum.Answered == 0 {
			v.Unanswered = append(v.Unanswered, clipLabel(field.Label))
			continue
		}
		if len(v.Fields)+len(v.Others) >= maxCharts || bars >= maxBars {
			v.Left++
			continue
		}
		chart := fieldChart{
			Words: Words{clipLabel(field.Label), page.tag}, Answered: sum.Answered, Unanswered: s.Count - sum.Answered,
		}
		switch {
		case sum.Options != nil:
			chart.Status = field.Type == forms.Status
			chart.Bars, chart.LeftBars = newBars(field, sum, page)
			if n := sum.Numbers; n != nil && n.Count > 0 {
				if chart.Range = l.Text("on average {0}", mean(l, n.Mean)); hasSum(f, rank) {
					chart.Range = l.Text("on average {0}, sum {1}", mean(l, n.Mean), number(l, n.Sum))
				}
			}
			bars += len(chart.Bars)
			if grid := gridOf(f, rank); grid != nil {
				v.addToGrid(grid, chart)
				continue
			}
		case sum.Numbers != nil && sum.Numbers.Count > 0:
			chart.Range = describeNumbers(l, sum.Numbers)
			chart.Columns = newNumberChart(l, "n"+strconv.Itoa(rank), chart.Label, chart.Range, sum.Numbers)
			bars += len(chart.Columns.Columns)
		case sum.Months != nil:
			chart.Columns = newMonthChart(l, "d"+strconv.Itoa(rank), chart.Label, sum)
			bars += len(chart.Columns.Columns)
		case sum.Latest != nil:
			chart.Texts = sum.Latest
			columns := []string{forms.ColumnUsername, field.ID}
			if f.Anonymous {
				columns = columns[1:]
			}
			chart.All = page.with(field.ID, forms.NotEmpty, "", columns...)
			bars += len(chart.Texts)
		default:
			chart.Width = share(sum.Answered, s.Count)
			v.Others = append(v.Others, chart)
			continue
		}
		v.Fields = append(v.Fields, chart)
	}
	return v
}

// gridOf is the grid that a field belongs to, nil for other fields.
func gridOf(f *forms.Form, rank int) *forms.Section {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Grid && s.First <= rank && rank < s.First+s.Count {
			return s
		}
	}
	return nil
}

// hasSum reports whether the sum of a field's numbers has a meaning: marks have none.
func hasSum(f *forms.Form, rank int) bool {
	return f.Fields[rank].Scale == nil && gridOf(f, rank) == nil
}

// addToGrid adds a question to the chart of its grid. The bars of all its questions have one scale.
func (v *summaryView) addToGrid(grid *forms.Section, chart fieldChart) {
	last := len(v.Fields) - 1
	if last < 0 || v.Fields[last].grid != grid {
		title := Words{clipLabel(grid.Title), chart.Lang}
		v.Fields, last = append(v.Fields, fieldChart{Words: title, grid: grid}), last+1
	}
	v.Fields[last].Rows = append(v.Fields[last].Rows, chart)
	rows, most := v.Fields[last].Rows, int64(1)
	for _, row := range rows {
		for _, b := range row.Bars {
			most = max(most, b.Count)
		}
	}
	for _, row := range rows {
		for i := range row.Bars {
			row.Bars[i].Width = share(row.Bars[i].Count, most)
		}
	}
}

// newBars makes the bars of a field with options. The longest is that of the
// value that most have chosen.
func newBars(field *forms.Field, sum query.FieldSummary, page *resultsView) (bars []bar, left int) {
	most := int64(1)
	for _, o := range sum.Options {
		most = max(most, o.Count)
	}
	shown := sum.Options
	if left = len(shown) - maxFieldBars; left > 0 {
		// The values that were chosen most often are shown.
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(a, b query.OptionCount) int { return cmp.Compare(b.Count, a.Count) })
		shown = shown[:maxFieldBars]
	}
	for _, o := range shown {
		b := newBar(field, o.Value, o.Count, page)
		b.Percent, b.Width = percent(page.lang, o.Count, sum.Answered), share(o.Count, most)
		bars = append(bars, b)
	}
	return bars, max(left, 0)
}

// newBar is the bar of a value, without its length.
func newBar(field *forms.Field, value string, count int64, page *resultsView) bar {
	b := bar{Label: clipLabel(field.LabelOf(value)), Color: field.ColorOf(value), Count: count}
	operator := forms.Equals
	if field.MultiValue() {
		operator = forms.Contains
	}
	// A value that is none of the options may have been cut.
	if count > 0 && slices.Contains(field.Options, value) {
		b.Only = page.with(field.ID, operator, value)
	}
	return b
}

// describeNumbers says where numbers lie.
func describeNumbers(l *lang.Language, n *query.Numbers) string {
	median := mean(l, n.Median)
	if !n.Exact {
		median = l.Text("about {0}", median)
	}
	return l.Text("from {0} to {1}, on average {2}, median {3}, sum {4}",
		number(l, n.Min), number(l, n.Max), mean(l, n.Mean), median, number(l, n.Sum))
}

// newNumberChart draws the values that are not far from most others. The rest is a column
// at each end, so that it does not flatten them.
func newNumberChart(l *lang.Language, id, label, numberRange string, n *query.Numbers) *columnChart {
	c := &columnChart{
		ID: id, Head: l.Text("Values"), Title: l.Text("How often each value of “{0}” occurs", label),
		Desc: numberRange,
	}
	bins := n.Bins
	if n.Inner != nil {
		bins = n.Inner
	}
	c.From, c.To = number(l, bins[0].From), number(l, bins[len(bins)-1].To)
	if n.Below > 0 {
		c.From = l.Text("below {0}", c.From)
		c.Columns = append(c.Columns, chartColumn{Label: c.From, Count: n.Below})
	}
	for _, b := range bins {
		text := l.Text("{0} to below {1}", number(l, b.From), number(l, b.To))
		c.Columns = append(c.Columns, chartColumn{Label: text, Count: b.Count})
	}
	if n.Above > 0 {
		c.To = l.Text("{0} and above", c.To)
		c.Columns = append(c.Columns, chartColumn{Label: c.To, Count: n.Above})
	}
	if even := len(bins)%2 == 0; even && len(bins) >= fewColumns && len(bins) == len(c.Columns) {
		c.Middle = number(l, bins[len(bins)/2].From)
	}
	c.setHeights()
	return c
}

// fewColumns are too few for a label in the middle.
const fewColumns = 6

// newMonthChart makes the chart of a date field: by month, or by longer periods.
func newMonthChart(l *lang.Language, id, label string, sum query.FieldSummary) *columnChart {
	c := newPeriodChart(l, id, l.Text("How often each date of “{0}” occurs", label), sum.Months, monthsAndYears)
	if sum.Beyond > 0 {
		c.Desc += " " + l.Say(forms.SayN("{0} further date is left out.", "{0} further dates are left out.", int(sum.Beyond)))
	}
	return c
}

// newPeriodChart makes a chart by the first of the given periods that is long enough
// for the columns to be few.
func newPeriodChart(l *lang.Language, id, title string, days []query.DayCount, by []period) *columnChart {
	first, last := days[0].Day, days[len(days)-1].Day
	p := choosePeriod(first, last, by)
	named := *p.title
	named.Args = append(slices.Clip(named.Args), title)
	c := &columnChart{ID: id, Title: l.Say(&named), Head: l.Say(p.head)}
	index := map[time.Time]int{}
	for day := p.begin(first); !day.After(last); day = p.next(day) {
		index[day] = len(c.Columns)
		c.Columns = append(c.Columns, chartColumn{Label: p.write(l, day)})
	}
	for _, d := range days {
		c.Columns[index[p.begin(d.Day)]].Count += d.Count
	}
	n := len(c.Columns)
	c.From, c.To = c.Columns[0].Label, c.Columns[n-1].Label
	if n >= fewColumns && n%2 == 1 {
		c.Middle = c.Columns[n/2].Label
	}
	c.Desc = l.Text("days|From {0} to {1}.", c.From, c.To)
	c.setHeights()
	return c
}

// period is a length of time that submissions are counted by.
type period struct {
	title        *forms.Message // of a chart; its last argument is still to be added
	head         *forms.Message
	write        func(l *lang.Language, begin time.Time) string
	months, days int // one of them is 0
}

var (
	periods = append([]period{
		{forms.Say("{0}, by day"), forms.Say("Day"), (*lang.Language).Day, 0, 1},
		{forms.Say("{0}, by week from Monday"), forms.Say("Week from Monday"), (*lang.Language).Day, 0, 7},
	}, monthsAndYears...)
	monthsAndYears = []period{
		{forms.Say("{0}, by month"), forms.Say("Month"), (*lang.Language).Month, 1, 0}, years(1),
	}
)

func years(n int) period {
	return period{
		forms.SayN("{1}, by year", "{1}, by {0} years", n), forms.SayN("Year", "{0} years", n),
		(*lang.Language).Year, 12 * n, 0,
	}
}

// begin is the beginning of the period that a day belongs to.
func (p period) begin(day time.Time) time.Time {
	switch {
	case p.months > 0:
		months := 12*day.Year() + int(day.Month()) - 1
		return time.Date(0, time.Month(months-months%p.months+1), 1, 0, 0, 0, 0, time.UTC)
	case p.days == 7:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	default:
		return day
	}
}

func (p period) next(begin time.Time) time.Time { return begin.AddDate(0, p.months, p.days) }

const daySeconds = 24 * 60 * 60

func choosePeriod(first, last time.Time, from []period) period {
	days := int(last.Unix()/daySeconds-first.Unix()/daySeconds) + 1 // a Duration ends at 292 years
	for _, p := range from {
		if days <= (maxPeriods-1)*(30*p.months+p.days) {
			return p
		}
	}
	return years((last.Year()-first.Year())/(maxPeriods-1) + 1)
}

// share is a part of a whole, of 100.
func share(part, whole int64) string { return trimFloat(100*float64(part)/float64(max(whole, 1)), 2) }

// percent is a share as people write it.
func percent(l *lang.Language, part, whole int64) string {
	return l.Text("{0} %", int(math.Round(100*float64(part)/float64(max(whole, 1)))))
}

// wholeNumbers is from where a float64 has hardly any digits after the point.
const wholeNumbers = 1e15

// number writes a number for people, as counts are written. What is very large or
// very small has an exponent.
func number(l *lang.Language, x float64) string {
	const most, least, digits = 1e21, 1e-4, 6
	switch a := math.Abs(x); {
	case a >= most || (a < least && a > 0):
		return strconv.FormatFloat(x, 'g', digits, 64)
	case a >= wholeNumbers: // zeros stand for digits that a float64 does not have
		return l.Number(strconv.FormatFloat(x, 'f', -1, 64))
	}
	return l.Number(trimFloat(x, digits))
}

// mean is number with fewer digits.
func mean(l *lang.Language, x float64) string {
	if a := math.Abs(x); a >= 1 && a < wholeNumbers {
		return l.Number(trimFloat(x, 2))
	}
	return number(l, x)
}

// trimFloat writes at most so many digits after the point.
func trimFloat(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
