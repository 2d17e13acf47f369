package rest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

// fault says what a bad body must be answered with: faults of the named
// fields, or general errors, one of which has the text in it.
type fault struct {
	name, body string
	fields     []string // exactly these
	general    string   // part of the one general error; "" for none
}

// validationResult is the interface's, read without leniency.
type validationResult struct {
	Valid       *bool             `json:"valid"`
	FieldErrors map[string]string `json:"fieldErrors"`
	Errors      []string          `json:"errors"`
}

// reject sends a request that must fail validation as the fault says, and
// change nothing.
func (e *env) reject(t *testing.T, r testRequest, f fault) {
	t.Helper()
	unchanged := e.unchanged(t)
	r.user, r.body = "alice", f.body
	a := e.expect(t, 400, r)
	var got validationResult
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	if names := members(t, a.body); !slices.Equal(names, []string{"valid", "fieldErrors", "errors"}) || *got.Valid {
		t.Errorf("%s is no validation result", clip(a.body))
	}
	if fields := slices.Sorted(maps.Keys(got.FieldErrors)); !slices.Equal(fields, slices.Sorted(slices.Values(f.fields))) {
		t.Errorf("%s %s: fields at fault are %q, want %q (%s)", r.method, clip(f.body), fields, f.fields, clip(a.body))
	}
	for id, message := range got.FieldErrors {
		if message == "" {
			t.Errorf("no message for %q", id)
		}
	}
	if got.Errors == nil || (len(got.Errors) > 0) != (f.general != "") || !strings.Contains(strings.Join(got.Errors, "\n"), f.general) {
		t.Errorf("%s %s: general errors %q, want %q in them", r.method, clip(f.body), got.Errors, f.general)
	}
	unchanged()
}

// notJSON is wrong in both models.
var notJSON = []fault{
	{name: "empty", body: "", general: "empty"},
	{name: "not JSON", body: "x=1", general: "not valid JSON"},
	{name: "truncated", body: `{"fields":{"name":{"fieldId":"name","value":"An`, general: "not valid JSON"},
	{name: "array", body: `[{"fields":{}}]`, general: "must be a JSON object"},
	{name: "null", body: `null`, general: "must be a JSON object"},
	{name: "byte order mark", body: "\ufeff{}", general: "not valid JSON"},
	{name: "invalid UTF-8 in a key", body: "{\"\xff\":1}", general: "not valid JSON"},
	{name: "cut character after a surrogate", body: `{"\ud800aaaaaéééé":1}`, general: "not valid JSON"},
	{name: "deep array", body: strings.Repeat("[", 100_000), general: "must be a JSON object"},
	{name: "deep object", body: `{"id":` + strings.Repeat(`{"a":`, 100_000), general: "not valid JSON"},
	{name: "duplicate in an ignored member", body: `{"id":{"x":1,"x":2}}`, general: "not valid JSON"},
	{name: "duplicate ignored member", body: `{"id":1,"id":2}`, general: "not valid JSON"},
}

// entry puts the text after the name of a field in the nested model.
func entry(text string) string { return `{"fields":{"name":` + text + `}}` }

func value(text string) string { return entry(`{"fieldId":"name","value":` + text + `}`) }

