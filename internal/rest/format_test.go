package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

var lists = []string{"/submission", "/result"}

func TestNDJSONHasTheRowsOfJSON(t *testing.T) {
	e := newHouse(t)
	for _, list := range lists {
		testkit.Same(t, list, e.get(t, "alice", allPath+list+"?format=ndjson"), "")
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
	e := newHouse(t)
	for _, row := range testkit.Rows(`
		| application/json |
		| application/json | Accept: */*
		| application/json | Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8
		| application/json | Accept: application/*
		| application/x-ndjson | Accept: application/x-ndjson
		| application/x-ndjson | Accept: Application/X-NDJSON; charset=utf-8
		| application/x-ndjson | Accept: image/png + Accept: application/x-ndjson
		| application/x-ndjson | Accept: application/x-ndjson, application/json
		| application/json | Accept: application/json, application/x-ndjson
		| application/x-ndjson | Accept: application/json;q=0.5, application/x-ndjson;q=0.501
		| application/x-ndjson | Accept: application/json ; q=0.5 , application/x-ndjson ; Q=0.6
		| application/json | Accept: application/x-ndjson;q=0.5, */*
		| application/x-ndjson | Accept: application/x-ndjson;q=0.5, application/json;q=0
		| application/json | Accept: application/x-ndjson;q=0
		| application/json | Accept: application/x-ndjson;q=0, application/json;q=0
		| application/json | Accept: application/x-ndjson;q=2
		| application/json | Accept: ,;,=;q;q=1,
		?format=json | application/json | Accept: application/x-ndjson
		?format=ndjson | application/x-ndjson | Accept: application/json
	`) {
		for _, method := range []string{"GET", "HEAD"} {
			a := e.expect(t, 200, ask("alice "+method, allPath+"/result"+row[0]).with(readHeader(row[2])))
			if got := a.header.Get("Content-Type"); got != row[1] {
				t.Errorf("%s %q: %s", method, row, got)
			}
			if vary := a.header.Values("Vary"); fmt.Sprint(vary) != "[Accept-Encoding Accept]" {
				t.Errorf("Vary: %v", vary)
			}
		}
	}
}
