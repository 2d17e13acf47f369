package web

import (
	"encoding/csv"
	"fmt"
	stdhtml "html"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

const (
	feedbackResults = "/page/1/form/feedback/results"
	feedbackTable   = feedbackResults + "?view=table"
)

const smallForm = `form: feedback
fields:
  - {id: name, type: textfield, label: Name}
  - {id: state, type: status, label: State, options: [New, Open, Done]}
  - {id: score, type: textfield, label: Score, validate: numeric}
  - {id: topics, type: checkbox, label: Topics, options: [Food, Room]}
`

// newFeedback is a form with four submissions, by alice, bob, alice and carol.
func newFeedback(t *testing.T, front string, change ...func(*envOptions)) *env {
	t.Helper()
	e := newEnv(t, page1(front, smallForm), change...)
	e.submit("alice", 1, "feedback", "name", "Ann", "state", "New", "score", "9", "topics", "Food;Room")
	e.submit("bob", 1, "feedback", "name", "Ben", "state", "Done", "score", "10")
	e.submit("alice", 1, "feedback", "name", "Ann Two", "state", "Open", "score", "-3.5")
	e.submit("carol", 1, "feedback", "name", "cleo", "state", "Open")
	return e
}

// tableRows are the texts of the table of a class: its header, and the rows below.
func (a *answer) tableRows(class string) [][]string {
	var rows [][]string
	for _, tr := range a.find("table." + class + " tr") {
		rows = append(rows, textsOf(slices.DeleteFunc(slices.Collect(tr.ChildNodes()), func(n *html.Node) bool { return n.Type != html.ElementNode })))
	}
	return rows
}

// rowPaths are the paths of the submissions that a page lists.
func rowPaths(page *answer) (paths []string) {
	for _, a := range page.find(`[scope="row"] a`) {
		if path := attribute(a, "href"); strings.Contains(path, "/submission/") {
			paths = append(paths, path)
		}
	}
	for _, item := range page.mine() {
		paths = append(paths, item[0])
	}
	return paths
}

// rowIDs are the ids of the submissions that a page lists.
func rowIDs(page *answer) (ids []string) {
	for _, path := range rowPaths(page) {
		_, id, _ := strings.Cut(path, "/submission/")
		id, _, _ = strings.Cut(id, "?")
		ids = append(ids, id)
	}
	return ids
}

// pathOf is the path of a submission that a page lists.
func pathOf(page *answer, id string) string { return rowPaths(page)[slices.Index(rowIDs(page), id)] }

// mine are path and text of the submissions in the list of somebody's own.
func (a *answer) mine() (items [][2]string) {
	for _, li := range a.find(".rows li") {
		if len(find(li, ".row-name")) == 0 {
			continue // of a menu
		}
		text := textOf(li)
		for _, menu := range find(li, ".picker") {
			text = strings.TrimSuffix(text, " "+textOf(menu))
		}
		items = append(items, [2]string{attribute(find(li, "a")[0], "href"), text})
	}
	return items
}

func TestResultsTable(t *testing.T) {
	e := newFeedback(t, "")
	a := e.expect(200, "alice", feedbackTable)
	testkit.Same(t, "Cache-Control", a.header.Get("Cache-Control"), "no-store")
	want := [][]string{
		{"Sent by", "Name", "State", "Score", "Topics", "Sent (UTC)", "Number"},
		{"carol", "cleo", "Open", "", "", "15 Nov 2025, 12:03", "4"},
		{"alice", "Ann Two", "Open", "-3.5", "", "15 Nov 2025, 12:03", "3"},
		{"bob", "Ben", "Done", "10", "", "15 Nov 2025, 12:03", "2"},
		{"alice", "Ann", "New", "9", "Food Room", "15 Nov 2025, 12:03", "1"},
	}
	testkit.Diff(t, "rows, newest first", a.tableRows("results"), want)
	for text, want := range map[string]string{
		"Number": feedbackTable + "&order=asc#submissions", "Name": feedbackTable + "&sort=name#submissions",
		"carol": "/page/1/form/feedback/submission/4?view=table",
	} {
		testkit.Same(t, text, a.link(text), want)
	}
	a.wantHTML(
		`<caption class="visually-hidden">Submissions, newest first</caption>`, `aria-sort="descending"><a dir="auto" href="/page/1/form/feedback/results?view=table&amp;order=asc#submissions"`,
		`<time datetime="2025-11-15T12:03:05Z">`, `<bdi class="lozenge color-grey">Open</bdi>`, `<td class="number" data-card="Score"><bdi>-3.5</bdi></td>`,
		`<span class="tag" dir="auto">Food</span>`, `<section class="scroll" aria-label="Results" tabindex="0">`,
	)
	a.wantNoHTML(" style=", "<!--")
}

func TestResultsParameters(t *testing.T) {
	e := newFeedback(t, "")
	for query, want := range map[string][]string{
		"q=ANN&username=alice&order=asc":   {"1", "3"},
		"format=csv&count=maybe&unknown=1": {"4", "3", "2", "1"},
	} {
		testkit.Diff(t, query, rowIDs(e.get("alice", feedbackTable+"&"+query)), want)
	}
	page := e.get("alice", feedbackResults+"?sort=score&q=n&limit=20")
	page.wantHTML(
		`<th scope="col" class="number" aria-sort="ascending"><a dir="auto" href="/page/1/form/feedback/results?limit=20&amp;q=n&amp;view=table&amp;sort=-score#submissions">Score</a></th>`,
		`<caption class="visually-hidden">Submissions by “Score”, ascending</caption>`,
		`<input type="hidden" name="limit" value="20">`, `<input type="hidden" name="sort" value="score">`,
		"Export (in order of sending):",
	)
}

// TestResultsCompareNumbers has the page and its exports compare numbers as people do. The
// API compares texts.
func TestResultsCompareNumbers(t *testing.T) {
	e := newEnv(t, page1("", smallForm))
	for _, score := range []string{"9.80", "9.8"} {
		e.submit("alice", 1, "feedback", "name", "9.80", "score", score)
	}
	testkit.Same(t, "rows by a text", len(rowIDs(e.get("alice", feedbackTable+"&filter[name]=9.8"))), 0)
	const query = "filter[score]=9.8"
	testkit.Same(t, "rows", len(rowIDs(e.get("alice", feedbackTable+"&"+query))), 2)
	testkit.Same(t, "rows of the export", strings.Count(e.get("alice", feedbackResults+".ndjson?"+query).body, "\n"), 2)
	testkit.Same(t, "rows of the API", strings.Count(e.list("alice", "feedback", query+"&format=ndjson"), "\n"), 1)
}

func TestResultsRefuseBadParameters(t *testing.T) {
	e := newFeedback(t, "")
	for query, want := range map[string]string{
		"limit=201":                            "limit must be at most 200 on this page",
		"filter[nope]=1":                       "the form has no such field",
		"_field=&_value=x":                     `<a href="#filter-field">Choose what to filter by</a>`,
		"_field=score&_operator=less-than":     `<a href="#filter-value">“Value” is required`,
		"_field=score&_operator=near&_value=1": "has an unknown operator",
	} {
		e.expect(422, "alice", feedbackResults+"?"+query).wantHTML(want, "<title>Error: ", "There is a problem")
	}
	page := e.expect(422, "alice",
		feedbackResults+"?q=two+words&filter[name][contains]=A&_field=score&_operator=greater-than&_value=%22abc")
	page.wantHTML(
		`name="q" value="two words"`, `<option value="score" selected>`, `<option value="greater-than" selected>`, `value="&#34;abc"`,
		`<input type="hidden" name="filter[name][contains]" value="A">`,
	)
}

// TestFilterForm has the form's controls become parameters of a list. TestFiltersThatAreAdded tries all operators.
func TestFilterForm(t *testing.T) {
	e := newFeedback(t, "")
	for sent, want := range map[string]string{
		"q=&_field=&_operator=equals&_value=":                        "",
		"q=x&_field=&_operator=equals&_value=":                       "?q=x",
		"q=&_field=state&_operator=equals&_value=Open":               "?filter%5Bstate%5D%5Bequals%5D=Open",
		"q=&_field=state&_operator=not-empty&_value=left+over":       "?filter%5Bstate%5D%5Bnot-empty%5D=",
		"q=a&limit=20&sort=name&filter[name]=x&_field=name&_value=y": "?filter%5Bname%5D=x&filter%5Bname%5D%5Bequals%5D=y&limit=20&q=a&sort=name&view=table",
		"q=&after=3&order=asc&deleted=4":                             "?order=asc&view=table", // the first page
	} {
		testkit.Same(t, sent, e.expect(303, "alice", feedbackResults+"?"+sent).location(), feedbackResults+want)
	}
	// Each active filter has a link that removes it alone.
	page := e.get("alice", feedbackResults+"?filter[name]=a&filter[name]=b&username=bob")
	for _, want := range []string{
		"?filter%5Bname%5D=b&amp;username=bob", "?filter%5Bname%5D=a&amp;username=bob", "?filter%5Bname%5D=a&amp;filter%5Bname%5D=b",
	} {
		page.wantHTML(`<a class="no-print" href="` + feedbackResults + want + `">Remove`)
	}
}

func TestResultsRights(t *testing.T) {
	e := newFeedback(t, "view: [alice, bob, carol]\nedit: [carol]\n")
	check := func(user, heading string, want ...string) {
		t.Helper()
		page := e.get(user, feedbackTable)
		testkit.Diff(t, "what "+user+" sees", rowIDs(page), want)
		page.wantHTML(`<span class="from">`+heading+"</span></h1>", fmt.Sprintf("1–%d of %[1]d", len(want)))
	}
	check("carol", "Results", "4", "3", "2", "1")
	check("bob", "My submissions", "2")
	check("alice", "My submissions", "3", "1")
	// bob asks for another's.
	page := e.get("bob", feedbackResults+"?username=alice")
	testkit.Diff(t, "rows of alice", rowIDs(page), []string(nil))
	page.want(200, "You see your own submissions only.")
	page.wantNoHTML("No submission matches")
	for _, path := range []string{"", ".csv", ".xlsx", ".ndjson"} {
		e.expect(404, "dave", feedbackResults+path)
		e.expect(303, "", feedbackResults+path)
	}
	csv := e.get("bob", feedbackResults+".csv")
	csv.wantHTML("Ben")
	csv.wantNoHTML("Ann")
	e.edit(page1("edit: [carol]\nresults: viewers\n", smallForm))
	check("dave", "Results", "4", "3", "2", "1")
	// Rights that are taken away count at once, also for summaries that are kept.
	e.edit(page1("edit: [carol]\n", smallForm))
	check("bob", "My submissions", "2")
	none := e.get("dave", feedbackResults)
	none.want(200, "You have not sent anything yet.")
	none.wantNoHTML("<strong>") // of a summary
}

// TestMySubmissions is a plain list with answers, state and day, and exports.
func TestMySubmissions(t *testing.T) {
	e := newFeedback(t, "edit: [carol]\n")
	page := e.get("alice", feedbackResults+"?limit=1")
	want := [][2]string{{"/page/1/form/feedback/submission/3?limit=1", "Ann Two · -3.5 State Open 15 Nov 2025, 12:03 UTC Change Ann Two · -3.5"}}
	testkit.Diff(t, "cmp.Diff(want, page.mine())", page.mine(), want)
	page.wantNoHTML("<table", "Filter by", `type="search"`, "Summary")
	testkit.Same(t, "links to exports", len(exportPattern.FindAllString(page.body, -1)), 3)
	last := e.get("alice", page.link("Next"))
	testkit.Diff(t, "the second page", last.rows(),
		[]string{"Ann · 9 · Food, Room State New 15 Nov 2025, 12:03 UTC Change Ann · 9 · Food, Room"})
	testkit.Same(t, "the second page", rangeOf(last), "2–2 of 2")
	if last.link("Previous") == "" {
		t.Error("no way back")
	}
}

// TestResultsShowChanges tells who has changed a submission, and when.
func TestResultsShowChanges(t *testing.T) {
	e := newFeedback(t, "edit: [carol]\n")
	e.get("carol", feedbackTable).wantNoHTML(">Changed<span")
	e.Clock.Advance(26 * time.Hour)
	delete(e.users, "carol") // the session has ended
	changed := e.signedIn("carol").fill("/page/1/form/feedback/submission/2/change", "name", "Benjamin")
	changed.want(200,
		"Feedback from bob Submission 2 Sent on 15 Nov 2025, 12:03 UTC Changed by carol on 16 Nov 2025, 14:03 UTC")
	for _, query := range []string{"", "&sort=name", "&filter[_changed]=2025-11-16"} {
		page := e.get("carol", feedbackTable+query)
		for i, row := range page.tableRows("results") {
			want := ""
			if i == 0 {
				want = "Changed (UTC)"
			} else if row[7] == "2" {
				want = "16 Nov 2025, 14:03 carol"
			}
			if row[6] != want {
				t.Errorf("%s: row %d has %q, want %q", query, i, row[6], want)
			}
		}
	}
	e.get("carol", "/page/1/form/feedback/submission/1").wantNoHTML("Changed by")
	file := e.get("carol", feedbackResults+".csv?labels=false&bom=false&columns=_changed&columns=_id")
	wantStart(t, "exported", file.body, "_changed,_id\r\n,1\r\n2025-11-16T14:03:")
}

func TestResultsEmpty(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", smallForm))
	for _, c := range []struct{ user, query, want string }{
		{"carol", "", "Nobody has sent anything yet."},
		{"alice", "", "You have not sent anything yet."},
		{"carol", "?q=x", `No submission matches. <a href="/page/1/form/feedback/results">Show all</a>`},
	} {
		page := e.get(c.user, feedbackResults+c.query)
		page.wantHTML(c.want)
		page.wantNoHTML("<table")
	}
}

// TestResultsRetired has answers to fields that have left the page.
func TestResultsRetired(t *testing.T) {
	e := newFeedback(t, "")
	e.edit(page1("", "form: feedback\nfields:\n  - {id: state, type: textfield, label: State}\n"))
	e.submit("alice", 1, "feedback", "state", "x")
	page := e.get("alice", feedbackTable)
	var got []string
	for _, row := range page.tableRows("results") {
		got = append(got, strings.Join(row[1:len(row)-2], "|")) // from the user name to the time
	}
	// Every row is filled up to the width of the others.
	want := []string{"State|name|score|topics", "x|||", "Open|cleo||", "Open|Ann Two|-3.5|", "Done|Ben|10|", "New|Ann|9|Food;Room"}
	testkit.Diff(t, "columns of fields that have left the page", got, want)
	e.get("alice", feedbackTable+"&q=state").wantNoHTML("sort=name") // no row has it
	testkit.Diff(t, "filtered by it", rowIDs(e.get("alice", feedbackTable+"&filter[name]=Ben")), []string{"2"})
}

// TestResultsManyRetired bounds the columns, and says what is left out.
func TestResultsManyRetired(t *testing.T) {
	e := newEnv(t, page1("", smallForm))
	var entries []forms.Entry
	for i := range maxRetired + 7 {
		entries = append(entries, forms.Entry{FieldID: fmt.Sprintf("old%d", i), Value: "x"})
	}
	_, err := e.Store.Create(t.Context(), store.New{PageID: 1, FormID: "feedback", Username: "bob", Created: began, Entries: entries})
	testkit.Must(t, err)
	page := e.get("alice", feedbackTable)
	testkit.Same(t, "columns", strings.Count(strings.Join(page.tableRows("results")[1], " "), "x"), maxRetired)
	page.want(200, "7 answers to questions that have left the page")
}

func TestResultsLongValues(t *testing.T) {
	e := newEnv(t, page1("", smallForm))
	e.submit("alice", 1, "feedback", "name", strings.Repeat("é", 400_000))
	page := e.get("alice", feedbackTable)
	page.wantHTML(strings.Repeat("é", 500) + "…</bdi></td>")
	if len(page.body) > 60_000 {
		t.Errorf("a long value makes a page of %d bytes", len(page.body))
	}
}

func TestResultsFiles(t *testing.T) {
	e := newEnv(t, page1("", "form: docs\nfields:\n  - {id: doc, type: file, label: Document}\n"))
	e.submit("alice", 1, "docs", "doc", `a "b".pdf;c.txt`)
	page := e.get("alice", "/page/1/form/docs/results?view=table")
	testkit.Diff(t, "names of files", textsOf(page.find(".tag")), []string{`a "b".pdf`, "c.txt"})
}

var exportPattern = regexp.MustCompile(`<a download href="([^"]+)">(?:<svg.*?</svg>)?(CSV|Excel|NDJSON)</a>`)

// TestResultsExport follows the links of a page, and finds what the API has for
// the same filters.
func TestResultsExport(t *testing.T) {
	e := newFeedback(t, "")
	e.edit(page1("", strings.Replace(smallForm, "\n", "\ntitle: 'What /we: think?'\n", 1)))
	for query, list := range map[string]string{
		"":                                    "order=desc",
		"?order=asc&limit=1":                  "",
		"?filter[name][contains]=Ann&limit=1": "filter[name][contains]=Ann&order=desc",
		"?q=ann&sort=-score&limit=1":          "q=ann",
		"?username=bob":                       "username=bob&order=desc",
	} {
		links := exportPattern.FindAllStringSubmatch(e.get("alice", feedbackResults+query).body, -1)
		if len(links) != 3 {
			t.Fatalf("%s: %d links to exports, want 3", query, len(links))
		}
		for _, link := range links {
			a := e.expect(200, "alice", stdhtml.UnescapeString(link[1]))
			address, _, _ := strings.Cut(link[1], "?")
			format := strings.TrimPrefix(path.Ext(address), ".")
			plain := e.get("alice", stdhtml.UnescapeString(link[1])+"&labels=false").body
			if want := e.list("alice", "feedback", list+"&bom=true&format="+format); plain != want {
				t.Errorf("%s: %s is\n%s\nwant\n%s", query, link[2], plain, want)
			}
			name := `attachment; filename="What _we_ think_-2025-11-15.` + format + `"`
			if got := a.header.Get("Content-Disposition"); format != "ndjson" && !strings.HasPrefix(got, name) {
				t.Errorf("%s has the disposition %s, want %s", link[2], got, name)
			}
		}
	}
	// The position and the format of a page mean nothing for an export.
	text := e.get("alice", feedbackResults+".csv?limit=1&after=2&format=json&sort=score&cursor=x&count=x").body
	if rows, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v, want 4 and a header:\n%s", len(rows), err, text)
	}
	e.expect(400, "alice", feedbackResults+".csv?filter[nope]=1")
}

