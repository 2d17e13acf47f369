package rest

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testsite"
)

// survey stores answers to the form "all" that filters, sorting and summaries
// can tell apart, and returns the list of results.
func (e *env) survey(t testing.TB, n int) []map[string]string {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	old := strings.Replace(house()["1-all.md"], "{id: note,", "{id: gone, type: textfield, label: Gone}\n  - {id: note,", 1)
	e.Write(t, "1-all.md", old)
	for i := range n {
		if i == n/2 { // the field leaves the page
			e.Write(t, "1-all.md", house()["1-all.md"])
		}
		pairs := []string{
			"name", pick("Ann", "ann", "Zoë", "ZOË", "Ben", `"quoted" \ text`), "note", pick("", " ", "some words", "SOME WORDS", "a\tb"),
			"size", pick("", "S", "M"), "extras", pick("", "a", "a;b", "b;c"), "day", pick("", "2024-02-29", "2025-01-01", "1999-12-31"),
			"count", pick("", "1", "-2.50", "10", "9", "0.5", "1.0"), "colour", pick("", "red", "green"),
		}
		if i < n/2 {
			pairs = append(pairs, "gone", pick("x", "y", ""))
		}
		e.Clock.Advance(7 * 60 * 60 * 1e9)
		e.create(t, pick("alice", "bob", "carol"), allPath, nestedBody(pairs...))
	}
	return results(t, e.get(t, "alice", allPath+"/result"))
}

func results(t testing.TB, body string) (list []map[string]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func idsOf(rows []map[string]string) []string {
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row["_id"])
	}
	return ids
}

// walk follows the links from page to page, and holds HEAD against GET. Every
// page says how many rows there are in all.
func (e *env) walk(t testing.TB, user, at string, total int) (ids []string) {
	t.Helper()
	for at != "" {
		a := e.expect(t, http.StatusOK, testRequest{user: user, method: "GET", path: at})
		head := e.expect(t, http.StatusOK, testRequest{user: user, method: "HEAD", path: at})
		if got := a.header.Get("X-Total-Count"); got != strconv.Itoa(total) || head.header.Get("X-Total-Count") != got {
			t.Fatalf("%s: X-Total-Count %q, of HEAD %q, want %d", at, got, head.header.Get("X-Total-Count"), total)
		}
		page := results(t, a.body)
		ids = append(ids, idsOf(page)...)
		next := nextPage(t, a.header)
		// The nonce of a cursor differs each time.
		if sorted := strings.Contains(at, "sort="); (nextPage(t, head.header) != next && !sorted) || (nextPage(t, head.header) == "") != (next == "") {
			t.Fatalf("%s: Link %q, of HEAD %q", at, next, nextPage(t, head.header))
		}
		if next != "" && strconv.Itoa(len(page)) != queryOf(t, at).Get("limit") {
			t.Fatalf("%s: a page of %d rows that is not the last", at, len(page))
		}
		at = next
	}
	return ids
}

func nextPage(t testing.TB, h http.Header) string {
	t.Helper()
	link := h.Get("Link")
	if link == "" {
		return ""
	}
	at, isNext := strings.CutSuffix(link, `>; rel="next"`)
	at, isRef := strings.CutPrefix(at, "</")
	if !isNext || !isRef {
		t.Fatalf("Link: %s", link)
	}
	return "/" + at
}

