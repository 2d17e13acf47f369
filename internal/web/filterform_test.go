package web

import (
	"fmt"
	stdhtml "html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const kindsForm = `form: feedback
fields:
  - {id: name, type: textfield, label: Name}
  - {id: state, type: status, label: State, options: [New, Open]}
  - {id: grade, type: radio, label: Grade, options: [1, 2]}
  - {id: topics, type: checkbox, label: Topics, options: [Food, Fast Food, Room]}
  - {id: day, type: date, label: Day}
  - {id: score, type: textfield, label: Score, validate: numeric}
  - {id: debt, type: textfield, label: Debt, validate: numeric, min: -100}
  - {id: doc, type: file, label: Document}
`

// TestFilterControls has the controls of a filter follow its field.
func TestFilterControls(t *testing.T) {
	e := newEnv(t, page1("", kindsForm))
	e.get("alice", feedbackResults).wantNoHTML("Condition", `name="_value"`) // a field comes first
	for field, want := range map[string]string{
		"name":       "text: contains, is, is not, is one of (separated by ;), is empty, is not empty",
		"state":      "New Open: is one of, is not, is empty, is not empty",
		"grade":      "1 2: is one of, is not, is above, is below, is empty, is not empty",
		"topics":     "Food Fast Food Room: includes, is exactly, is empty, is not empty",
		"day":        "date: is, is not, is after, is before, is between, is this month, is last month, is in the last 7 days, is empty, is not empty",
		"score":      "text decimal: is, is not, is above, is below, is between, is empty, is not empty",
		"debt":       "text: is, is not, is above, is below, is between, is empty, is not empty",
		"doc":        "text: contains, is not empty, is empty",
		"_timestamp": "date: is, is not, is after, is before, is between, is this month, is last month, is in the last 7 days",
		"_changed":   "date: is, is not, is after, is before, is between, is this month, is last month, is in the last 7 days",
		"_username":  "text: contains, is, is not, is one of (separated by ;), is empty, is not empty",
		"_id":        "number: is, is not, is above, is below, is between",
		"unknown":    "text: contains, is, is not, is one of (separated by ;), is empty, is not empty",
	} {
		// With JavaScript the controls alone are asked for. Without it, "Apply"
		// shows them, also if they were those of another field.
		part := e.get("alice", feedbackResults+"?_part=filter&_field="+field)
		part.wantNoHTML("<title>", "Apply")
		for _, page := range []*answer{
			part, e.get("alice", feedbackResults+"?q=&_field="+field),
			e.get("alice", feedbackResults+"?q=&_rule=other&_operator=equals&_value=x&_field="+field),
		} {
			if got := controlsOf(page); got != want {
				t.Errorf("%s of %s: %s\nwant %s", page.path, field, got, want)
			}
			page.wantHTML(`<input type="hidden" name="_rule" value="` + field + `">`)
		}
	}
	e.expect(422, "alice", feedbackResults+"?_field=name&_operator=equals&_value=").wantHTML(
		`<a href="#filter-value">“Value” is required</a>`)
}

// controlsOf describes the controls for the value and the operator.
func controlsOf(page *answer) string {
	value, operators := "", []string(nil)
	for _, n := range page.find("[name]") {
		switch attribute(n, "name") + " " + n.Data {
		case "_operator select":
			operators = textsOf(find(n, "option"))
		case "_value input":
			if hasAttribute(n, "hidden") { // it goes along with another language
				continue
			}
			if value = strings.TrimSpace(value + " " + attribute(n, "value")); attribute(n, "type") != "checkbox" {
				value = strings.TrimSpace(attribute(n, "type") + " " + attribute(n, "inputmode"))
			}
		}
	}
	return value + ": " + strings.Join(operators, ", ")
}

var barPattern = regexp.MustCompile(`<a href="([^"]+)" title="Show these">(?s:.*?)<td class="number">(\d+)</td>`)

