package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

// A page of an unknown address within a frame must not lead to another site.
func TestFramedErrorLeadsNowhereElse(t *testing.T) {
	e := newEnv(t, wiki)
	for _, path := range []string{"/embed//evil.example/x", "/embed///evil.example", "/embed//evil.example/../x"} {
		p := e.browser().get(path)
		p.want(404)
		if strings.Contains(p.body, "evil.example") {
			t.Errorf("%s: the page leads to another site:\n%s", path, p.body)
		}
	}
}

// A page that is refused repeats no long query in links.
func TestRefusedResultsAreSmall(t *testing.T) {
	e := newFeedback(t, "")
	for _, one := range []string{"filter=&", "filter[rating]=1&", "filter[a][b]=%22&", "sort=&", "q=a&", "limit=x&", "after=1&cursor=2&"} {
		path := feedbackResults + "?" + strings.Repeat(one, 8000/len(one))
		a := e.ask("alice", path)
		links := strings.Count(a.body, "<a ")
		if a.status != 422 || len(a.body) > 20_000 || links > 15 {
			t.Errorf("%s many times: status %d, %d bytes, %d links", one, a.status, len(a.body), links)
		}
	}
	path := feedbackResults + "?q=" + strings.Repeat("a", 8<<10)
	a := e.expect(414, "alice", path)
	if !strings.Contains(a.body, "longer than 8,192 bytes") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Errorf("a query that is too long: %v\n%s", a.header, a.body)
	}
	for _, format := range []string{".csv", ".xlsx", ".ndjson"} {
		e.expect(414, "alice", feedbackResults+format+"?filter[name]="+strings.Repeat("a", 8<<10))
	}
}

// A results page takes its slot before its query is read.
func TestRefusedResultsTakeASlot(t *testing.T) {
	e := newFeedback(t, "", func(o *envOptions) {
		o.request.Limits = request.DefaultLimits
		o.request.Limits.ListsPerUser = 1
	})
	e.get("alice", "/") // signs in
	c := e.site.Backend.NewCall(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody), auth.Identity{Name: "alice"})
	testkit.Must(t, c.HoldList())
	queries := map[string]int{
		"": 200, "?limit=x": 422, "?sort=nope": 422,
		"?_field=&_value=": 303, "?q=" + strings.Repeat("a", 8<<10): 414,
	}
	for query := range queries {
		e.expect(429, "alice", feedbackResults+query)
	}
	c.End()
	for query, status := range queries {
		e.expect(status, "alice", feedbackResults+query)
	}
	held := e.site.Backend.Limiters
	if lists, bodies, uploads := held.Lists.Taken(), held.Bodies.Taken(), held.Uploads.Taken(); lists+bodies+uploads != 0 {
		t.Errorf("slots are held: %d of lists, %d of bodies, %d of uploads", lists, bodies, uploads)
	}
}

// Each header of a column has a link that holds all filters.
func TestSortLinksAreBounded(t *testing.T) {
	var page strings.Builder
	page.WriteString("---\ntitle: Wide\n---\n```yaml form\nform: wide\nfields:\n")
	for i := range markup.MaxFields {
		fmt.Fprintf(&page, "  - {id: c%d, type: textfield, label: C}\n", i)
	}
	page.WriteString("```\n")
	_, b := newAlice(t, map[string]string{"1-wide.md": page.String()})
	b.fill("/page/1/form/wide", "c1", "x").want(200)
	query := url.Values{"filter[c0][not-equals]": {strings.Repeat("x", 4000)}}
	p := b.get("/page/1/form/wide/results?view=table&" + query.Encode())
	p.want(200, "C")
	if len(p.body) > 2<<20 {
		t.Errorf("the page has %d bytes", len(p.body))
	}
	if p := b.get("/page/1/form/wide/results?view=table"); !strings.Contains(p.body, "?view=table&amp;sort=c999") {
		t.Error("without filters, the columns have no links")
	}
}

