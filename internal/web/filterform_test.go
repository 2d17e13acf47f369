package web

import (
	"fmt"
	stdhtml "html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

const kindsForm = `form: feedback
fields:
  - {id: name, type: textfield, label: Name}
  - {id: state, type: status, label: State, options: [New, Open]}
  - {id: grade, type: radio, label: Grade, options: [1, 2]}
  - {id: topics, type: checkbox, label: Topics, options: [Food, Fast Food, Room]}
  - {id: day, type: date, label: Day}
  - {id: score, type: textfield, label: Score, validate: numeric}
  - {id: doc, type: file, label: Document}
`

// TestFilterControls has the controls of a filter follow its field.
func TestFilterControls(t *testing.T) {
	e := newEnv(t, page1("", kindsForm))
	e.get(t, "alice", feedbackResults).wantNoHTML("Condition", `name="_value"`) // a field comes first
	for field, want := range map[string]string{
		"name":       "text: contains, is, is not, is one of (separated by ;), is empty, is not empty",
		"state":      "New Open: is, is not, is empty, is not empty",
		"grade":      "1 2: is, is not, is above, is below, is empty, is not empty",
		"topics":     "Food Fast Food Room: includes, is exactly, is empty, is not empty",
		"day":        "date: is, is not, is after, is before, is empty, is not empty",
		"score":      "text: is, is not, is above, is below, is empty, is not empty",
		"doc":        "text: contains, is not empty, is empty",
		"_timestamp": "date: is, is not, is after, is before",
		"_changed":   "date: is, is not, is after, is before",
		"_username":  "text: contains, is, is not, is one of (separated by ;), is empty, is not empty",
		"_id":        "number: is, is not, is above, is below",
		"unknown":    "text: contains, is, is not, is one of (separated by ;), is empty, is not empty",
	} {
		// With JavaScript the controls alone are asked for. Without it, "Apply"
		// shows them, also if they were those of another field.
		part := e.get(t, "alice", feedbackResults+"?_part=filter&_field="+field)
		part.wantNoHTML("<title>", "Apply")
		for _, page := range []*answer{
			part, e.get(t, "alice", feedbackResults+"?q=&_field="+field),
			e.get(t, "alice", feedbackResults+"?q=&_rule=other&_operator=equals&_value=x&_field="+field),
		} {
			if got := controlsOf(page); got != want {
				t.Errorf("%s of %s: %s\nwant %s", page.path, field, got, want)
			}
			page.wantHTML(`<input type="hidden" name="_rule" value="` + field + `">`)
		}
	}
	e.expect(t, 422, "alice", feedbackResults+"?_field=name&_operator=equals&_value=").wantHTML(
		`<a href="#filter-value">The value to filter by is missing</a>`)
}

// controlsOf describes the controls for the value and the operator.
func controlsOf(page *answer) string {
	value, operators := "", []string(nil)
	for _, n := range page.all(func(n *html.Node) bool { return hasAttribute(n, "name") }) {
		switch attribute(n, "name") + " " + n.Data {
		case "_operator select":
			for o := range n.Descendants() {
				if o.Data == "option" {
					operators = append(operators, textOf(o))
				}
			}
		case "_value select":
			value = textOf(n)
		case "_value input":
			value = attribute(n, "type")
		}
	}
	return value + ": " + strings.Join(operators, ", ")
}

var barPattern = regexp.MustCompile(`<a href="([^"]+)" title="Show these">(?s:.*?)<td class="number">(\d+)</td>`)

// TestBarsLeadToWhatTheyCount follows each bar to as many submissions as it has.
func TestBarsLeadToWhatTheyCount(t *testing.T) {
	e := newEnv(t, page1("", kindsForm))
	for _, topics := range []string{"Food", "Fast Food", "Food;Room", "Fast Food;Room", "Room", ""} {
		e.submit(t, "alice", 1, "feedback", "topics", topics, "state", "Open")
	}
	var counts []string
	for _, bar := range barPattern.FindAllStringSubmatch(e.get(t, "alice", feedbackResults).body, -1) {
		page := e.get(t, "alice", stdhtml.UnescapeString(bar[1]))
		if got := fmt.Sprint(len(rowIDs(page))); got != bar[2] {
			t.Errorf("%s has %s rows, want %s", page.path, got, bar[2])
		}
		counts = append(counts, bar[2])
	}
	if diff := cmp.Diff([]string{"6", "2", "2", "3"}, counts); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	page := e.get(t, "alice", feedbackResults+"?filter[topics][contains]=Food&filter[_timestamp][less-than]=2030-01-01")
	page.want(200, "Topics includes Food", "Time is before 2030-01-01")
}
