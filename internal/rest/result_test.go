package rest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

func TestResultIsExactlyTheGoldenOne(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, `{"fields":{"name":{"fieldId":"name","value":"Ann"},`+
		`"extras":{"fieldId":"extras","value":["a","c"]},"note":{"fieldId":"note","value":"<&>\n\"\\"}}}`)
	want := `{"_id":"1","_timestamp":"` + beganMillis + `","_username":"alice","name":"Ann","note":"<&>\n\"\\","size":"",` +
		`"colour":"","extras":"a;c","day":"","state":"","doc":"","count":"","word":"","mail":"","why":""}`
	testkit.Same(t, "answer", e.get(t, "alice", result(path)), want)
	testkit.Same(t, "list", e.get(t, "alice", allPath+"/result"), "["+want+"]")
	// The answer to an update is the whole result, too.
	got := e.expect(t, 200, ask("alice PUT", result(path), `{"size":"M"}`)).body
	if want := strings.Replace(want, `"size":""`, `"size":"M"`, 1); got != want {
		t.Errorf("after the update\n%s\nwant\n%s", got, want)
	}
}

func TestDeleteIsForGood(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	a := e.expect(t, 204, ask("alice DELETE", result(path)))
	if a.header.Get("Content-Type") != "" || a.header.Get("Content-Length") != "" {
		t.Errorf("204 comes with %v", a.header)
	}
	for _, r := range asks("alice", `
		GET /page/1/form/all/submission/1
		POST /page/1/form/all/submission/1 {"fields":{"name":{"fieldId":"name","value":"x"}}}
		GET /page/1/form/all/result/1
		PUT /page/1/form/all/result/1 {"name":"x"}
		DELETE /page/1/form/all/result/1
	`) {
		e.expect(t, 404, r)
	}
	for _, list := range []string{"/submission", "/result"} {
		testkit.Same(t, list, e.get(t, "alice", allPath+list), "[]")
	}
}

// Fields leave a page, come back, and forms do; what was stored outlives it.
func TestFieldsThatLeftThePage(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": blockWith("a", "b", "c")})
	path, _ := e.create(t, "alice", form(1, "f"), nestedBody("a", "A", "b", "B", "c", "C"))
	e.Write(t, "1.md", blockWith("d", "c"))

	want := `{"_id":"1","_timestamp":"` + beganMillis + `","_username":"alice","d":"","c":"C","a":"A","b":"B"}`
	testkit.Same(t, "answer", e.get(t, "alice", result(path)), want)
	unchanged := e.unchanged(t)
	for _, r := range []testRequest{
		ask("alice PUT", result(path), `{"a":"changed","c":"changed"}`),
		ask("alice POST", path, nestedBody("a", "changed", "c", "changed")),
		ask("alice POST", form(1, "f")+"/submission", nestedBody("a", "A")),
	} {
		a := e.expect(t, 400, r)
		if want := `{"valid":false,"fieldErrors":{"a":"is not a field of this form"},"errors":[]}`; a.body != want {
			t.Errorf("%s %s: %s, want %s", r.method, r.body, a.body, want)
		}
	}
	unchanged()
	// What was read can still be sent back, retired fields and all.
	for _, target := range []struct{ method, path string }{{"POST", path}, {"PUT", result(path)}} {
		read := e.get(t, "alice", target.path)
		got := e.expect(t, 200, ask("alice "+target.method, target.path, read)).body
		if diff := cmp.Diff(decoded(t, read), decoded(t, got)); diff != "" { // their order may change
			t.Errorf("%s of what was read (-) answered (+):\n%s", target.method, diff)
		}
	}
	e.Write(t, "1.md", blockWith("a", "b", "c"))
	for id, want := range map[string]string{"a": `"A"`, "b": `"B"`, "c": `"C"`} {
		testkit.Same(t, id, pick(t, e.get(t, "alice", path), "fields", id, "value"), want)
	}
}

// blockWith is a page with form "f" of the given text fields.
func blockWith(ids ...string) string {
	text := "```form\nform: f\nfields:\n"
	for _, id := range ids {
		text += "  - {id: " + id + ", type: textfield, label: " + id + "}\n"
	}
	return text + "```\n"
}

func TestFormsAndPagesThatLeaveComeBackWithTheirData(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": blockWith("a")})
	path, _ := e.create(t, "alice", form(1, "f"), nestedBody("a", "A"))
	want := e.get(t, "alice", path)
	for what, withdraw := range map[string]func(){
		"form": func() { e.Write(t, "1.md", nonePage) },
		"page": func() { e.Remove(t, "1.md") },
	} {
		withdraw()
		e.expect(t, 404, ask("alice GET", path))
		e.expect(t, 404, ask("alice PUT", result(path), `{"a":"A"}`))
		e.Write(t, "1.md", blockWith("a"))
		testkit.Same(t, what, e.get(t, "alice", path), want)
	}
}