// largeForm has a definition that takes a slot.
func largeForm(id string) string {
	text := "```yaml form\nform: " + id + "\nfields:\n"
	options := "&options [" + strings.Repeat("an option, ", 200) + "other]"
	for i := range 20 {
		text += fmt.Sprintf("  - {id: f%d, type: dropdown, label: F, options: %s}\n", i, options)
		options = "*options"
	}
	return text + "```\n"
}

func numbered(text string) string {
	for i := 0; strings.Contains(text, "an option"); i++ {
		text = strings.Replace(text, "an option", fmt.Sprintf("choice %d", i), 1)
	}
	return text
}

// A page has room for so many questions. Other forms have a page of their own.
func TestPageHasRoomForSomeForms(t *testing.T) {
	page := "---\ntitle: Large\n---\n"
	for i := range 8 {
		page += numbered(largeForm(fmt.Sprintf("large%d", i)))
	}
	e := newEnv(t, map[string]string{"1-large.md": page})
	p := e.signedIn("alice").get("/page/1")
	p.want(200, "Fill in this form")
	if forms := strings.Count(p.body, "data-send"); forms == 0 || forms > 6 {
		t.Errorf("the page shows %d forms", forms)
	}
	if p.link("Fill in this form") == "" {
		t.Error("no link to a form that the page has no room for")
	}
}

// A form that the page has no room for takes none from those after it.
func TestFormWithoutRoomTakesNone(t *testing.T) {
	page := "---\ntitle: Large\n---\n```yaml form\nform: huge\nfields:\n"
	help := "&help h" + strings.Repeat("'", 1000) // HTML writes each in five bytes
	for i := range 300 {
		page += fmt.Sprintf("  - {id: f%d, type: textfield, label: F, help: %s}\n", i, help)
		help = "*help"
	}
	page += "```\n```yaml form\nform: small\nfields:\n  - {id: text, type: textfield, label: Text}\n```\n"
	e := newEnv(t, map[string]string{"1-large.md": page})
	p := e.signedIn("alice").get("/page/1")
	p.want(200, "Fill in this form", "Text")
	testkit.Same(t, "the page shows forms", strings.Count(p.body, "data-send"), 1)
}

// holdBodies takes all slots for large bodies that a user has.
func (e *env) holdBodies(user string) (release func()) {
	e.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	var calls []*request.Call
	for range request.DefaultLimits.LargeBodiesPerUser {
		c := e.site.Backend.NewCall(httptest.NewRecorder(), r, auth.Identity{Name: user})
		testkit.Must(e.t, c.HoldBody())
		calls = append(calls, c)
	}
	return func() {
		for _, c := range calls {
			c.End()
		}
	}
}

// Every page over 64 KiB takes a slot: a user who holds too many has to wait.
func TestLargePagesTakeASlot(t *testing.T) {
	e := newEnv(t, map[string]string{
		"1-large.md":  "---\ntitle: Large\n---\n" + numbered(largeForm("large")),
		"2-survey.md": wiki["1-survey.md"],
		"3-text.md":   "---\ntitle: Text\n---\n" + strings.Repeat("a paragraph of text\n\n", 4000) + "```form\nform: f\nfields:\n  - {id: a, type: textfield}\n```\n",
	})
	b := e.signedIn("alice")
	small := b.get("/page/2/form/survey")
	long := with(small.values(), "comment", strings.Repeat("<", 20_000)) // 80,000 bytes of HTML
	sent := strings.TrimSuffix(b.send("/page/2/form/survey", long).path, "?sent")
	release := e.holdBodies("alice")
	large := map[string]func() *answer{
		"a form":             func() *answer { return b.get("/page/1/form/large") },
		"a page with a form": func() *answer { return b.get("/page/1") },
		"a page with a text": func() *answer { return b.get("/page/3") },
		"a submission":       func() *answer { return b.get(sent) },
		"a change":           func() *answer { return b.get(sent + "/change") },
		"results": func() *answer {
			return b.get("/page/2/form/survey/results?q=" + strings.Repeat("%3C", 1000) + "&" + strings.Repeat("filter[comment][contains]=%3C&", 10))
		},
		"a form that is refused": func() *answer { return b.send("/page/2/form/survey", with(long, "mail", "none")) },
	}
	for what, get := range large {
		if p := get(); p.status != 429 || p.header.Get("Retry-After") == "" {
			t.Errorf("%s: status %d, want 429 with Retry-After", what, p.status)
		}
	}
	b.get("/page/2/form/survey").want(200)
	b.get("/page/2").want(200)
	b.get(sent + "/delete").want(200) // it shows a part of each answer
	e.signedIn("bob").get("/page/1/form/large").want(200)
	release()
	for what, get := range large {
		if p := get(); p.status == 429 || len(p.body) <= request.LargeBody {
			t.Errorf("%s: status %d, %d bytes", what, p.status, len(p.body))
		}
	}
	testkit.Same(t, "slots are still held", e.site.Backend.Limiters.Bodies.Taken(), 0)
}

