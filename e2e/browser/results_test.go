package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

const lunch = "/page/6/form/lunch"

const request = "/page/8/form/leave"

// store sends answers by the API.
func (s *site) store(t testing.TB, user, password, form string, values map[string]string) {
	t.Helper()
	fields := map[string]any{}
	for id, value := range values {
		fields[id] = map[string]string{"fieldId": id, "value": value}
	}
	body, err := json.Marshal(map[string]any{"fields": fields})
	testkit.Must(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/rest/forms/1.0"+form+"/submission", bytes.NewReader(body))
	testkit.Must(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(user, password)
	resp, err := http.DefaultClient.Do(r)
	testkit.Must(t, err)
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusCreated {
		t.Fatalf("store a submission: %s", resp.Status)
	}
}

// rows are the notes in the table of results, from top to bottom.
func (p *page) rows() string {
	p.t.Helper()
	const notes = `Array.from(document.querySelectorAll("table.results tbody tr td:nth-child(6)"), cell => cell.textContent).join()`
	return browsertest.Eval[string](p.Page, notes)
}

func (p *page) wantRows(want string) {
	p.t.Helper()
	if got := p.rows(); got != want {
		p.t.Errorf("%s: rows %s, want %s", p.path(), got, want)
	}
}

// filterBy adds a filter. With JavaScript its controls follow the field at once.
func (p *page) filterBy(field, condition, value string) {
	p.t.Helper()
	p.Select("Filter by", field)
	p.Select("Condition", condition)
	p.In("Values").Click("checkbox", value)
	p.press("Apply")
}

func results(t *testing.T, s *site) {
	p := s.as(t, eve, lunch+"/results")
	p.want("Nobody has sent anything yet.")
	p.Check()
	for i, dish := range []string{"Soup", "Stew", "Soup", "Salad", "Soup"} {
		s.store(t, eve, eve+"-secret", lunch, map[string]string{
			"dish": dish, "price": fmt.Sprint(9 - i), "days": "Monday;Tuesday", "state": "new", "note": fmt.Sprint("n", i),
		})
	}
	s.store(t, ann, ann+"-secret", lunch, map[string]string{"dish": "Stew", "price": "7.5", "note": "n5"})

	// All of it, page by page.
	p.goTo(lunch + "/results?limit=4")
	p.want("6 submissions", "Submissions over time", "Dish", "Fair price")
	p.Check()
	p.follow("Table")
	p.wantRows("n5,n4,n3,n2")
	p.Check()
	p.follow("Next")
	p.wantRows("n1,n0")
	p.want("5–6 of 6")
	p.follow("Previous")
	p.wantRows("n5,n4,n3,n2")

	// Filtered by a question, and searched.
	p.filterBy("Dish", "is one of", "Soup")
	p.wantRows("n4,n2,n0")
	p.follow("Summary")
	p.want("3 submissions")
	p.follow("Table")
	p.wantRows("n4,n2,n0")
	for _, format := range []string{"csv", "xlsx", "ndjson"} {
		link := browsertest.Eval[string](p.Page, fmt.Sprintf(`document.querySelector('a[href*="results.%s"]').href`, format))
		if !strings.Contains(link, "filter%5Bdish%5D%5Bone-of%5D=Soup") || strings.Contains(link, "limit=") {
			t.Errorf("the export is %s", link)
		}
	}
	p.filterBy("Days", "includes", "Monday")
	p.wantRows("n4,n2,n0")
	p.Fill("Search", "N2")
	p.press("Apply")
	p.wantRows("n2")
	p.goTo(lunch + "/results?view=table")
	p.Select("Filter by", "Fair price")
	p.Select("Condition", "is above")
	p.Fill("Value", "7,25")
	p.press("Apply")
	p.wantRows("n5,n1,n0")
	p.want("Fair price is above 7.25")
	p.Select("Filter by", "Fair price")
	p.wantNot("\nand\n") // the second bound shows for a range only
	p.Select("Condition", "is between")
	p.Fill("Value", "7,25")
	p.Fill("and", "8")
	p.press("Apply")
	p.wantRows("n5,n1")
	p.want("Fair price is between 7.25 and 8")
	p.goTo(lunch + "/results?filter[dish]=Soup&q=N2&view=table")
	p.follow("Remove this filter: Dish is Soup")
	p.wantRows("n2")
	p.goTo(lunch + "/results?filter[price][greater-than]=many")
	p.wantStatus(http.StatusUnprocessableEntity)
	p.want("There is a problem")
	p.Check()

	// Sorted, up and down.
	p.goTo(lunch + "/results?view=table")
	p.follow("Fair price")
	p.wantRows("n4,n3,n2,n5,n1,n0")
	p.follow("Fair price")
	p.wantRows("n0,n1,n5,n2,n3,n4")

	// Some columns, without a script.
	p.Click("button", "Columns")
	p.Select("First column", "Days")
	for _, column := range []string{"Sent by", "State", "Sent", "Changed", "Number"} {
		p.In("Columns").Click("checkbox", column)
	}
	p.Check()
	p.press("Show")
	head := `Array.from(document.querySelectorAll(".results thead th"), cell => cell.textContent).join()`
	testkit.Same(t, "columns", browsertest.Eval[string](p.Page, head), "Days,Dish,Fair price,Note")
	p.Check()
	p.follow("All columns")

	// From a row to its submission. Viewers see their own.
	first := `(a => a.pathname + a.search)(document.querySelector("table.results tbody th a"))`
	p.goTo(browsertest.Eval[string](p.Page, first)) // other rows have links of the same name
	p.want("n0", "from eve")
	p.follow("Next")
	p.want("n1")
	p.follow("Previous")
	p.Check()
	p.follow("Results")
	p.wantRows("n0,n1,n5,n2,n3,n4")
	q := s.as(t, ann, lunch+"/results")
	q.want("My submissions", "1–1 of 1", "Stew")
	q.wantNot("Filter by")
	q.Check()
}

// editorAnswers has an editor grant what somebody asks for with one press, and both
// see it.
func editorAnswers(t *testing.T, s *site) {
	s.store(t, ann, ann+"-secret", request, map[string]string{"first": "2026-03-02", "kind": "Holiday"})
	p := s.as(t, eve, request+"/results?sort=first")
	p.follow(strings.TrimSpace(browsertest.Eval[string](p.Page, `document.querySelector("table.results tbody th a").textContent`)))
	p.Check()
	path, _, _ := strings.Cut(p.path(), "?")
	pressed := func() string {
		return browsertest.Eval[string](p.Page, `document.querySelector("[aria-pressed=true]").textContent`)
	}
	testkit.Same(t, "pressed", pressed(), "Asked for")
	open := s.as(t, ann, path)
	open.Check()
	p.Fill("Note", "Have fun.")
	p.press("Granted")
	p.want("Leave from ann", "Saved", "Changed by eve", "2 questions without an answer", "History", "Asked for →")
	p.wantValue("Note", "Have fun.") // a press does not lose it
	testkit.Same(t, "pressed after Granted", pressed(), "Granted")
	testkit.Same(t, "focus", p.Focused(), `button "Granted"`)
	p.Check()
	open.follow("Withdraw")
	open.wantStatus(http.StatusForbidden)
	open.goTo(path)
	open.want("Only editors can change it now.", "Asked for →")
	open.wantNot("Withdraw", "Remove earlier values")
	open.Check()
	browsertest.Eval[any](p.Page, `document.querySelector(".history details").open = true, 0`)
	p.Check()
	p.press("Remove")
	p.want("Earlier values were removed.")
	p.wantNot("Asked for →")
	p.follow("Results")
	p.wantPath(request + "/results?sort=first#submissions")
	q := s.as(t, ann, request+"/results")
	q.want("2 Mar 2026 · Holiday", "Granted")
	p.wantNot("UTC") // times are those of the reader
	q.goTo(request)
	testkit.Same(t, "choices on paper",
		browsertest.Eval[int](q.Page,
			`dispatchEvent(new Event("beforeprint")) && document.querySelectorAll(".paper-choices li").length`),
		2,
	)
	testkit.Same(t, "what is for paper stays on the screen",
		browsertest.Eval[int](q.Page,
			`dispatchEvent(new Event("afterprint")) && document.querySelectorAll(".paper-choices").length`),
		0,
	)
}

// TestPickers: what a button of the results shows stands below it, within the window. The Escape key and a click
// elsewhere close it, also without a script.
func TestPickers(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{})
	s.store(t, ann, ann+"-secret", lunch, map[string]string{"dish": "Soup"})
	for _, options := range []browsertest.Options{{}, {Width: 360, Height: 1000, NoScript: true}} {
		s.options = options
		s.options.Shell = true
		p := s.as(t, eve, lunch+"/results?view=table")
		for _, button := range []string{"Columns", "More formats"} {
			const open = `document.querySelectorAll(":popover-open").length`
			wantOpen := func(when string, want int) {
				t.Helper()
				p.Wait(when, func() bool { return browsertest.Eval[int](p.Page, open) == want })
			}
			p.Click("button", button)
			wantOpen(button+" opens", 1)
			const place = `(() => {
				const shown = document.querySelector(":popover-open"), box = shown.getBoundingClientRect();
				const inside = box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
				return inside && box.top >= shown.previousElementSibling.getBoundingClientRect().bottom;
			})()`
			if !browsertest.Eval[bool](p.Page, place) {
				t.Errorf("%s: %q opens elsewhere", p, button)
			}
			p.Press("Escape")
			wantOpen("Escape closes "+button, 0)
			p.Click("button", button)
			wantOpen(button+" opens again", 1)
			p.Click("heading", "Lunch Results")
			wantOpen("a click elsewhere closes "+button, 0)
		}
	}
}

// TestFrameOfTable: a wide table begins where the title does, and ends before the end of the window. Tabs
// have the same place in both views.
func TestFrameOfTable(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{Width: 1700, Height: 900})
	s.store(t, ann, ann+"-secret", lunch, map[string]string{"dish": "Soup"})
	p := s.as(t, eve, lunch+"/results?view=summary")
	const tabs = `Array.from(document.querySelectorAll(".tabs a, h1"), e => Object.values(e.getBoundingClientRect().toJSON()).join()).join(" ")`
	before := browsertest.Eval[string](p.Page, tabs)
	p.follow("Table")
	testkit.Same(t, "tabs", browsertest.Eval[string](p.Page, tabs), before)
	const edges = `(() => {
		document.querySelector(".results").style.minWidth = "3000px";
		const box = s => document.querySelector(s).getBoundingClientRect();
		return [box(".scroll").left - box("h1").left, box("html").right - box(".scroll").right].map(Math.round).join();
	})()`
	testkit.Same(t, "from the title and the end of the window", browsertest.Eval[string](p.Page, edges), "0,16")
	testkit.Same(t, "overflow", p.Overflow(), 0)
}
