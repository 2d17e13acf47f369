package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

func results(t testing.TB, body string) (list []map[string]string) {
	t.Helper()
	testkit.Must(t, json.Unmarshal([]byte(body), &list))
	return list
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

// Summaries and filtered lists count as lists, also those of HEAD.
func TestPassesAtATimeAreBounded(t *testing.T) {
	e := newHouse(t, oneList)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	release := e.holdList(t, "alice")
	for _, path := range []string{"/summary", "/result?q=x", "/result?sort=name&limit=1", "/submission?count=true", "/submission?filter[name]=x"} {
		for _, method := range []string{"GET", "HEAD"} {
			e.refused(t, 429, ask("alice "+method, allPath+path))
		}
	}
	e.expect(t, 200, ask("alice HEAD", allPath+"/result"))
	release()
	e.get(t, "alice", allPath+"/summary")
}

// TestLongReadsAreWork: as long as rows are read, the server is told, also if
// none of them is sent. Otherwise it would cut off the client.
func TestLongReadsAreWork(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 50, 20_000)
	const atLeast = 3 // checks of 256 KiB, and one at the end
	for _, r := range []testRequest{
		ask("GET", "/result?filter[name]=nobody"),
		ask("GET", "/result?filter[name]=nobody&format=csv"),
		ask("GET", "/submission?sort=name&limit=1"),
		ask("GET", "/submission?count=true&limit=1"),
		ask("HEAD", "/result?q=nobody&count=true"),
		ask("GET", "/summary?q=nobody"),
	} {
		r.user, r.path = "alice", allPath+r.path
		if n := e.note(t, r); n.Code != 200 || n.working < atLeast {
			t.Errorf("%s %s: status %d, %d calls", r.method, r.path, n.Code, n.working)
		}
	}
}

// What is wrong with parameters is decided in packages request, encode and service. This is how it is answered.
func TestRefusedParameters(t *testing.T) {
	e := newHouse(t)
	for query, names := range map[string]string{
		"limit=0": "limit", "limit=%zz": "query", "username=%FF": "username", "sort=name": "limit", "sort=name&limit=5&cursor=AAAA": "cursor",
		"filter[nope]=1": "filter[nope]", "format=xml": "format", "format=json&format=json": "format", "count=yes": "count",
	} {
		for _, list := range lists {
			e.reject(t, ask("GET", allPath+list+"?"+query), fault{general: names})
			e.expect(t, 400, ask("alice HEAD", allPath+list+"?"+query))
		}
	}
	e.expect(t, 400, ask("alice GET", allPath+"/summary?filter[nope]=1"))
}

// What somebody may not see is neither found nor counted.
func TestFiltersCoverWhatTheCallerSees(t *testing.T) {
	e := newHouse(t)
	for _, user := range []string{"alice", "bob", "alice"} {
		e.create(t, user, staffPath, nestedBody("text", "by "+user))
	}
	for user, want := range map[string]int{"alice": 3, "bob": 1, "carol": 0} {
		a := e.expect(t, 200, ask(user+" GET", staffPath+"/result?q=by&count=true"))
		if got := len(results(t, a.body)); got != want || a.header.Get("X-Total-Count") != strconv.Itoa(want) {
			t.Errorf("%s: %d rows, X-Total-Count %s, want %d", user, got, a.header.Get("X-Total-Count"), want)
		}
		if got := pick(t, e.get(t, user, staffPath+"/summary?q=by"), "count"); got != strconv.Itoa(want) {
			t.Errorf("%s: a summary of %s, want %d", user, got, want)
		}
	}
}

// The pages of a list, joined, are the list: both models, from either end, filtered and sorted. Other
// parameters stay in the links, and HEAD has the same headers.
func TestPagesOfLists(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 7, 0) // bob has 1, 4 and 7
	for query, want := range map[string]string{
		"&x=%3E": "1 2 3 4 5 6 7", "&after=4": "5 6 7", "&order=desc": "7 6 5 4 3 2 1", "&username=bob&order=desc": "7 4 1",
		"&filter[name][not-equals]=3": "1 2 3 5 6 7", "&sort=-name&q=": "7 6 5 4 3 2 1", "&Sort=name&offset=5&page=2": "1 2 3 4 5 6 7",
	} {
		for _, list := range lists {
			var ids []string
			for at := allPath + list + "?limit=2&count=true" + query; at != ""; {
				a := e.expect(t, 200, ask("alice GET", at))
				head := e.expect(t, 200, ask("alice HEAD", at))
				next := nextPage(t, a.header)
				if total := a.header.Get("X-Total-Count"); total != head.header.Get("X-Total-Count") || (nextPage(t, head.header) == "") != (next == "") ||
					strings.Contains(at, "&x=") && next != "" && !strings.HasSuffix(next, "&x=%3E") {
					t.Errorf("%s: %v, of HEAD %v", at, a.header, head.header)
				}
				rows := decoded(t, a.body).([]any)
				for _, row := range rows {
					row := row.(map[string]any)
					ids = append(ids, fmt.Sprint(cmp.Or(row["_id"], row["id"])))
				}
				if at = next; at != "" && len(rows) != 2 {
					t.Errorf("%s: %d rows", at, len(rows))
				}
			}
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("%s%s: %s, want %s", list, query, got, want)
			}
		}
	}
	if a := e.expect(t, 200, ask("alice GET", allPath+"/result")); a.header.Get("Link") != "" || a.header.Get("X-Total-Count") != "" {
		t.Errorf("the whole list: %v", a.header)
	}
}

// oneList lets each user read one list at a time.
func oneList(o *request.Options) { o.Limits.ListsPerUser = 1 }