// Large pages are rendered on half of the cores. Others do not wait for them.
func TestLargePagesWaitForTheirTurn(t *testing.T) {
	e := newEnv(t, map[string]string{
		"1-large.md":  "---\ntitle: Large\n---\n" + numbered(largeForm("large")),
		"2-survey.md": wiki["1-survey.md"],
	})
	b := e.signedIn("alice")
	for range cap(e.site.turns) {
		e.site.turns <- struct{}{}
	}
	done := make(chan *answer)
	go func() { done <- b.get("/page/1/form/large") }()
	testkit.Eventually(t, "the page waits", func() bool { return e.site.Backend.Limiters.Bodies.Taken() == 1 })
	b.get("/page/2/form/survey").want(200)
	select {
	case p := <-done:
		t.Errorf("status %d although others are rendered", p.status)
	default:
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c := e.site.newCall(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil), frame{})
	testkit.ErrorIs(t, "a request that was given up", c.holdPage(request.LargeBody+1), context.Canceled)
	c.End()
	for range cap(e.site.turns) {
		<-e.site.turns
	}
	(<-done).want(200)
	testkit.Same(t, "turns are not ended", len(e.site.turns), 0)
}

// A page that would be too large is an error, and says so.
func TestPageThatIsTooLarge(t *testing.T) {
	e, b := newAlice(t, map[string]string{"1-huge.md": "```form\n" + quotedForm("huge", 10, 700) + "```\n"})
	p := b.get("/page/1/form/huge")
	p.want(500, "too large")
	if len(p.body) > request.LargeBody || e.site.Backend.Limiters.Bodies.Taken() != 0 || len(e.site.turns) != 0 {
		t.Errorf("%d bytes, %d slots, %d turns", len(p.body), e.site.Backend.Limiters.Bodies.Taken(), len(e.site.turns))
	}
	b.get("/page/1").want(200, "Fill in this form")
}

// A table has a limited number of values, of which each has an element of its own. Half of
// the rows are left out if its HTML does not fit on a page.
func TestTableIsBounded(t *testing.T) {
	const rows, fields = 41, markup.MaxFields
	text := ""
	for i := range fields {
		text += fmt.Sprintf("  - {id: c%d, type: checkbox, label: C}\n", i)
	}
	for value, want := range map[string]int{
		"a": maxValues / (fields + 1), strings.Repeat("a;", 20): maxValues / (20*fields + 1), strings.Repeat(`"`, 40): 19,
	} {
		e := newEnv(t, page1("", "form: wide\nfields:\n"+text))
		var answers []string
		for i := range fields {
			answers = append(answers, fmt.Sprintf("c%d", i), value)
		}
		for range rows {
			e.submit("alice", 1, "wide", answers...)
		}
		page := e.get("alice", "/page/1/form/wide/results?view=table&limit=200")
		if shown := len(rowIDs(page)); shown != want || !strings.Contains(page.body, "The table is cut here") {
			t.Errorf("%q: %d rows, want %d; or the page does not say that they are cut", value, shown, want)
		}
		e.get("alice", "/page/1/form/wide/results?view=table&limit=1").wantNoHTML("The table is cut here")
	}
}
