package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

var lists = []string{"/submission", "/result"}

func TestNDJSONHasTheRowsOfJSON(t *testing.T) {
	e := newHouse(t)
	for _, list := range lists {
		if got := e.get(t, "alice", allPath+list+"?format=ndjson"); got != "" {
			t.Errorf("%s: an empty list is %q", list, got)
		}
	}
	for _, text := range texts {
		e.create(t, "alice", allPath, nestedBody("name", "x", "note", text))
	}
	for _, list := range lists {
		for _, query := range []string{"", "limit=1", "order=desc&after=5", "username=bob"} {
			want := e.get(t, "alice", allPath+list+"?"+query)
			a := e.expect(t, 200, ask("alice GET", allPath+list+"?format=ndjson&"+query))
			got := "[" + strings.ReplaceAll(strings.TrimSuffix(a.body, "\n"), "\n", ",") + "]"
			if got != want || a.header.Get("Content-Type") != "application/x-ndjson" {
				t.Errorf("%s?%s: %s\n%s\nwant\n%s", list, query, a.header.Get("Content-Type"), got, want)
			}
		}
	}
}

func TestFormatAndAccept(t *testing.T) {
	const json, ndjson = "application/json", "application/x-ndjson"
	e := newHouse(t)
	for _, tt := range []struct {
		query, want string
		accept      []string
	}{
		{"", json, nil},
		{"", json, []string{"*/*"}},
		{"", json, []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}, // a browser
		{"", json, []string{"application/*"}},
		{"", ndjson, []string{ndjson}},
		{"", ndjson, []string{"Application/X-NDJSON; charset=utf-8"}},
		{"", ndjson, []string{"image/png", ndjson}},
		{"", ndjson, []string{"application/x-ndjson, application/json"}},
		{"", json, []string{"application/json, application/x-ndjson"}},
		{"", ndjson, []string{"application/json;q=0.5, application/x-ndjson;q=0.501"}},
		{"", ndjson, []string{"application/json ; q=0.5 , application/x-ndjson ; Q=0.6"}},
		{"", json, []string{"application/x-ndjson;q=0.5, */*"}},
		{"", ndjson, []string{"application/x-ndjson;q=0.5, application/json;q=0"}},
		{"", json, []string{"application/x-ndjson;q=0"}},
		{"", json, []string{"application/x-ndjson;q=0, application/json;q=0"}},
		{"", json, []string{"application/x-ndjson;q=2"}},
		{"", json, []string{",;,=;q;q=1,"}},
		{"?format=json", json, []string{ndjson}},
		{"?format=ndjson", ndjson, []string{json}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r := ask("alice "+method, allPath+"/result"+tt.query).with(http.Header{"Accept": tt.accept})
			a := e.expect(t, 200, r)
			if got := a.header.Get("Content-Type"); got != tt.want {
				t.Errorf("%s %s with Accept %q: %s, want %s", method, tt.query, tt.accept, got, tt.want)
			}
			if vary := a.header.Values("Vary"); fmt.Sprint(vary) != "[Accept-Encoding Accept]" {
				t.Errorf("Vary: %v", vary)
			}
		}
	}
}
