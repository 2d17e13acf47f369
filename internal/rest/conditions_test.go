package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tag reads the ETag of a submission.
func (e *env) tag(t testing.TB, user, path string) string {
	t.Helper()
	return e.expect(t, 200, ask(user+" GET", path)).header.Get("Etag")
}

func TestTagIsOnEveryAnswerWithOneSubmission(t *testing.T) {
	e := newHouse(t)
	created := e.expect(t, 201, ask("alice POST", allPath+"/submission", nestedBody("name", "Ann")))
	path, tag := created.header.Get("Location"), created.header.Get("Etag")
	if len(tag) != 26 || tag[0] != '"' || tag[25] != '"' {
		t.Fatalf("ETag %q is no strong entity tag", tag)
	}
	same := func(what string, a answer) {
		t.Helper()
		if got := a.header.Get("Etag"); got != tag {
			t.Errorf("%s: ETag %s, want %s", what, got, tag)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		same(method, e.expect(t, 200, ask("alice "+method, path)))
		same(method+" flat", e.expect(t, 200, ask("alice "+method, result(path))))
	}
	same("a merge that changes nothing", e.expect(t, 200, ask("alice PUT", result(path), `{}`)))
	merged := e.expect(t, 200, ask("alice POST", path, nestedBody("name", "Bea")))
	if merged.header.Get("Etag") == tag {
		t.Error("the tag is the same after a change")
	}
	tag = merged.header.Get("Etag")
	same("after the change", e.expect(t, 200, ask("alice GET", result(path))))
	tag = e.expect(t, 200, ask("alice PUT", result(path), `{"name":"Cy"}`)).header.Get("Etag")
	same("after the flat change", e.expect(t, 200, ask("alice GET", path)))
	for _, list := range []string{"/submission", "/result"} {
		if a := e.expect(t, 200, ask("alice GET", allPath+list)); a.header.Get("Etag") != "" {
			t.Errorf("%s has an ETag", list)
		}
	}
}

// TestReadsWithConditions: 304 where the client has it already.
func TestReadsWithConditions(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	tag := e.tag(t, "alice", path)
	for _, tt := range []struct {
		name   string
		header http.Header
		status int
	}{
		{"the tag", headerOf("If-None-Match", tag), 304},
		{"the tag, weak", headerOf("If-None-Match", "W/"+tag), 304},
		{"any", headerOf("If-None-Match", "*"), 304},
		{"a list", headerOf("If-None-Match", `"x", `+tag+`,"y"`), 304},
		{"another", headerOf("If-None-Match", `"x"`), 200},
		{"If-Match", headerOf("If-Match", tag), 200},
		{"If-Match another", headerOf("If-Match", `"x"`), 412},
		{"both, and both name it", headerOf("If-Match", tag, "If-None-Match", tag), 304},
		{"both, and If-Match fails", headerOf("If-Match", `"x"`, "If-None-Match", tag), 412},
		{"no quotes", headerOf("If-None-Match", strings.Trim(tag, `"`)), 400},
		{"dates, which are ignored", headerOf("If-Modified-Since", "Mon, 01 Jan 2035 00:00:00 GMT", "If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT"), 200},
	} {
		for _, p := range []string{path, result(path)} {
			for _, method := range []string{"GET", "HEAD"} {
				a := e.do(t, ask("alice "+method, p).with(tt.header))
				if a.status != tt.status {
					t.Errorf("%s: %s %s: %d, want %d: %s", tt.name, method, p, a.status, tt.status, a.body)
				}
				if got := a.header.Get("Etag"); a.status < 400 && got != tag {
					t.Errorf("%s: %s %s: ETag %q, want %s", tt.name, method, p, got, tag)
				}
			}
		}
	}
	// What can't be read has no state to be told of.
	for _, name := range []string{"If-Match", "If-None-Match"} {
		for _, value := range []string{"*", tag, "malformed"} {
			e.expect(t, 404, ask("alice GET", allPath+"/submission/99").with(http.Header{name: {value}}))
			e.expect(t, 404, ask("dave GET", staffPath+"/submission/1").with(http.Header{name: {value}}))
		}
	}
}

// TestWritesWithConditions: a write whose conditions don't hold changes nothing.
func TestWritesWithConditions(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", openPath, nestedBody("text", "old"))
	tag := e.tag(t, "bob", path)
	e.expect(t, 200, ask("bob PUT", result(path), `{"text":"new"}`))
	now := e.tag(t, "bob", path)
	good, invalid := `{"text":"third"}`, `{"nope":"x"}`
	for _, tt := range []struct {
		name, user, body string
		header           http.Header
		status           int
		detail           string
	}{
		{"a former tag", "bob", good, jsonWith("If-Match", tag), 412, "Read the submission again"},
		{"a weak tag", "bob", good, jsonWith("If-Match", "W/"+now), 412, "Weak"},
		{"no tag", "bob", good, jsonWith("If-Match", "x"), 400, "If-Match"},
		{"If-None-Match with the tag", "bob", good, jsonWith("If-None-Match", now), 412, "If-None-Match"},
		{"If-None-Match with any", "bob", good, jsonWith("If-None-Match", "*"), 412, "If-None-Match"},
		{"both, and one fails", "bob", good, jsonWith("If-Match", now, "If-None-Match", "W/"+now), 412, "If-None-Match"},
		{"a former tag and a field that is unknown", "bob", invalid, jsonWith("If-Match", tag), 412, "Read"},
		{"the tag and a field that is unknown", "bob", invalid, jsonWith("If-Match", now), 400, "nope"},
		{"a former tag and no JSON", "bob", "{", jsonWith("If-Match", tag), 412, "Read"},
		{"the tag and no JSON", "bob", "{", jsonWith("If-Match", now), 400, "JSON"},
		{"a former tag and no media type", "bob", good, headerOf("If-Match", tag), 415, "Content-Type"},
		{"a former tag, by one who may not", "alice", good, jsonWith("If-Match", tag), 403, "editors"},
		{"a malformed tag, by one who may not", "alice", good, jsonWith("If-Match", "x"), 403, "editors"},
		{"a former tag and no JSON, by one who may not", "alice", "{", jsonWith("If-Match", tag), 403, "editors"},
	} {
		before := e.dump(t)
		a := e.do(t, ask(tt.user+" PUT", result(path), tt.body).with(tt.header))
		if a.status != tt.status || !strings.Contains(a.body, tt.detail) {
			t.Errorf("%s: %d %s, want %d with %q", tt.name, a.status, a.body, tt.status, tt.detail)
		}
		if after := e.dump(t); after != before {
			t.Errorf("%s: something was changed:\n%s\n%s", tt.name, before, after)
		}
	}
	for _, value := range []string{now, "*"} {
		e.expect(t, 404, ask("bob PUT", openPath+"/result/99", good).with(jsonWith("If-Match", value)))
		e.expect(t, 404, ask("bob POST", openPath+"/submission/99", "{").with(jsonWith("If-Match", value)))
	}
	a := e.expect(t, 200, ask("bob PUT", result(path), good).with(jsonWith("If-Match", `"x", `+now)))
	a = e.expect(t, 200, ask("bob POST", path, nestedBody("text", "4")).with(jsonWith("If-Match", a.header.Get("Etag"), "If-None-Match", now)))
	e.expect(t, 200, ask("bob POST", path, nestedBody("text", "5")).with(jsonWith("If-Match", "*")))
	e.expect(t, 412, ask("bob POST", path, nestedBody("text", "6")).with(jsonWith("If-Match", a.header.Get("Etag"))))
	if got := e.get(t, "bob", path); !strings.Contains(got, `"value":"5"`) {
		t.Errorf("stored is %s", got)
	}
}

// TestOfMergesWithOneTagOneSucceeds: the tag is compared in the transaction
// that writes.
func TestOfMergesWithOneTagOneSucceeds(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	const callers = 8
	for range 5 {
		tag := e.tag(t, "alice", path)
		statuses := make([]int, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				body := nestedBody("note", tag+string(rune('a'+i)))
				statuses[i] = e.do(t, ask("alice POST", path, body).with(jsonWith("If-Match", tag))).status
			})
		}
		wg.Wait()
		count := map[int]int{}
		for _, s := range statuses {
			count[s]++
		}
		if count[200] != 1 || count[412] != callers-1 {
			t.Fatalf("answers by status: %v", count)
		}
	}
}

