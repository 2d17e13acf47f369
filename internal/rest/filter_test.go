package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

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

// Summaries count as lists, and so do HEAD requests that read rows.
func TestListsAtATimeAreBounded(t *testing.T) {
	e := newHouse(t)
	e.Users.Set(five)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	release := e.holdLists(t, "alice")
	for _, row := range testkit.Rows(`
		GET | /result
		GET | /submission
		GET HEAD | /summary
		GET HEAD | /result?q=x
		GET HEAD | /result?sort=name&limit=1
		GET HEAD | /submission?count=true
		GET HEAD | /submission?filter[name]=x
	`) {
		for method := range strings.FieldsSeq(row[0]) {
			e.refused(t, 429, ask("alice "+method, allPath+row[1]))
		}
	}
	e.expect(t, 200, ask("alice HEAD", allPath+"/result"))
	e.get(t, "alice", allPath+"/submission/1")
	for _, user := range []string{"bob", "carol", "dave"} {
		e.get(t, "erin", allPath+"/result")
		t.Cleanup(e.holdLists(t, user))
	}
	e.refused(t, 503, ask("erin GET", allPath+"/result"))
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

// The pages of a list, joined, are the list: both models, from either end, filtered and sorted. Other
// parameters stay in the links, and HEAD has the same headers.
func TestPagesOfLists(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 7, 0) // bob has 1, 4 and 7
	// A query, the ids, and how many there are on all pages, also before the first one.
	for _, row := range testkit.Rows(`
		&x=%3E | 1 2 3 4 5 6 7 | 7
		&after=4 | 5 6 7 | 7
		&order=desc | 7 6 5 4 3 2 1 | 7
		&username=bob&order=desc | 7 4 1 | 3
		&filter[name][not-equals]=3 | 1 2 3 5 6 7 | 6
		&sort=-name&q= | 7 6 5 4 3 2 1 | 7
		&Sort=name&offset=5&page=2 | 1 2 3 4 5 6 7 | 7
	`) {
		query, want, total := row[0], row[1], row[2]
		for _, list := range lists {
			var ids []string
			for at := allPath + list + "?limit=2&count=true" + query; at != ""; {
				a := e.expect(t, 200, ask("alice GET", at))
				head := e.expect(t, 200, ask("alice HEAD", at))
				next := nextPage(t, a.header)
				for _, h := range []http.Header{a.header, head.header} {
					testkit.Same(t, at, h.Get("X-Total-Count"), total)
				}
				if (nextPage(t, head.header) == "") != (next == "") ||
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
