package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

const expense = "/page/12/form/expense"

// hand counts what somebody clicks on a page. What they type does not count.
type hand struct {
	*page
	clicks int
}

func (h *hand) press(button string)       { h.t.Helper(); h.clicks++; h.page.press(button) }
func (h *hand) follow(link string)        { h.t.Helper(); h.clicks++; h.page.follow(link) }
func (h *hand) Click(role, name string)   { h.t.Helper(); h.clicks++; h.page.Click(role, name) }
func (h *hand) Attach(label, path string) { h.t.Helper(); h.clicks++; h.page.Attach(label, path) }
func (h *hand) Select(label, option string) {
	h.t.Helper()
	h.clicks += 2
	h.page.Select(label, option)
}

// task does something from the page at a path on, in as few clicks as people expect.
func (h *hand) task(name, path string, most int, do func()) {
	h.t.Helper()
	h.goTo(path)
	h.clicks = 0
	do()
	if h.clicks > most {
		h.t.Errorf("%s takes %d clicks, want at most %d", name, h.clicks, most)
	}
}

// filter chooses what the table is filtered by, and how.
func (h *hand) filter(field, condition string) {
	h.t.Helper()
	h.Select("Filter by", field)
	h.Select("Condition", condition)
}

// storeExpenses has ben send expenses: two in July of the last year, and others.
func storeExpenses(t *testing.T, s *site) (july string, thisMonth time.Time) {
	now := time.Now().UTC()
	thisMonth = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	july = fmt.Sprint(now.Year()-1) + "-07"
	for _, values := range [][]string{
		{"Train", "100.10", "Sales", july + "-01", "The fair."},
		{"Taxi", "20.20", "Development", july + "-31", "It rained."},
		{"Hotel", "300", "Sales", fmt.Sprint(now.Year()-1) + "-08-01", "The fair."},
		{"Books", "9000", "Development", thisMonth.AddDate(0, -1, 0).Format(time.DateOnly), strings.Repeat("We read much. ", 200) + "The end."},
		{"Lamp", "40.5", "People", thisMonth.Format(time.DateOnly), "It was dark."},
		{"Desk", "59.5", "People", thisMonth.Format(time.DateOnly), ""},
	} {
		s.store(t, ben, ben+"-secret", expense, map[string]string{
			"what": values[0], "amount": values[1], "centre": values[2], "day": values[3], "why": values[4],
		})
	}
	return july, thisMonth
}

// editorTasks are what leads ask of the results.
func editorTasks(t *testing.T, s *site) {
	july, thisMonth := storeExpenses(t, s)
	const results = expense + "/results"
	p := &hand{page: s.as(t, eve, "/")}
	p.task("what was paid in July", results, 5, func() {
		p.filter("Day of payment", "is between")
		p.Fill("Value", july+"-01")
		p.Fill("and", july+"-31")
		p.press("Apply")
		p.want("1–2 of 2", "Train", "Taxi")
		p.wantNot("Hotel")
	})
	shared, rows := p.path(), p.tableText()
	p.task("the sum by cost centre", results, 4, func() {
		p.follow("Summary")
		p.Select("Compare by", "Cost centre")
		p.press("Compare")
		inOrder(t, p.Text(), "By Cost centre", "Sales", "400.1", "Development", "9,020.2", "People", "100")
	})
	p.task("last month beside this month", results, 2, func() {
		p.follow("Summary")
		p.Click("DisclosureTriangle", "Show as table How often each date of “Day of payment” occurs, by month")
		inOrder(t, p.Text(), "Day of payment", thisMonth.AddDate(0, -1, 0).Format("Jan 2006")+"\t1", thisMonth.Format("Jan 2006")+"\t2")
	})
	p.task("read all answers to a question", results, 2, func() {
		p.follow("Summary")
		p.follow("Show all 5 answers to “Why?”")
		p.want("The fair.", "It rained.", "It was dark.", "The end.")
		p.Check()
	})
	p.task("find the outlier", results, 2, func() {
		p.follow("Amount")
		p.follow("Amount")
		inOrder(t, p.tableText(), "Books", "Hotel", "Train")
	})
	p.task("print the table", results, 1, func() {
		p.follow("Print")
		p.want("1–6 of 6")
		testkit.Contains(t, "an answer is cut", p.Source(), "The end.")
		p.Check()
	})
	wantWholeOnPaper(t, s, p.path())
	p.task("share a view", shared, 0, func() {
		q := s.as(t, ben, p.path())
		testkit.Same(t, "what another editor sees", q.tableText(), rows)
		q = s.as(t, ann, p.path())
		q.want("My submissions", "You see your own submissions only.", "None of them matches.")
		q.Check()
	})
	p.goTo(results)
	browsertest.Eval[any](p.Page, `document.dir = "rtl"`)
	if wide := p.Overflow(); wide > 0 {
		t.Errorf("right to left it is %d pixels wider than the window", wide)
	}
}

// wantWholeOnPaper fails the test if answers are cut on paper, in the table and in the summary.
func wantWholeOnPaper(t *testing.T, s *site, table string) {
	t.Helper()
	printed := *s
	printed.options.Print = true
	q := printed.as(t, eve, table)
	for _, path := range []string{table, expense + "/results?view=summary"} {
		q.goTo(path)
		const heights = `Array.from(document.querySelectorAll(".long, .texts li"), e => e.scrollHeight - e.clientHeight).join()`
		if cut := browsertest.Eval[string](q.Page, heights); strings.Trim(cut, "0,") != "" {
			t.Errorf("%s: answers are cut on paper by %s pixels", path, cut)
		}
	}
}

// tableText is what the table of results shows.
func (p *page) tableText() string {
	p.t.Helper()
	return browsertest.Eval[string](p.Page, `document.querySelector("table.results").innerText`)
}

// employeeTasks are what people do with forms of others.
func employeeTasks(t *testing.T, s *site) {
	dir := t.TempDir()
	file := func(name string) string {
		testkit.WriteFile(t, filepath.Join(dir, name), name)
		return filepath.Join(dir, name)
	}
	p := &hand{page: s.as(t, ann, "/")}
	p.task("find the form", "/", 1, func() {
		p.follow("Expenses")
		p.wantPath(expense)
	})
	p.Fill("What was it?", "Bus")
	p.page.Attach("Receipts", file("one.txt"), file("two.txt"), file("three.txt"))
	p.press("Send")
	p.want("This is what was sent.")
	path, _, _ := strings.Cut(p.path(), "?")

	const mine = "My submission: Expenses"
	p.task("change one file of three", "/", 5, func() {
		p.follow(mine)
		p.follow("Change")
		p.Click("checkbox", "Remove two.txt")
		p.Attach("Receipts", file("four.txt"))
		p.press("Save")
		p.want("The changes are saved.", "one.txt (7 bytes)", "three.txt (9 bytes)", "four.txt (8 bytes)")
		if p.Has("link", "two.txt") {
			t.Error("the file is still there")
		}
	})
	s.as(t, eve, path).press("Refused")
	p.task("see what became of my request", "/", 1, func() {
		p.want("Refused")
		p.follow(mine)
		inOrder(t, p.Text(), "Refused", "Bus", "History", "Open →", "Refused")
	})
	p.task("withdraw it", "/", 3, func() {
		p.follow(mine)
		p.follow("Withdraw")
		p.press("Withdraw")
		p.want("was withdrawn.", "You have not sent anything yet.")
	})
}
