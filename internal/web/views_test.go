package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const decidedForm = smallForm + "  - {id: decision, type: status, label: Decision, by: editors, options: [Yes, No]}\n"

// TestViews has each address show one view, and lead to both with its filters.
func TestViews(t *testing.T) {
	table := map[string]bool{
		"view=table": true, "view=table&by=state": true, "sort=name": true, "after=3": true, "columns=name": true,
		"q=n": false, "view=summary": false, "view=summary&sort=name": false, "by=state": false, "by=state&sort=name": false,
		"order=asc&limit=2": false,
	}
	for _, form := range []string{smallForm, decidedForm} {
		e := newEnv(t, page1("", form))
		for range 5 {
			e.submit("alice", 1, "feedback", "name", "Ann")
		}
		for query, want := range table {
			want = want || form == decidedForm && !strings.Contains(query, "summary") && !strings.HasPrefix(query, "by=")
			page := e.get("alice", feedbackResults+"?"+query)
			if got := page.tableRows("results") != nil; got != want || got == strings.Contains(page.body, "Submissions over time") {
				t.Errorf("%s shows the table: %v, want %v", query, got, want)
			}
			values, _ := url.ParseQuery(query)
			delete(values, "after")
			for name, view := range map[string]string{"Summary": "summary", "Table": "table"} {
				values.Set("view", view)
				testkit.Same(t, query, page.link(name), feedbackResults+"?"+values.Encode())
			}
		}
	}
}

// TestViewsHoldOn has what leads on from a view stay there.
func TestViewsHoldOn(t *testing.T) {
	e := newFeedback(t, "")
	page := e.get("alice", feedbackResults+"?columns=name&limit=3")
	page.wantHTML(`<input type="hidden" name="view" value="table">`, `<input type="checkbox" checked hidden name="columns" value="name">`)
	for _, link := range []string{"Next", "Name"} {
		if next := e.get("alice", page.link(link)); strings.Join(next.tableRows("results")[0], ",") != "Name" {
			t.Errorf("%s leads to %s, another view or other columns", link, page.link(link))
		}
	}
	none := e.get("alice", feedbackTable+"&q=nothing")
	testkit.Same(t, "Show all leads", none.link("Show all"), feedbackTable)
}

// TestColumns has the address choose the columns of the table and of its exports.
func TestColumns(t *testing.T) {
	e := newEnv(t, page1("", decidedForm))
	e.submit("alice", 1, "feedback", "name", "Ann", "score", "9", "decision", "Yes")
	e.submit("bob", 1, "feedback", "score", "7")
	usual := []string{"Sent by", "Decision", "Name", "State", "Score", "Topics", "Sent (UTC)", "Number"}
	for query, want := range map[string][][]string{
		"":                                     {usual},
		"columns=":                             {usual},
		"columns=score&columns=_id":            {{"Score", "Number"}, {"7", "2"}, {"9", "1"}},
		"columns=name&columns=score":           {{"Name", "Score"}, {"Open", "7"}, {"Ann", "9"}},
		"columns=score&columns=&columns=score": {{"Score"}, {"7"}, {"9"}},
		"columns=_changed&columns=_username":   {{"Changed (UTC)", "Sent by"}, {"Open", "bob"}, {"Open", "alice"}},
		"columns=_timestamp": {
			{"Sent (UTC)"}, {"15 Nov 2025, 12:03"}, {"15 Nov 2025, 12:03"},
		},
	} {
		page := e.get("alice", feedbackResults+"?"+query)
		testkit.Diff(t, query, page.tableRows("results")[:len(want)], want)
		testkit.Diff(t, "the first column leads to", rowIDs(page), []string{"2", "1"})
	}
	page := e.get("alice", feedbackResults+"?columns=score&columns=_username&q=9")
	page.wantHTML(
		`<label><input type="checkbox" name="columns" value="score" checked>
<bdi>Score</bdi></label>
<label><input type="checkbox" name="columns" value="_username" checked>
<bdi>Sent by</bdi></label>
<label><input type="checkbox" name="columns" value="decision">
<bdi>Decision</bdi></label>`)
	testkit.Same(t, "All columns leads", page.link("All columns"), feedbackResults+"?q=9&view=table")
	testkit.Same(t, "the export", e.get("alice", page.link("CSV")).body, "\ufeffScore,Sent by\r\n9,alice\r\n")
	if got := page.link("NDJSON"); strings.Contains(got, "columns") {
		t.Errorf("NDJSON is %s", got)
	}
	e.expect(400, "alice", feedbackResults+"?columns=name&columns=nope").
		wantHTML("columns: the form has no field &#34;nope&#34;")
	e.expect(400, "alice", feedbackResults+".csv?columns=nope")
}

