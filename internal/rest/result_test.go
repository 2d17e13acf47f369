package rest

import (
	"strings"
	"testing"

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
	got := e.expect(t, 200, ask("alice PUT", result(path), `{"size":"M","extras":["c","b"]}`)).body
	testkit.Same(t, "after the update", got, strings.NewReplacer(`"size":""`, `"size":"M"`, "a;c", "c;b").Replace(want))
}

// blockWith is a page with form "f" of the given text fields.
func blockWith(ids ...string) string {
	text := "```form\nform: f\nfields:\n"
	for _, id := range ids {
		text += "  - {id: " + id + ", type: textfield, label: " + id + "}\n"
	}
	return text + "```\n"
}
