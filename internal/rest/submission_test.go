package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestWritesAnswerWithTheWholeSubmission(t *testing.T) {
	e := newHouse(t)
	a := e.expect(t, 201, ask("alice POST", allPath+"/submission", nestedBody("size", "M", "name", "Ann \"the\" <O'Neil> & \u2028 \U0001F980")))
	want := `{"formId":"all","pageId":1,"id":1,"fields":{` +
		`"name":{"id":8193,"fieldId":"name","value":"Ann \"the\" <O'Neil> & ` + "\u2028 \U0001F980" + `"},` +
		`"size":{"id":8194,"fieldId":"size","value":"M"}},` +
		`"timestamp":"` + beganISO + `","username":"alice"}`
	testkit.Same(t, "created", a.body, want)
	location := a.header.Get("Location")
	testkit.Same(t, "Location", location, allPath+"/submission/1")
	testkit.Same(t, "read back", e.get(t, "alice", location), want)
	testkit.Same(t, "list", e.get(t, "alice", allPath+"/submission"), "["+want+"]")
	want = strings.Replace(want, `"value":"M"`, `"value":"S"`, 1)
	testkit.Same(t, "changed", e.expect(t, 200, ask("alice POST", location, nestedBody("size", "S"))).body, want)
	testkit.Same(t, "read back", e.get(t, "alice", location), want)
}

// What was read can be sent back, and nothing changes by it.
func TestWhatWasReadCanBeSentBack(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody(
		"name", "Ann", "note", "", "size", "L", "colour", "red", "extras", "a;c", "day", "2024-02-29", "state", "open",
		"doc", "x.pdf", "count", "-1.5", "word", "Añ", "mail", "a@b.c", "why", "because"))
	for _, target := range []struct{ method, path string }{{"POST", path}, {"PUT", result(path)}} {
		before, read := e.dump(t), e.get(t, "alice", target.path)
		got := e.expect(t, 200, ask("alice "+target.method, target.path, read)).body
		testkit.Same(t, target.method, got, read)
		testkit.Same(t, target.method, e.dump(t), before)
	}
}

// Members that are the service's own are ignored even when they lie.
func TestMembersThatAClientMayNotSetAreIgnored(t *testing.T) {
	e := newHouse(t)
	path, id := e.create(t, "alice", allPath, `{"id":77,"username":"mallory","timestamp":"1999","pageId":9,"formId":"x",`+
		`"fields":{"name":{"id":66,"fieldId":"name","value":"Ann"}}}`)
	want := fmt.Sprintf(`{"formId":"all","pageId":1,"id":%d,"fields":{"name":{"id":%d,"fieldId":"name","value":"Ann"}},`+
		`"timestamp":%q,"username":"alice"}`, id, 8192*id+1, beganISO)
	testkit.Same(t, "created", e.get(t, "alice", path), want)
	e.expect(t, 200, ask("alice PUT", result(path), `{"_id":5,"_timestamp":[],"_username":{"a":"b"},"id":null,"_anything":true,"note":"x"}`))
	testkit.Same(t, "username", pick(t, e.get(t, "alice", path), "username"), `"alice"`)
	testkit.Same(t, "note", pick(t, e.get(t, "alice", result(path)), "note"), `"x"`)
}
