package web

import (
	"fmt"
	stdhtml "html"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// TestResultsPaging walks every row exactly once, by id and sorted, and back over the
// same pages. Each says which rows it has.
func TestResultsPaging(t *testing.T) {
	e := newEnv(t, page1("", smallForm))
	for i := range 25 {
		e.submit("alice", 1, "feedback", "name", fmt.Sprint("n", i), "score", fmt.Sprint(i%4))
	}
	for query, want := range map[string]string{
		"limit=4":                  "1–4 of 25, 5–8 of 25, 9–12 of 25, 13–16 of 25, 17–20 of 25, 21–24 of 25, 25–25 of 25",
		"limit=9&order=asc":        "1–9 of 25, 10–18 of 25, 19–25 of 25",
		"limit=9&sort=-score":      "1–9 of 25, 10–18 of 25, 19–25 of 25",
		"limit=4&sort=score&q=n1":  "1–4 of 11, 5–8 of 11, 9–11 of 11",
		"limit=4&q=n1":             "1–4 of 11, 5–8 of 11, 9–11 of 11",
		"limit=4&filter[name]=n11": "1–1 of 1",
	} {
		seen := map[string]int{}
		var pages, ranges []string
		var last *answer
		for at := feedbackTable + "&" + query; at != ""; at = last.link("Next") {
			last = e.get("alice", at)
			ids := rowIDs(last)
			for _, id := range ids {
				seen[id]++
			}
			pages, ranges = append(pages, strings.Join(ids, " ")), append(ranges, rangeOf(last))
			if at := last.link("First"); at != "" != (len(pages) > 1) || at != "" && at != feedbackResults+encoded("view=table&"+query)+"#submissions" {
				t.Errorf("%s: page %d leads to the first page: %s", query, len(pages), at)
			}
		}
		testkit.Same(t, query, strings.Join(ranges, ", "), want)
		for id, n := range seen {
			testkit.Same(t, query+": times of row "+id, n, 1)
		}
		for i := len(pages) - 2; i >= 0; i-- {
			last = e.get("alice", last.link("Previous"))
			if got := strings.Join(rowIDs(last), " "); got != pages[i] || rangeOf(last) != ranges[i] {
				t.Errorf("%s: page %d is %s, %s on the way back, and was %s, %s", query, i, got, rangeOf(last), pages[i], ranges[i])
			}
		}
		testkit.Same(t, query, last.link("Previous"), "")
	}
	// Where a link does not tell which row it begins with, the page does not, either.
	for _, from := range []string{"", "&from=99", "&from=x", "&from=-1"} {
		testkit.Same(t, from, rangeOf(e.get("alice", feedbackTable+"&after=20"+from)), "25")
	}
}

// encoded is a query as links have it.
func encoded(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		panic(err)
	}
	return "?" + values.Encode()
}

func rangeOf(page *answer) string {
	return strings.Join(textsOf(page.find(".range")), " ")
}

// TestResultsMarkHits has what was searched marked, also deep in a long answer.
func TestResultsMarkHits(t *testing.T) {
	e := newEnv(t, page1("", smallForm))
	e.submit("alice", 1, "feedback", "name", "<Äpfel> und äPFEL", "state", "New", "topics", "Food;Room")
	e.submit("alice", 1, "feedback", "name", strings.Repeat("ä", 2000)+" needle in hay")
	e.get("alice", feedbackTable+"&q=ÄPFEL").wantHTML("&lt;<mark>Äpfel</mark>&gt; und <mark>äPFEL</mark>")
	e.get("alice", feedbackTable+"&q=oo").
		wantHTML(`<span class="tag" dir="auto">F<mark>oo</mark>d</span>`, "R<mark>oo</mark>m")
	e.get("alice", feedbackTable+"&q=ew").wantHTML(`<bdi class="lozenge color-grey">N<mark>ew</mark></bdi>`)
	e.get("alice", feedbackTable+"&q=needle").wantHTML(`<bdi class="long">…ä`, "ä <mark>needle</mark> in hay</bdi>")
	e.get("alice", feedbackTable).wantNoHTML("<mark>")
	testkit.Same(t, "parts of a text with many hits", len(mark(strings.Repeat("a", 1000), "A").Hits), 2*maxHits+1)
}

// TestWayBackToResults has filters, order and page kept on the way to a submission,
// through the list, by a change and a delete, and back.
func TestWayBackToResults(t *testing.T) {
	e := newEnv(t, page1("", smallForm))
	for i := range 9 {
		state := []string{"New", "Open"}[i%2]
		e.submit("alice", 1, "feedback", "name", fmt.Sprint("n", i), "score", fmt.Sprint(10-i), "state", state)
	}
	b := e.signedIn("alice")
	second := b.get(stdhtml.UnescapeString(b.get(feedbackResults + "?filter[state]=New&sort=score&limit=2").link("Next")))
	testkit.Diff(t, "the second page", rowIDs(second), []string{"5", "3"})
	back := second.path + "#submissions"
	page := b.get(pathOf(second, "3"))
	check := func(text string) {
		t.Helper()
		page.want(200, text)
		testkit.Same(t, text, page.link("Results"), back)
	}
	check("Submission 3")
	page = b.get(page.link("Next"))
	check("Submission 1")
	testkit.Same(t, "there is a submission after the last", page.link("Next"), "")
	page = b.get(page.link("Previous"))
	page = b.get(page.link("Previous"))
	check("Submission 5")
	page = b.get(page.link("Change"))
	check("Change submission 5")
	page = b.send(page.action(), with(page.values(), "name", "changed"))
	check("The changes are saved.")
	page = b.get(page.link("Delete"))
	check("Delete submission 5")
	page = b.postForm(page.action(), page.values())
	page.want(200, "Submission 5 was deleted.")
	testkit.Diff(t, "after the delete", rowIDs(page), []string{"3", "1"})
	// What is no list leads back to all results.
	for _, query := range []string{"?sort=", "?filter[x", "?q=" + strings.Repeat("x", maxRowQuery)} {
		testkit.Same(t, query, b.get("/page/1/form/feedback/submission/3"+query).link("Results"), feedbackResults)
	}
	e.get("alice", "/page/1/form/feedback/submission/3?filter[nowhere]=1").want(200, "Submission 3")
}

// action is where the form of the page is sent.
func (a *answer) action() string {
	for _, n := range a.find(`form[method="post"]`) {
		if !hasAttribute(n, "data-sign-out") {
			return attribute(n, "action")
		}
	}
	return ""
}