// TestBarsLeadToWhatTheyCount follows each bar to as many submissions as it has.
func TestBarsLeadToWhatTheyCount(t *testing.T) {
	e := newEnv(t, page1("", kindsForm))
	for _, topics := range []string{"Food", "Fast Food", "Food;Room", "Fast Food;Room", "Room", ""} {
		e.submit("alice", 1, "feedback", "topics", topics, "state", "Open")
	}
	var counts []string
	for _, bar := range barPattern.FindAllStringSubmatch(e.get("alice", feedbackResults).body, -1) {
		page := e.get("alice", stdhtml.UnescapeString(bar[1]))
		testkit.Same(t, page.path, fmt.Sprint(len(rowIDs(page))), bar[2])
		counts = append(counts, bar[2])
	}
	testkit.Diff(t, "bars", counts, []string{"6", "2", "2", "3"})
	page := e.get("alice", feedbackResults+"?filter[topics][contains]=Food&filter[_timestamp][less-than]=2030-01-01&filter[day][one-of]=2026-01-01;2026-01-02")
	page.want(200, "Topics includes Food", "Sent is before 1 Jan 2030", "Day is one of 1 Jan 2026, 2 Jan 2026")
}

// TestFiltersThatAreAdded has the form's controls become filters of the address, which the
// page says in words.
func TestFiltersThatAreAdded(t *testing.T) {
	e := newEnv(t, page1("", strings.Replace(kindsForm, "options: [New, Open]", "options: [{value: New, label: Brand new}, Open]", 1)))
	e.Clock.Set(time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC))
	for _, row := range testkit.Rows(`
		state&_operator=one-of&_value=New&_value=Open | filter[state][one-of]=New;Open | State is one of Brand new, Open
		state&_operator=one-of&_value=New | filter[state][one-of]=New | State is Brand new
		state&_operator=not-equals&_value=New&_value=Open | filter[state][not-equals]=New&filter[state][not-equals]=Open | State is not Brand new
		topics&_operator=contains&_value=Food&_value=Room | filter[topics][contains]=Food&filter[topics][contains]=Room | Topics includes Room
		topics&_operator=equals&_value=Food&_value=Room | filter[topics][equals]=Food;Room | Topics is exactly Food;Room
		score&_operator=greater-than&_value=+1.234,5+ | filter[score][greater-than]=1234.5 | Score is above 1234.5
		score&_operator=between&_value=1,5&_to=2 | filter[score][between]=1.5;2 | Score is between 1.5 and 2
		score&_operator=between&_value=&_to=2 | filter[score][between]=;2 | Score is at most 2
		score&_operator=between&_value=1&_to= | filter[score][between]=1; | Score is at least 1
		day&_operator=between&_value=2026-01-01&_to=2026-01-31 | filter[day][between]=2026-01-01;2026-01-31 | Day is between 1 Jan 2026 and 31 Jan 2026
		day&_operator=this-month&_value= | filter[day][between]=2026-03-01;2026-03-31 | Day is between
		day&_operator=last-month&_value=2020-01-01&_to= | filter[day][between]=2026-02-01;2026-02-28 | Day is between
		_timestamp&_operator=last-7-days | filter[_timestamp][between]=2026-03-25;2026-03-31 | Sent is between
	`) {
		a := e.expect(303, "alice", feedbackResults+"?_field="+row[0])
		got, err := url.QueryUnescape(a.header.Get("Location"))
		if _, query, _ := strings.Cut(got, "?"); err != nil || query != row[1] {
			t.Errorf("%s leads to %s, want %s", row[0], got, row[1])
		}
		e.get("alice", a.header.Get("Location")).want(200, row[2])
	}
	for _, row := range testkit.Rows(`
		score&_operator=between&_value=&_to= | is required
		score&_operator=greater-than&_value=&_to=5 | is required
		score&_operator=equals&_value=&_to=5 | is required
		score&_operator=between&_value=1.000&_to=2 | can mean either
		score&_operator=between&_value=1&_to=many | must be a number
		grade&_operator=greater-than&_value=1&_value=2 | must be a single value
		state&_operator=one-of | is required
	`) {
		e.expect(422, "alice", feedbackResults+"?_field="+row[0]).wantHTML("“Value” ", row[1])
	}
}