var nestedFaults = []fault{
	{name: "no fields", body: `{}`, general: `"fields" is missing`},
	{name: "fields null", body: `{"fields":null}`, general: `"fields" must be a JSON object`},
	{name: "fields array with a duplicate", body: `{"fields":[{"name":1,"name":2}]}`, general: `"fields" must be a JSON object`},
	{name: "Fields", body: `{"Fields":{}}`, general: "unknown member"},
	{name: "both cases", body: `{"fields":{"name":{"fieldId":"name","value":""}},"FIELDS":{}}`, fields: []string{"name"}, general: "unknown member"},
	{
		name: "unknown member beside fields at fault", body: `{"extra":1,"fields":{"name":{"fieldId":"name","value":""},"size":{"fieldId":"size","value":"XXL"}}}`,
		fields: []string{"name", "size"}, general: `unknown member "extra"`,
	},
	{name: "deeper than any body of ours", body: `{"id":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `,"fields":{}}`, general: "nested too deeply"},
	{name: "fields twice", body: `{"fields":{},"fields":{}}`, general: "duplicate"},
	{name: "trailing data", body: nestedBody("name", "x") + "x", general: "not valid JSON"},
	{name: "second value", body: nestedBody("name", "x") + "{}", general: "more after"},
	{name: "deep in an ignored member", body: `{"timestamp":` + deep + `,"fields":{}}`, general: "not valid JSON"},
	{name: "duplicate in an ignored member", body: `{"formId":{"name":1,"name":2},"fields":{}}`, general: "duplicate"},
	{name: "invalid UTF-8 in an ignored member", body: "{\"formId\":[{\"name\":\"\xff\"}],\"fields\":{}}", general: "invalid UTF-8"},

	{name: "field twice", body: `{"fields":{"name":{"fieldId":"name","value":"a"},"name":{"fieldId":"name","value":"b"}}}`, fields: []string{"name"}},
	{name: "value twice", body: entry(`{"fieldId":"name","value":"a","value":"b"}`), fields: []string{"name"}},
	{name: "deep value", body: value(deep), fields: []string{"name"}},
	{name: "entry is a string", body: entry(`"Ann"`), fields: []string{"name"}},
	{name: "no fieldId", body: entry(`{"value":"Ann"}`), fields: []string{"name"}},
	{name: "no value", body: entry(`{"fieldId":"name"}`), fields: []string{"name"}},
	{name: "Value", body: entry(`{"fieldId":"name","Value":"Ann"}`), fields: []string{"name"}},
	{name: "unknown member of an entry", body: entry(`{"fieldId":"name","value":"Ann","label":"x"}`), fields: []string{"name"}},
	{name: "fieldId in other case", body: entry(`{"fieldId":"Name","value":"Ann"}`), fields: []string{"name"}},
	{name: "other fieldId", body: entry(`{"fieldId":"note","value":"Ann"}`), fields: []string{"name"}},
	{name: "value number", body: value(`5`), fields: []string{"name"}},
	{name: "value null", body: value(`null`), fields: []string{"name"}},
	{name: "array for a single value", body: value(`["Ann"]`), fields: []string{"name"}},
	{name: "invalid UTF-8", body: value("\"\xc3\x28\""), fields: []string{"name"}},
	{name: "lone high surrogate", body: value(`"\ud800"`), fields: []string{"name"}},
	{name: "raw control character", body: value("\"a\nb\""), fields: []string{"name"}},
	{name: "NUL", body: value(`"a\u0000b"`), fields: []string{"name"}},
	{name: "NUL in a key", body: `{"fields":{"na\u0000me":{"fieldId":"na\u0000me","value":"x"},"name":{"fieldId":"name","value":"x"}}}`, fields: []string{"na\x00me"}},
	{name: "unknown field", body: nestedBody("name", "Ann", "nope", "x"), fields: []string{"nope"}},
	{name: "metadata among the fields", body: nestedBody("name", "Ann", "_id", "1", "id", "1"), fields: []string{"_id", "id"}},
	{name: "many at once", body: `{"fields":{"name":{"fieldId":"name","value":1},"note":{"value":"x"},"nope":{"fieldId":"nope","value":"x"},` +
		`"size":{"fieldId":"size","value":"XXL"},"extras":{"fieldId":"extras","value":["a",1]}}}`, fields: []string{"name", "note", "nope", "size", "extras"}},
}

var deep = strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)

func TestBadBodiesOfTheNestedModel(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", allPath, nestedBody("name", "Bob"))
	for _, f := range slices.Concat(notJSON, nestedFaults) {
		t.Run(f.name, func(t *testing.T) {
			e.reject(t, ask("POST", allPath+"/submission"), f)
			e.reject(t, ask("POST", path), f)
		})
	}
}

var flatFaults = []fault{
	{name: "trailing data", body: `{"note":"x"}]`, general: "not valid JSON"},
	{name: "second value", body: `{"note":"x"} null`, general: "more after"},
	{name: "metadata twice", body: `{"_id":"1","_id":"1"}`, general: "duplicate"},
	{name: "duplicate in metadata", body: `{"_x":{"note":1,"note":2}}`, general: "duplicate"},
	{name: "deep metadata", body: `{"_x":` + deep + `}`, general: "not valid JSON"},
	{name: "key twice", body: `{"note":"a","note":"a"}`, fields: []string{"note"}},
	{name: "deep value", body: `{"note":` + deep + `}`, fields: []string{"note"}},
	{name: "number", body: `{"note":1}`, fields: []string{"note"}},
	{name: "null", body: `{"note":null}`, fields: []string{"note"}},
	{name: "array for a single value", body: `{"note":["x"]}`, fields: []string{"note"}},
	{name: "array of numbers", body: `{"extras":["a",1]}`, fields: []string{"extras"}},
	{name: "separator within a value", body: `{"extras":["a;b"]}`, fields: []string{"extras"}},
	{name: "part that is no option", body: `{"extras":"a;z"}`, fields: []string{"extras"}},
	{name: "invalid UTF-8", body: "{\"note\":\"\xff\"}", fields: []string{"note"}},
	{name: "lone surrogate", body: `{"note":"\ud800"}`, fields: []string{"note"}},
	{name: "NUL", body: `{"note":"\u0000"}`, fields: []string{"note"}},
	{name: "unknown field", body: `{"nope":"x","note":"x"}`, fields: []string{"nope"}},
	{name: "empty key", body: `{"":"x"}`, fields: []string{""}},
	{name: "field id in other case", body: `{"Note":"x"}`, fields: []string{"Note"}},
	{name: "ID", body: `{"ID":"1"}`, fields: []string{"ID"}},
	{name: "nested model", body: nestedBody("note", "x"), fields: []string{"fields"}},
	{name: "all at once", body: `{"name":"","size":"XXL","day":"2023-02-29","count":"1,5","word":"a1","mail":"x","nope":""}`, fields: []string{"name", "size", "day", "count", "word", "mail", "nope"}},
}

func TestBadBodiesOfTheFlatModel(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", allPath, nestedBody("name", "Bob"))
	for _, f := range slices.Concat(notJSON, flatFaults) {
		t.Run(f.name, func(t *testing.T) {
			e.reject(t, ask("PUT", result(path)), f)
		})
	}
}

// A body that breaks off is a bad body, too, if somebody still listens.
func TestBodyThatDoesNotArriveInFull(t *testing.T) {
	e := newHouse(t)
	unchanged := e.unchanged(t)
	bodies := map[string]string{
		"short":       "Content-Length: 1000\r\n\r\n{\"fields\":{",
		"bad chunk":   "Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
		"short chunk": "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"fields\":{",
	}
	for name, rest := range bodies {
		conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		req := e.newRequest(t, ask("alice POST", allPath+"/submission"))
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: application/json\r\n%s",
			req.URL.Path, req.Header.Get("Authorization"), rest)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a := answer{resp.StatusCode, resp.Header, readAll(t, resp.Body)}
		checkContract(t, req, a)
		if a.status != 400 || !strings.Contains(a.body, "in full") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		_ = conn.Close()
	}
	unchanged()
}

// tardy is a body whose rest does not come before the server's patience ends.
type tardy struct{ io.Reader }

func (tardy) Close() error { return nil }

func TestBodyThatDoesNotArriveInTime(t *testing.T) {
	e := newHouse(t)
	req := e.newRequest(t, ask("alice POST", allPath+"/submission"))
	req.Body = tardy{io.MultiReader(strings.NewReader(`{"fields":`), iotest.ErrReader(os.ErrDeadlineExceeded))}
	req.ContentLength = -1
	w := httptest.NewRecorder()
	mount(e.api).ServeHTTP(w, req)
	a := answer{w.Code, w.Header(), w.Body.String()}
	checkContract(t, req, a)
	if a.status != 408 {
		t.Errorf("status %d, want 408", a.status)
	}
}

// meanwhile is a body during which something else happens.
func meanwhile(body string, do func()) io.Reader {
	return io.MultiReader(strings.NewReader(body[:1]), &doer{do: do, then: strings.NewReader(body[1:])})
}

type doer struct {
	once sync.Once
	do   func()
	then io.Reader
}

func (d *doer) Read(p []byte) (int, error) {
	d.once.Do(d.do)
	return d.then.Read(p)
}

// A form that becomes anonymous while a body comes in names nobody.
func TestFormBecomesAnonymousWhileTheBodyComesIn(t *testing.T) {
	named := blockWith("a")
	e := newEnv(t, map[string]string{"1.md": named})
	path, _ := e.create(t, "alice", form(1, "f"), nestedBody("a", "A"))
	for status, r := range map[int]testRequest{
		201: ask("alice POST", form(1, "f")+"/submission", nestedBody("a", "B")),
		200: ask("alice PUT", result(path), `{"a":"B"}`),
	} {
		e.Write(t, "1.md", named)
		n := e.sendSlowly(t, r, func() { e.Write(t, "1.md", strings.Replace(named, "form: f\n", "form: f\nanonymous: true\n", 1)) })
		if n.Code != status || !n.anonymous || status == 201 && strings.Contains(n.Body.String(), "alice") {
			t.Errorf("%s: status %d, noted as anonymous: %t, answered with %s", r.method, n.Code, n.anonymous, n.Body)
		}
	}
}

// Who may not change a submission is told so, whatever is wrong with the body.
func TestBadBodyForAnothersSubmission(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", openPath, nestedBody("text", "mine"))
	for path, status := range map[string]int{path: 403, allPath + "/submission/99": 404} {
		for _, mediaType := range []string{"application/json", "text/plain"} {
			header := headerOf("Content-Type", mediaType)
			e.expect(t, status, ask("bob POST", path, "{").with(header))
			e.expect(t, status, ask("bob PUT", result(path), "{").with(header))
		}
	}
}
