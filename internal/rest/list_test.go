package rest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const hexDigits = "0123456789abcdef"

// fill stores n submissions, every third of them by bob, the rest by alice,
// and returns their ids.
func (e *env) fill(t testing.TB, n, valueBytes int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	noise := rand.New(rand.NewPCG(1, 2)) // compresses to about a half, not to nothing
	for i := range ids {
		value := make([]byte, valueBytes)
		for j := range value {
			value[j] = hexDigits[noise.IntN(len(hexDigits))]
		}
		who := "alice"
		if i%3 == 0 {
			who = "bob"
		}
		_, ids[i] = e.create(t, who, allPath, nestedBody("name", fmt.Sprint(i), "note", string(value)))
	}
	return ids
}

func listedIDs(t testing.TB, body string) []int64 {
	t.Helper()
	var list []struct{ ID int64 }
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

func TestListOptions(t *testing.T) {
	e := newEnv(t, house())
	e.fill(t, 9, 0) // bob has 1, 4 and 7
	cases := []struct {
		query string
		want  []int64
	}{
		{"", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"?limit=3", []int64{1, 2, 3}},
		{"?after=7", []int64{8, 9}},
		{"?after=9223372036854775807", []int64{}},
		{"?order=desc&limit=2", []int64{9, 8}},
		{"?order=desc&after=3", []int64{2, 1}},
		{"?username=bob", []int64{1, 4, 7}},
		{"?username=bob&order=desc&after=7&limit=1", []int64{4}},
		{"?username=", []int64{}},
		{"?page=2&offset=5&Sort=name&Limit=1&filters=1&Q=x", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}}, // not ours
	}
	for _, c := range cases {
		if got := listedIDs(t, e.get(t, "alice", allPath+"/submission"+c.query)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.query, got, c.want)
		}
		flat := decoded(t, e.get(t, "alice", allPath+"/result"+c.query)).([]any)
		got := make([]int64, len(flat))
		for i := range flat {
			if _, err := fmt.Sscan(flat[i].(map[string]any)["_id"].(string), &got[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: results %v, want %v", c.query, got, c.want)
		}
	}
}

// Package request tests which options are refused, and this is how they are.
func TestBadListOptions(t *testing.T) {
	e := newEnv(t, house())
	for query, general := range map[string]string{
		"limit=0": "limit", "after=x": "after", "order=up": "order", "username=%FF": "username", "limit=1&limit=1": "limit", "limit=%zz": "query",
	} {
		for _, list := range []string{"/submission", "/result"} {
			e.reject(t, testRequest{method: "GET", path: allPath + list + "?" + query}, fault{general: general})
		}
	}
}

// A query is bounded, whatever it is for.
func TestQueryThatIsTooLong(t *testing.T) {
	e := newEnv(t, house())
	const limit = 8 << 10
	query := "?username=" + strings.Repeat("a", limit-len("username="))
	for _, list := range []string{"/submission", "/result", "/summary"} {
		for _, method := range []string{"GET", "HEAD"} {
			e.expect(t, 200, testRequest{user: "alice", method: method, path: allPath + list + query})
			e.expect(t, 414, testRequest{user: "alice", method: method, path: allPath + list + query + "a"})
		}
	}
	e.expect(t, 414, testRequest{user: "alice", method: "POST", path: allPath + "/submission" + query + "a", body: "{}"})
}

func TestCompressionOfWhatCanBeLong(t *testing.T) {
	e := newEnv(t, house())
	e.fill(t, 100, 2000) // more than one flush
	for _, path := range []string{Prefix + "/page/1/form", allPath, allPath + "/submission", allPath + "/result"} {
		plain := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "GET", path: path})
		if plain.header.Get("Content-Encoding") != "" || plain.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s unasked: %v", path, plain.header)
		}
		packed := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "GET", path: path, header: http.Header{"Accept-Encoding": {"zstd, gzip"}}})
		if packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("Vary") != "Accept-Encoding" || len(packed.body) >= len(plain.body) {
			t.Errorf("%s when asked for gzip: %v, %d bytes instead of %d", path, packed.header, len(packed.body), len(plain.body))
			continue
		}
		head := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "HEAD", path: path, header: http.Header{"Accept-Encoding": {"GZip"}}})
		if head.header.Get("Content-Length") != "" || head.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("HEAD %s tells another length than GET: %v", path, head.header)
		}
		r, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != plain.body {
			t.Errorf("%s: gzip holds other content (%v)", path, err)
		}
	}
	for _, path := range []string{allPath + "/submission/1", allPath + "/result/1", form(1, "zeta"), Prefix + "/page/2/form"} {
		a := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "GET", path: path, header: http.Header{"Accept-Encoding": {"gzip, zstd, br"}}})
		if a.header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed, for %d bytes", path, len(a.body))
		}
	}
}