func queryOf(t testing.TB, at string) url.Values {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func TestRefusedFilters(t *testing.T) {
	e := newEnv(t, house())
	e.survey(t, 4)
	for query, names := range map[string]string{
		"filter[nope]=1":                       "filter[nope]",
		"filter[nope][empty]":                  "filter[nope]",
		"filter[name][like]=1":                 "filter[name][like]",
		"filter[_user]=1":                      "filter[_user]",
		"filter[name=1":                        "filter[name",
		"sort=nope&limit=5":                    "sort=nope",
		"sort=name":                            "limit",
		"sort=name&limit=5&cursor=AAAA":        "cursor",
		"filter[_timestamp]=today":             "filter[_timestamp]",
		"count=yes":                            "count",
		"q=" + strings.Repeat("x", 5000):       "q",
		"filter[gone]=x&filter[nope]=1&sort=x": "limit",
	} {
		for _, list := range lists {
			e.reject(t, testRequest{method: "GET", path: allPath + list + "?" + query}, fault{general: names})
			e.expect(t, http.StatusBadRequest, testRequest{user: "alice", method: "HEAD", path: allPath + list + "?" + query})
		}
		if strings.HasPrefix(query, "filter") {
			e.expect(t, http.StatusBadRequest, testRequest{user: "alice", method: "GET", path: allPath + "/summary?" + query})
		}
	}
}

// What somebody may not see is neither found nor counted.
func TestFiltersCoverWhatTheCallerSees(t *testing.T) {
	e := newEnv(t, house())
	for _, user := range []string{"alice", "bob", "alice"} {
		e.create(t, user, staffPath, nestedBody("text", "by "+user))
		e.create(t, user, pollPath, nestedBody("text", "by somebody"))
	}
	for _, tt := range []struct {
		user, path string
		want       int
	}{
		{"alice", staffPath + "/result?q=by", 3},
		{"bob", staffPath + "/result?q=by", 1},
		{"bob", staffPath + "/result?q=alice", 0},
		{"bob", staffPath + "/result?sort=text&limit=9", 1},
		{"bob", staffPath + "/result?filter[_username]=alice", 0},
		{"bob", staffPath + "/result?filter[_username][not-equals]=bob", 0},
		{"bob", pollPath + "/result?filter[_username]=bob", 0},
		{"bob", pollPath + "/result?username=bob", 0},
		{"bob", pollPath + "/result?filter[_username][empty]", 3},
		{"carol", pollPath + "/result?sort=-_username&limit=9", 3},
	} {
		a := e.expect(t, http.StatusOK, testRequest{user: tt.user, method: "GET", path: tt.path + "&count=true"})
		if got := len(results(t, a.body)); got != tt.want || a.header.Get("X-Total-Count") != strconv.Itoa(tt.want) {
			t.Errorf("%s %s: %d rows, X-Total-Count %s, want %d", tt.user, tt.path, got, a.header.Get("X-Total-Count"), tt.want)
		}
		var summary struct{ Count int }
		at := strings.Replace(tt.path, "/result", "/summary", 1)
		if err := json.Unmarshal([]byte(e.get(t, tt.user, at)), &summary); err != nil || summary.Count != tt.want {
			t.Errorf("%s %s: %d, want %d (%v)", tt.user, at, summary.Count, tt.want, err)
		}
	}
}

// A list of which nothing matches ends when the caller may no longer read it,
// and a summary, too.
func TestPassesEndWhenAccessIsRevoked(t *testing.T) {
	e := newEnv(t, map[string]string{"3.md": seen})
	for range 8 {
		e.create(t, "alice", staffPath, nestedBody("text", strings.Repeat("x", 100_000)))
	}
	for _, path := range []string{"/result?q=none", "/submission?filter[text]=none", "/result?sort=text&limit=1", "/submission?count=true", "/summary"} {
		e.Users.Set(testsite.Everybody)
		e.Store.FailAtRow(func(n int) error {
			if n == 2 {
				e.Users.Set(testsite.People{})
			}
			return nil
		})
		rec := httptest.NewRecorder()
		mount(e.api).ServeHTTP(rec, e.newRequest(t, testRequest{user: "carol", method: "GET", path: staffPath + path}))
		if rec.Code != http.StatusUnauthorized || rec.Header().Get("Link") != "" || rec.Header().Get("X-Total-Count") != "" {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
}

// Summaries and filtered lists count as lists, also those of HEAD.
func TestPassesAtATimeAreBounded(t *testing.T) {
	e := newEnv(t, house(), func(o *request.Options) { o.Limits = request.Limits{ListsPerUser: 1} })
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	release := e.holdList(t, "alice")
	for _, path := range []string{"/summary", "/result?q=x", "/result?sort=name&limit=1", "/submission?count=true", "/submission?filter[name]=x"} {
		for _, method := range []string{"GET", "HEAD"} {
			e.refused(t, http.StatusTooManyRequests, testRequest{user: "alice", method: method, path: allPath + path})
		}
	}
	e.expect(t, http.StatusOK, testRequest{user: "alice", method: "HEAD", path: allPath + "/result"})
	release()
	e.get(t, "alice", allPath+"/summary")
}

// A page by after of the bare list has a link, too, and other parameters stay in
// it.
func TestLinkOfAPlainPage(t *testing.T) {
	e := newEnv(t, house())
	e.fill(t, 5, 0)
	for path, want := range map[string]string{
		"/submission":                          "",
		"/submission?limit=5":                  "",
		"/submission?limit=6":                  "",
		"/submission?limit=2&after=3":          "",
		"/submission?limit=2":                  "/submission?after=2&limit=2",
		"/submission?limit=2&after=2&x=%3E":    "/submission?after=4&limit=2&x=%3E",
		"/result?order=desc&limit=1":           "/result?after=5&limit=1&order=desc",
		"/result?username=bob&limit=1":         "/result?after=1&limit=1&username=bob",
		"/result?limit=1001":                   "",
		"/result?format=ndjson&limit=4&q=1":    "",
		"/result?format=ndjson&limit=4&q=":     "/result?after=4&format=ndjson&limit=4&q=",
		"/result?limit=1&filter[name][empty]=": "",
		"/result?limit=3&format=csv":           "/result?after=3&format=csv&limit=3",
		"/result?limit=3&format=xlsx&after=3":  "",
	} {
		if want != "" {
			want = allPath + want
		}
		a := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "GET", path: allPath + path})
		if got := nextPage(t, a.header); got != want || a.header.Get("X-Total-Count") != "" {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestLongReadsAreWork: as long as rows are read, the server is told, also if
// none of them is sent. Otherwise it would cut off the client.
func TestLongReadsAreWork(t *testing.T) {
	e := newEnv(t, house())
	e.fill(t, 50, 20_000)
	const atLeast = 3 // checks of 256 KiB, and one at the end
	for _, r := range []testRequest{
		{method: "GET", path: "/result?filter[name]=nobody"},
		{method: "GET", path: "/result?filter[name]=nobody&format=csv"},
		{method: "GET", path: "/submission?sort=name&limit=1"},
		{method: "GET", path: "/submission?count=true&limit=1"},
		{method: "HEAD", path: "/result?q=nobody&count=true"},
		{method: "GET", path: "/summary?q=nobody"},
	} {
		r.user, r.path = "alice", allPath+r.path
		if n := e.note(t, r); n.Code != http.StatusOK || n.working < atLeast {
			t.Errorf("%s %s: status %d, %d calls", r.method, r.path, n.Code, n.working)
		}
	}
}

// The pages of a list, joined, are the list: filtered, searched and sorted, with a
// count on each page.
func TestPagesOfAFilteredList(t *testing.T) {
	e := newEnv(t, house())
	e.survey(t, 40)
	for _, query := range []string{
		"filter[size]=M", "filter[gone][not-empty]&order=desc", "q=zo%C3%AB", "username=bob&filter[count][greater-than]=1", "filter[name]=nowhere",
		"sort=name", "sort=-count&filter[colour][not-empty]", "sort=gone&q=ann", "sort=-_timestamp&username=alice",
	} {
		path := allPath + "/result?count=true&" + query
		all := idsOf(results(t, e.get(t, "alice", path+"&limit=1000")))
		if len(all) < 3 && !strings.HasSuffix(query, "nowhere") {
			t.Errorf("%s: only %d rows", query, len(all))
		}
		if got := e.walk(t, "alice", path+"&limit=3", len(all)); !slices.Equal(got, all) {
			t.Errorf("%s: %v, want %v", query, got, all)
		}
	}
}