// TestTimesOfTheServersZone: without a script, times are in that zone, which is named. The header of a column of times names it.
func TestTimesOfTheServersZone(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	testkit.Must(t, err)
	b := newFeedback(t, "", func(o *envOptions) { o.service.Zone = tokyo }).signedIn("alice")
	b.get("/page/1/form/feedback/submission/1").want(200, "Sent on 15 Nov 2025, 21:03 Asia/Tokyo")
	rows := b.get(feedbackTable + "&columns=_timestamp&limit=1").tableRows("results")
	testkit.Diff(t, "rows", rows, [][]string{{"Sent (Asia/Tokyo)"}, {"15 Nov 2025, 21:03"}})
	b.reads("de").get("/page/1/form/feedback/submission/1").want(200, "15. Nov. 2025, 21:03 Asia/Tokyo")
}

// TestResultsExportForPeople has words in the header, and times of the server's zone.
func TestResultsExportForPeople(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	testkit.Must(t, err)
	e := newFeedback(t, "", func(o *envOptions) { o.service.Zone = berlin })
	e.Clock.Set(time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC))
	b := e.signedIn("alice")
	b.fill("/page/1/form/feedback/submission/2/change", "name", "Benjamin").want(200)
	want := "\ufeffNumber,Sent,Sent by,Changed,Name,State,Score,Topics\r\n" +
		"1,2025-11-15 13:03:05,alice,,Ann,New,9,Food;Room\r\n2,2025-11-15 13:03:05,bob,2026-07-02 00:30:00,Benjamin,Done,10,\r\n"
	export := b.get(feedbackResults + ".csv")
	wantStart(t, "CSV", export.body, want)
	german := b.reads("de").get(feedbackResults + ".csv").body
	wantStart(t, "in German", german, "\ufeffNummer,Gesendet,Gesendet von,Geändert,Name,")
	testkit.Contains(t, "the day of the zone", export.header.Get("Content-Disposition"), "-2026-07-02.csv")
	ndjson := b.get(feedbackResults + ".ndjson").body
	wantStart(t, "for programs", ndjson, `{"_id":"1","_timestamp":"1763208185000","_username":"alice"`)
	api := e.list("alice", "feedback", "format=csv&labels=true")
	wantStart(t, "the list of the API", api, "_id,_timestamp,_username,Name,")
}

func TestResultsDeletedNote(t *testing.T) {
	e := newFeedback(t, "")
	e.get("alice", feedbackResults+"?deleted=12").wantHTML(`role="status"><p>Submission 12 was deleted.</p>`)
	e.get("alice", feedbackResults+"?deleted="+url.QueryEscape("<b>")).wantNoHTML("was deleted")
}
