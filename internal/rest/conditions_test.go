package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
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
		testkit.Same(t, what, a.header.Get("Etag"), tag)
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
	for _, row := range testkit.Rows(strings.NewReplacer("TAG", tag, "BARE", strings.Trim(tag, `"`)).Replace(`
		If-None-Match: TAG | 304
		If-None-Match: W/TAG | 304
		If-None-Match: * | 304
		If-None-Match: "x", TAG,"y" | 304
		If-None-Match: "x" | 200
		If-Match: TAG | 200
		If-Match: "x" | 412
		If-Match: TAG + If-None-Match: TAG | 304
		If-Match: "x" + If-None-Match: TAG | 412
		If-None-Match: BARE | 400
		If-Modified-Since: Mon, 01 Jan 2035 00:00:00 GMT + If-Unmodified-Since: Mon, 01 Jan 2001 00:00:00 GMT | 200
	`)) {
		for _, p := range []string{path, result(path)} {
			for _, method := range []string{"GET", "HEAD"} {
				a := e.expectText(t, row[1], ask("alice "+method, p).with(readHeader(row[0])))
				if got := a.header.Get("Etag"); a.status < 400 && got != tag {
					t.Errorf("%s: %s %s: ETag %q, want %s", row[0], method, p, got, tag)
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
	good := `{"text":"third"}`
	unchanged := e.unchanged(t)
	for _, row := range testkit.Rows(strings.NewReplacer("FORMER", tag, "NOW", now, "good", good).Replace(`
		bob PUT | good | If-Match: FORMER | 412 | Read the submission again
		bob PUT | good | If-Match: W/NOW | 412 | Weak
		bob PUT | good | If-Match: x | 400 | If-Match
		bob PUT | good | If-None-Match: NOW | 412 | If-None-Match
		bob PUT | good | If-None-Match: * | 412 | If-None-Match
		bob PUT | good | If-Match: NOW + If-None-Match: W/NOW | 412 | If-None-Match
		bob PUT | {"nope":"x"} | If-Match: FORMER | 412 | Read
		bob PUT | {"nope":"x"} | If-Match: NOW | 400 | nope
		bob PUT | { | If-Match: FORMER | 412 | Read
		bob PUT | { | If-Match: NOW | 400 | JSON
		bob PUT | good | Content-Type: text/plain + If-Match: FORMER | 415 | Content-Type
		alice PUT | good | If-Match: FORMER | 403 | editors
		alice PUT | good | If-Match: x | 403 | editors
		alice PUT | { | If-Match: FORMER | 403 | editors
		carol DELETE | | If-Match: FORMER | 412 | Read
		carol DELETE | | If-Match: W/NOW | 412 | Weak
		carol DELETE | | If-None-Match: * | 412 | If-None-Match
		carol DELETE | | If-Match: x | 400 | If-Match
		bob DELETE | | If-Match: FORMER | 403 | editors
	`)) {
		e.expectText(t, row[3], ask(row[0], result(path), row[1]).with(readJSONHeader(row[2])), row[4])
		unchanged()
	}
	for _, value := range []string{now, "*", "x"} {
		e.expect(t, 404, ask("bob PUT", openPath+"/result/99", good).with(jsonWith("If-Match", value)))
		e.expect(t, 404, ask("carol DELETE", openPath+"/result/99").with(headerOf("If-Match", value)))
		e.expect(t, 404, ask("bob POST", openPath+"/submission/99", "{").with(jsonWith("If-Match", value)))
	}
	a := e.expect(t, 200, ask("bob PUT", result(path), good).with(jsonWith("If-Match", `"x", `+now)))
	a = e.expect(t, 200, ask("bob POST", path, nestedBody("text", "4")).with(jsonWith("If-Match", a.header.Get("Etag"), "If-None-Match", now)))
	e.expect(t, 200, ask("bob POST", path, nestedBody("text", "5")).with(jsonWith("If-Match", "*")))
	e.expect(t, 412, ask("bob POST", path, nestedBody("text", "6")).with(jsonWith("If-Match", a.header.Get("Etag"))))
	testkit.Contains(t, "stored", e.get(t, "bob", path), `"value":"5"`)
	e.expect(t, 204, ask("carol DELETE", result(path)).with(headerOf("If-Match", tag+","+e.tag(t, "bob", path))))
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
		slices.Sort(statuses)
		testkit.Diff(t, "statuses", statuses, append([]int{200}, slices.Repeat([]int{412}, callers-1)...))
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
		want  []string
	}{
		{[]string{"*"}, []string{anyTag}},
		{[]string{"\t* "}, []string{anyTag}},
		{[]string{`""`}, []string{`""`}},
		{[]string{`"a" , W/"b"`, `"é!#~"`}, []string{`"a"`, `W/"b"`, `"é!#~"`}},
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