// TestFirstColumn has the control for it lead to an address that a reader can share.
func TestFirstColumn(t *testing.T) {
	e := newFeedback(t, "")
	for sent, want := range map[string]string{
		"_first=score&columns=name&columns=score": "columns=score&columns=name&columns=score&view=table",
		"_first=&columns=name":                    "columns=&columns=name&view=table",
	} {
		testkit.Same(t, sent, e.expect(303, "alice", feedbackTable+"&"+sent).location(), feedbackResults+"?"+want)
	}
}

// TestPrint has one page hold what the filters select, and say if there are more.
func TestPrint(t *testing.T) {
	e := newFeedback(t, "")
	for i := range maxPrinted - 3 {
		e.submit("bob", 1, "feedback", "score", fmt.Sprint(i))
	}
	path := e.get("alice", feedbackTable+"&after=900&limit=2&columns=score").link("Print")
	testkit.Same(t, "the link", path, feedbackResults+"?columns=score&print=true&view=table")
	page := e.get("alice", path)
	page.wantHTML("These are the first 1,000.", "1–1,000 of 1,001")
	page.wantNoHTML("<form class", ">Next<", ">Print<")
	testkit.Same(t, "rows", len(rowIDs(page)), maxPrinted)
	page = e.get("alice", path+"&username=bob&sort=score")
	page.wantNoHTML("These are the first")
	page.want(200, "Sent by is bob", "1–998 of 998")
}

// TestLongAnswers has paper and a few columns hold whole answers, and fewer of them if they are large.
func TestLongAnswers(t *testing.T) {
	e := newFeedback(t, "")
	long := strings.Repeat("A long answer. ", 500) + "The end."
	e.submit("bob", 1, "feedback", "name", long)
	for query, whole := range map[string]bool{
		"": false, "&print=true": true, "&columns=_username&columns=name": true,
		"&columns=_username&columns=name&columns=state&columns=score": false,
	} {
		testkit.Same(t, query, strings.Contains(e.get("alice", feedbackTable+query).body, long), whole)
	}
	for range maxValues * cellHTML / 800_000 {
		e.submit("bob", 1, "feedback", "name", strings.Repeat("x", 800_000))
	}
	page := e.get("alice", feedbackTable+"&print=true")
	page.want(200, "The table is cut here")
	page.wantNoHTML("The end.")
}

// TestCards has a row say on a phone who, in which state, and two answers.
func TestCards(t *testing.T) {
	e := newFeedback(t, "")
	page := e.get("alice", feedbackTable+"&filter[name]=Ann")
	page.wantHTML(
		`<td data-card="Name"><bdi>Ann</bdi></td><td data-card><bdi class="lozenge`,
		`<td class="number" data-card="Score"><bdi>9</bdi></td><td><span class="long">`,
	)
}

// TestAllAnswersToOneQuestion follows "Show all".
func TestAllAnswersToOneQuestion(t *testing.T) {
	for front, want := range map[string][]string{"": {"Sent by", "Name"}, "anonymous: true\n": {"Name"}} {
		e := newEnv(t, page1("", strings.Replace(smallForm, "fields:", front+"fields:", 1)))
		for range 7 {
			e.submit("alice", 1, "feedback", "name", "Ann")
		}
		e.submit("alice", 1, "feedback", "score", "1")
		page := e.get("alice", e.get("alice", feedbackResults).link("Show all 7 answers to “Name”"))
		if rows := page.tableRows("results"); len(rows) != 8 || !slices.Equal(rows[0], want) {
			t.Errorf("%s shows %v", page.path, rows)
		}
	}
}