// TestTaggedAnswersAreNeverCompressed: a strong tag is of one representation.
func TestTaggedAnswersAreNeverCompressed(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", strings.Repeat("long ", 10_000)))
	tag := e.tag(t, "alice", path)
	for _, p := range []string{path, result(path)} {
		a := e.expect(t, 200, ask("alice GET", p).with(headerOf("Accept-Encoding", "gzip")))
		if a.header.Get("Content-Encoding") != "" || a.header.Get("Etag") != tag {
			t.Errorf("%s: %v", p, a.header)
		}
	}
}

func TestParseTags(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  []entityTag
	}{
		{[]string{"*"}, []entityTag{anyTag}},
		{[]string{"\t* "}, []entityTag{anyTag}},
		{[]string{`""`}, []entityTag{{`""`, false}}},
		{[]string{`"a" , W/"b"`, `"é!#~"`}, []entityTag{{`"a"`, false}, {`"b"`, true}, {`"é!#~"`, false}}},
	} {
		if got, err := parseTags("If-Match", tt.lines); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %+v, %v", tt.lines, got, err)
		}
	}
	for _, line := range []string{"", ",", `"`, `W/`, `W/*`, `*,*`, `*, "a"`, `"a" "b"`, `"a"b`, "\"a\x7f\"", "\"a\tb\"", `W/ "a"`, `a`} {
		if got, err := parseTags("If-Match", []string{line}); err == nil {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
