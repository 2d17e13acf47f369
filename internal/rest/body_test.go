package rest

import (
	"bufio"
	"encoding/json"
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

	"github.com/formulary/formulary/internal/testkit"
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
	testkit.Must(t, json.Unmarshal([]byte(a.body), &got))
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

// faults reads cases: a name, a body, the fields at fault, and a part of the general error.
func faults(text string) (list []fault) {
	const many = 100_000
	special := strings.NewReplacer(
		"<open>", strings.Repeat("[", many), "<objects>", strings.Repeat(`{"a":`, many),
		"<deep>", strings.Repeat("[", many)+strings.Repeat("]", many),
		"<nested>", strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth),
		"<BOM>", "\ufeff", "<FF>", "\xff", "<C3>", "\xc3", "<LF>", "\n", "<NUL>", "\x00",
	)
	for _, row := range testkit.Rows(text) {
		f := fault{name: row[0], body: special.Replace(row[1]), general: row[3]}
		for _, id := range strings.Fields(row[2]) {
			f.fields = append(f.fields, special.Replace(strings.Trim(id, `"`)))
		}
		list = append(list, f)
	}
	return list
}

// entry puts the text after the name of a field in the nested model.
func entry(text string) string { return `{"fields":{"name":` + text + `}}` }

// notJSON is wrong in both models.
var notJSON = faults(`
empty |  |  | empty
not JSON | x=1 |  | not valid JSON
truncated | {"fields":{"name":{"fieldId":"name","value":"An |  | not valid JSON
array | [{"fields":{}}] |  | must be a JSON object
null | null |  | must be a JSON object
byte order mark | <BOM>{} |  | not valid JSON
invalid UTF-8 in a key | {"<FF>":1} |  | not valid JSON
cut character after a surrogate | {"\ud800aaaaaéééé":1} |  | not valid JSON
deep array | <open> |  | must be a JSON object
deep object | {"id":<objects> |  | not valid JSON
duplicate in an ignored member | {"id":{"x":1,"x":2}} |  | not valid JSON
duplicate ignored member | {"id":1,"id":2} |  | not valid JSON
`)

