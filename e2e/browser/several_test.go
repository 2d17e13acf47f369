package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

const purchase = "/page/11/form/purchase"

// approveRequests has an editor grant all that waits with few clicks, undo it, and delete it.
func approveRequests(t *testing.T, s *site) {
	for i := range 20 {
		s.store(t, ann, ann+"-secret", purchase, map[string]string{"what": fmt.Sprint("Pencil ", i+1)})
	}
	wantGranted := func(want int) {
		t.Helper()
		testkit.Same(t, "granted", strings.Count(s.get(t, purchase+"/result"), `"ok"`), want)
	}
	p := s.as(t, eve, "/")
	clicks := 0
	click := func(count int, act func()) {
		clicks += count
		act()
	}
	// all presses one of the two ways to mean all rows.
	all := func(button, selected string) {
		t.Helper()
		testkit.Same(t, "a button for all rows", p.Has("button", button+" all 20 on this page"), s.options.NoScript)
		testkit.Same(t, "a tick for all rows", p.Has("checkbox", "All on this page"), !s.options.NoScript)
		if s.options.NoScript {
			click(1, func() { p.press(button + " all 20 on this page") })
			return
		}
		click(1, func() { p.Click("checkbox", "All on this page") })
		click(1, func() { p.press(selected) })
	}
	click(1, func() { p.follow("20 waiting in “Purchases”") })
	p.Check()
	testkit.Same(t, "the zone of times", strings.Contains(p.Text(), "(UTC)"), s.options.NoScript) // else it is the reader's
	click(2, func() { p.Select("Set", "State: Granted") })
	all("Set", "Change selected")
	p.want("State: Granted (20).", "No submission matches.")
	p.Check()
	wantGranted(20)
	if clicks > 6 {
		t.Errorf("%d clicks", clicks)
	}
	testkit.Same(t, "focus", p.Focused(), `status ""`)

	// It was wrong.
	p.press("Undo")
	p.want("20 set back.", "1–20 of 20")
	p.Check()
	wantGranted(0)

	p.press("Delete selected")
	p.wantStatus(http.StatusUnprocessableEntity)
	p.want("Tick the submissions first. Nothing was changed.")
	p.Check()
	if !s.options.NoScript {
		p.Reload()
		p.wantStatus(http.StatusOK) // it is not sent again
		p.wantNot("Tick the submissions first.")
	}
	all("Delete", "Delete selected")
	p.want("Delete 20 submissions?", "Their files are deleted, too.")
	p.Check()
	p.press("Delete")
	p.want("20 deleted.", "No submission matches.")
	testkit.Same(t, "submissions", s.count(t, purchase), 0)
}

// TestSkippedRows: where some rows were deleted meanwhile, the outcome stands above the table and the footer
// below it. Long names stay beside their ticks.
func TestSkippedRows(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{})
	for range 40 {
		s.store(t, ann, ann+"-secret", purchase, map[string]string{"what": "A long name of a thing and its parts"})
	}
	const table = purchase + "/results?view=table&columns=what&columns=state"
	p, other := s.as(t, eve, table), s.as(t, eve, table+"&limit=20")
	for _, q := range []*page{p, other} {
		q.Click("checkbox", "All on this page")
	}
	other.press("Delete selected")
	other.press("Delete")
	p.Select("Set", "State: Granted")
	p.press("Change selected")
	p.want("State: Granted (20).", "20 skipped:")
	p.Check()
	const misplaced = `(() => {
		Object.assign(document.querySelector(".scroll").style, {minWidth: 0, maxWidth: "16rem"});
		const box = e => e.getBoundingClientRect(), one = s => box(document.querySelector(s)), found = [];
		if (one(".outcome").bottom > one(".scroll").top) found.push("outcome");
		if (box(document.querySelector("main").nextElementSibling).top < one(".scroll").bottom) found.push("footer");
		for (const row of document.querySelectorAll("tbody tr")) {
			const name = box(row.querySelector("a"));
			if (name.height < 40 || name.left < box(row.querySelector(".tick input")).right) found.push("name");
		}
		return found.join();
	})()`
	testkit.Same(t, "misplaced", browsertest.Eval[string](p.Page, misplaced), "")
}
