package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/testkit"
)

const costsForm = `form: feedback
fields:
  - {id: team, type: radio, label: Team, options: [{value: a, label: Alpha}, b]}
  - {id: costs, type: textfield, label: Costs, validate: numeric}
  - {id: stars, type: dropdown, label: Stars, options: [1, 2, 3]}
  - {id: state, type: status, label: State, options: [{value: ok, label: Granted, color: green}, no]}
  - {id: tags, type: checkbox, label: Tags, options: [x, y]}
  - {id: note, type: textbox, label: Note}
  - {id: last, type: textfield, label: Last}
`

func newCosts(t *testing.T) *env {
	t.Helper()
	e := newEnv(t, page1("", costsForm))
	for _, answers := range []string{
		"team=a costs=0.1 stars=3 state=ok tags=x;y note=n", "team=a costs=0.2 stars=2 state=no", "team=b costs=1200.5 tags=x", "costs=7",
	} {
		var pairs []string
		for pair := range strings.FieldsSeq(answers) {
			id, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, id, value)
		}
		e.submit("alice", 1, "feedback", pairs...)
	}
	return e
}

// split is the cells of the table of a split summary, by row.
func (a *answer) split() (rows []string) {
	for _, cells := range a.tableRows("split") {
		rows = append(rows, strings.TrimRight(strings.Join(cells, "|"), "|"))
	}
	return rows
}

// TestSplit has the figures of a summary by the answers to one field.
func TestSplit(t *testing.T) {
	e := newCosts(t)
	for by, want := range map[string][]string{
		"team": {
			"Team|Submissions|Costs, sum|Costs, mean|Costs, answers|Stars, sum|Stars, mean|Stars|State|Tags",
			"Alpha|2|0.3|0.15|2|5|2.5|2 1 3 1|Granted 1 no 1|x 1 y 1",
			"b|1|1,200.5|1,200.5|1|||||x 1",
			"No answer|1|7|7|1",
		},
		"tags": {
			"Tags|Submissions|Team|Costs, sum|Costs, mean|Costs, answers|Stars, sum|Stars, mean|Stars|State",
			"x|2|Alpha 1 b 1|1,200.6|600.3|2|3|3|3 1|Granted 1",
			"y|1|Alpha 1|0.1|0.1|1|3|3|3 1|Granted 1",
			"No answer|2|Alpha 1|7.2|3.6|2|2|2|2 1|no 1",
		},
	} {
		page := e.get("alice", feedbackResults+"?by="+by)
		testkit.Diff(t, by, page.split(), want)
		page.wantHTML(`<option value="`+by+`" selected>`, `filter%5B`+by+`%5D%5Bempty%5D=`)
	}
	page := e.get("alice", feedbackResults)
	page.want(200, "1 question without an answer Last", "2 answered, 2 did not · on average 2.5, sum 5", "Compare by none Team Stars State Tags")
	testkit.Diff(t, "split by nothing", page.split(), []string(nil))
	e.expect(422, "alice", feedbackResults+"?by=costs").want(422, "by must be the id of a field with options")
	testkit.Same(t, "by nothing leads",
		e.expect(303, "alice", feedbackResults+"?by=&q=a").header.Get("Location"),
		feedbackResults+"?q=a",
	)
	// Filters hold, and stay.
	e.get("alice", feedbackResults+"?by=team&filter[costs][greater-than]=1").wantHTML(
		`<input type="hidden" name="filter[costs][greater-than]" value="1">`, `<td class="number" data-name="Costs, sum">1,200.5</td>`)
}

// TestSplitIsBounded leaves out the columns for which there is no room.
func TestSplitIsBounded(t *testing.T) {
	by, f := "f0", &forms.Form{}
	for i := range 100 {
		f.Fields = append(f.Fields, &forms.Field{ID: fmt.Sprint("f", i), Options: []string{"a", "b"}})
	}
	f.Fields[0].Options = nil
	for i := range 49 {
		f.Fields[0].Options = append(f.Fields[0].Options, strings.Repeat("x", i+1))
	}
	rows := func(yield func(forms.Submission, error) bool) {
		for i := range int64(50) {
			var entries []forms.Entry
			for j, field := range f.Fields {
				value := "a"
				if j == 0 {
					value = strings.Repeat("x", int(i))
				}
				entries = append(entries, forms.Entry{FieldID: field.ID, Value: value})
			}
			if !yield(forms.Submission{ID: i + 1, Entries: forms.EncodeEntries(nil, entries)}, nil) {
				return
			}
		}
	}
	source := query.Source{Form: f, Zone: time.UTC, Scan: func(query.Range) query.Rows { return rows }}
	sum, err := source.Summary(query.List{By: &by})
	testkit.Must(t, err)
	page := &resultsView{path: "/results", query: url.Values{}, lang: english}
	page.opts.By = &by
	if v := newSplit(f, sum, page); len(v.Columns) != 33 || v.Left != 66 {
		t.Errorf("%d columns, %d left", len(v.Columns), v.Left)
	}
}