var nestedFaults = faults(`
no fields | {} |  | "fields" is missing
fields null | {"fields":null} |  | "fields" must be a JSON object
fields array with a duplicate | {"fields":[{"name":1,"name":2}]} |  | "fields" must be a JSON object
Fields | {"Fields":{}} |  | unknown member
both cases | {"fields":{"name":{"fieldId":"name","value":""}},"FIELDS":{}} | name | unknown member
unknown member beside fields at fault | {"extra":1,"fields":{"name":{"fieldId":"name","value":""},"size":{"fieldId":"size","value":"XXL"}}} | name size | unknown member "extra"
deeper than any body of ours | {"id":<nested>,"fields":{}} |  | nested too deeply
fields twice | {"fields":{},"fields":{}} |  | duplicate
trailing data | {"fields":{"name":{"fieldId":"name","value":"x"}}}x |  | not valid JSON
second value | {"fields":{"name":{"fieldId":"name","value":"x"}}}{} |  | more after
deep in an ignored member | {"timestamp":<deep>,"fields":{}} |  | not valid JSON
duplicate in an ignored member | {"formId":{"name":1,"name":2},"fields":{}} |  | duplicate
invalid UTF-8 in an ignored member | {"formId":[{"name":"<FF>"}],"fields":{}} |  | invalid UTF-8
field twice | {"fields":{"name":{"fieldId":"name","value":"a"},"name":{"fieldId":"name","value":"b"}}} | name |
value twice | {"fields":{"name":{"fieldId":"name","value":"a","value":"b"}}} | name |
deep value | {"fields":{"name":{"fieldId":"name","value":<deep>}}} | name |
entry is a string | {"fields":{"name":"Ann"}} | name |
no fieldId | {"fields":{"name":{"value":"Ann"}}} | name |
no value | {"fields":{"name":{"fieldId":"name"}}} | name |
Value | {"fields":{"name":{"fieldId":"name","Value":"Ann"}}} | name |
unknown member of an entry | {"fields":{"name":{"fieldId":"name","value":"Ann","label":"x"}}} | name |
fieldId in other case | {"fields":{"name":{"fieldId":"Name","value":"Ann"}}} | name |
other fieldId | {"fields":{"name":{"fieldId":"note","value":"Ann"}}} | name |
value number | {"fields":{"name":{"fieldId":"name","value":5}}} | name |
value null | {"fields":{"name":{"fieldId":"name","value":null}}} | name |
array for a single value | {"fields":{"name":{"fieldId":"name","value":["Ann"]}}} | name |
invalid UTF-8 | {"fields":{"name":{"fieldId":"name","value":"<C3>("}}} | name |
lone high surrogate | {"fields":{"name":{"fieldId":"name","value":"\ud800"}}} | name |
raw control character | {"fields":{"name":{"fieldId":"name","value":"a<LF>b"}}} | name |
NUL | {"fields":{"name":{"fieldId":"name","value":"a\u0000b"}}} | name |
NUL in a key | {"fields":{"na\u0000me":{"fieldId":"na\u0000me","value":"x"},"name":{"fieldId":"name","value":"x"}}} | na<NUL>me |
unknown field | {"fields":{"name":{"fieldId":"name","value":"Ann"},"nope":{"fieldId":"nope","value":"x"}}} | nope |
metadata among the fields | {"fields":{"name":{"fieldId":"name","value":"Ann"},"_id":{"fieldId":"_id","value":"1"},"id":{"fieldId":"id","value":"1"}}} | _id id |
many at once | {"fields":{"name":{"fieldId":"name","value":1},"note":{"value":"x"},"nope":{"fieldId":"nope","value":"x"},"size":{"fieldId":"size","value":"XXL"},"extras":{"fieldId":"extras","value":["a",1]}}} | name note nope size extras |
`)

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

var flatFaults = faults(`
trailing data | {"note":"x"}] |  | not valid JSON
second value | {"note":"x"} null |  | more after
metadata twice | {"_id":"1","_id":"1"} |  | duplicate
duplicate in metadata | {"_x":{"note":1,"note":2}} |  | duplicate
deep metadata | {"_x":<deep>} |  | not valid JSON
key twice | {"note":"a","note":"a"} | note |
deep value | {"note":<deep>} | note |
number | {"note":1} | note |
null | {"note":null} | note |
array for a single value | {"note":["x"]} | note |
array of numbers | {"extras":["a",1]} | extras |
separator within a value | {"extras":["a;b"]} | extras |
part that is no option | {"extras":"a;z"} | extras |
invalid UTF-8 | {"note":"<FF>"} | note |
lone surrogate | {"note":"\ud800"} | note |
NUL | {"note":"\u0000"} | note |
unknown field | {"nope":"x","note":"x"} | nope |
empty key | {"":"x"} | "" |
field id in other case | {"Note":"x"} | Note |
ID | {"ID":"1"} | ID |
nested model | {"fields":{"note":{"fieldId":"note","value":"x"}}} | fields |
all at once | {"name":"","size":"XXL","day":"2023-02-29","count":"1,5","word":"a1","mail":"x","nope":""} | name size day count word mail nope |
`)

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
		req := e.newRequest(t, ask("alice POST", allPath+"/submission"))
		conn := e.begin(t, "alice", "POST", allPath+"/submission", rest)
		testkit.Must(t, conn.(*net.TCPConn).CloseWrite())
		resp, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a := answer{resp.StatusCode, resp.Header, readAll(t, resp.Body)}
		checkContract(t, req, a)
		if a.status != 400 || !strings.Contains(a.body, "in full") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
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
	testkit.Same(t, "status", a.status, 408)
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
