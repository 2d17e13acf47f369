package web

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/maypok86/otter/v2"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// TestSummaryCache has a summary cached for ten seconds, and few of them in memory.
func TestSummaryCache(t *testing.T) {
	clock := testsite.NewClock(began)
	cache := newSummaryCache(clock.Now)
	computed := int64(0)
	get := func(user string, want int64) {
		t.Helper()
		view, err := cache.Get(t.Context(), summaryKey{user: user}, otter.LoaderFunc[summaryKey, *summaryView](
			func(context.Context, summaryKey) (*summaryView, error) {
				computed++
				return &summaryView{Count: computed}, nil
			}))
		if err != nil || view.Count != want {
			t.Errorf("got %+v, %v, want computation %d", view, err, want)
		}
	}
	get("", 1)
	clock.Advance(summaryTTL - 1)
	get("", 1)
	clock.Advance(1)
	get("", 2)
	for i := range int64(2 * maxSummaries) {
		get(fmt.Sprint(i), 3+i)
	}
	cache.CleanUp()
	if n := cache.EstimatedSize(); n == 0 || n > maxSummaries {
		t.Errorf("%d summaries are cached", n)
	}
}

// TestSummaryKey has two callers share a summary only if both may see the same
// submissions.
func TestSummaryKey(t *testing.T) {
	const front = "view: [alice, bob, carol]\nedit: [carol, alice]\n"
	e := newFeedback(t, front)
	key := func(user, query string) summaryKey {
		t.Helper()
		access, err := e.site.Backend.Service.Form(t.Context(), auth.Identity{Name: user}, 1, "feedback")
		testkit.Must(t, err)
		return newSummaryKey(access, user, request.ReadParams(query).Summary())
	}
	testkit.Same(t, "two who see all have summaries of their own", key("alice", ""), key("carol", ""))
	distinct := map[summaryKey]string{}
	for _, c := range [][2]string{
		{"alice", ""},
		{"bob", ""},
		{"bob", "username=bob"},
		{"alice", "username=bob"},
		{"alice", "username="},
		{"alice", "q=a"},
		{"alice", "by=state"},
		{"alice", "by=topics"},
		{"alice", "filter[name]=a"},
		{"alice", "filter[name]=a&filter[name]=b"},
		{"alice", "filter[name][contains]=a"},
		{"alice", "filter[state]=a"},
		{"alice", `filter[name]=a""equals""b`},
		{"alice", `username=a"q"x`},
		{"alice", "username=a&q=x"},
	} {
		k := key(c[0], c[1])
		if other, known := distinct[k]; known {
			t.Errorf("%v has the key of %s", c, other)
		}
		distinct[k] = fmt.Sprint(c)
	}
	before := key("alice", "")
	e.edit(page1(front, smallForm+"  - {id: more, type: textfield, label: More}\n"))
	if key("alice", "") == before {
		t.Error("a changed form has the key of the old one")
	}
}

// TestSummaryAfterWrites has totals count what was written just now.
func TestSummaryAfterWrites(t *testing.T) {
	e := newFeedback(t, "")
	b := e.signedIn("alice")
	check := func(after, total, mean string) {
		t.Helper()
		page := b.get(feedbackTable)
		if rangeOf(page) != total || !strings.Contains(b.get(feedbackResults).text(), "on average "+mean) {
			t.Errorf("after %s: %s, and the mean is not %s", after, rangeOf(page), mean)
		}
	}
	check("nothing", "1–4 of 4", "5.17")
	e.submit("bob", 1, "feedback", "score", "20")
	check("a create", "1–5 of 5", "8.88")
	b.fill("/page/1/form/feedback", "name", "Amy", "score", "0").want(200)
	check("a create with a key", "1–6 of 6", "7.1")
	b.fill("/page/1/form/feedback/submission/2/change", "score", "20").want(200)
	check("a change", "1–6 of 6", "9.1")
	remove := b.get("/page/1/form/feedback/submission/2/delete")
	b.postForm(remove.action(), remove.values()).want(200)
	check("a delete", "1–5 of 5", "6.38")
}

// TestSummaryIsComputedOnce has a page that is shown again read its table, and not all submissions.
func TestSummaryIsComputedOnce(t *testing.T) {
	e := newFeedback(t, "")
	b := e.signedIn("alice")
	scans := 0
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if operation == "scan" {
			scans++
		}
		return nil
	})
	b.get(feedbackResults).want(200)
	first := scans
	b.get(feedbackResults).want(200)
	if again := scans - first; again >= first {
		t.Errorf("the page is made of %d scans, and of %d when it is shown again", first, again)
	}
}
