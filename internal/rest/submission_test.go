package rest

import (
	"fmt"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestCreateAnswersWithTheWholeSubmission(t *testing.T) {
	e := newHouse(t)
	a := e.expect(t, 201, ask("alice POST", allPath+"/submission", nestedBody("size", "M", "name", "Ann \"the\" <O'Neil> & \u2028 \U0001F980")))
	want := `{"formId":"all","pageId":1,"id":1,"fields":{` +
		`"name":{"id":8193,"fieldId":"name","value":"Ann \"the\" <O'Neil> & ` + "\u2028 \U0001F980" + `"},` +
		`"size":{"id":8194,"fieldId":"size","value":"M"}},` +
		`"timestamp":"` + beganISO + `","username":"alice"}`
	testkit.Same(t, "a.body", a.body, want)
	location := a.header.Get("Location")
	testkit.Same(t, "Location", location, allPath+"/submission/1")
	testkit.Same(t, "read back", e.get(t, "alice", location), want)
	testkit.Same(t, "list", e.get(t, "alice", allPath+"/submission"), "["+want+"]")
}

func TestUpdateMerges(t *testing.T) {
	models := []struct{ model, method, body string }{
		{"nested", "POST", nestedBody("note", "new note", "size", "S")},
		{"flat", "PUT", `{"note":"new note","size":"S"}`},
	}
	for _, m := range models {
		t.Run(m.model, func(t *testing.T) {
			e := newHouse(t)
			path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann", "note", "old note", "mail", "a@b.c"))
			target := path
			if m.model == "flat" {
				target = result(path)
			}
			got := e.expect(t, 200, ask("alice "+m.method, target, m.body)).body
			testkit.Same(t, "the answer to the update is what is read", e.get(t, "alice", target), got)
			const want = `{"name":{"id":8193,"fieldId":"name","value":"Ann"},"note":{"id":8194,"fieldId":"note","value":"new note"},` +
				`"size":{"id":8196,"fieldId":"size","value":"S"},"mail":{"id":8195,"fieldId":"mail","value":"a@b.c"}}`
			testkit.Same(t, "fields", pick(t, e.get(t, "alice", path), "fields"), want)
		})
	}
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

func TestMultiValueFields(t *testing.T) {
	accepted := map[string]string{ // as sent, as stored
		`["a","c"]`: `"a;c"`, `"a;c"`: `"a;c"`, `["b"]`: `"b"`, `"b"`: `"b"`, `[]`: `""`, `""`: `""`, `["c","a"]`: `"c;a"`,
	}
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann", "extras", "a;b;c"))
	for sent, want := range accepted {
		writes := []testRequest{
			ask("POST", path, `{"fields":{"extras":{"fieldId":"extras","value":`+sent+`}}}`),
			ask("PUT", result(path), `{"extras":`+sent+`}`),
		}
		for _, w := range writes {
			w.user = "alice"
			e.expect(t, 200, w)
			if got := pick(t, e.get(t, "alice", path), "fields", "extras", "value"); got != want {
				t.Errorf("%s %s: nested value %s, want %s", w.method, w.body, got, want)
			}
			if got := pick(t, e.get(t, "alice", result(path)), "extras"); got != want {
				t.Errorf("%s %s: flat value %s, want %s", w.method, w.body, got, want)
			}
		}
	}
}
