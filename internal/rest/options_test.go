package rest

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// The API knows options by their values. Labels are in tables that ask for them, and are found.
func TestLabelsOfOptions(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": "```yaml form\n" + `form: leave
fields:
  - id: state
    type: status
    label: State
    options: [open, {value: s1, label: Granted, color: green}, {value: s2, label: Refused}]
` + "```\n"})
	for _, state := range []string{"open", "s1", "s2"} {
		e.create(t, "alice", form(1, "leave"), nestedBody("state", state))
	}
	e.expectText(t, "400", ask("alice POST", form(1, "leave")+"/submission", nestedBody("state", "Granted")),
		`"fieldErrors":{"state":"must be one of open, s1, s2"}`)
	for _, row := range testkit.Rows(`
		/ | "validations":[{"value":"open"},{"value":"s1"},{"value":"s2"}]
		/result?q=grant | [{"_id":"2","_timestamp":"1763164800123","_username":"alice","state":"s1"}]
		/result?q=s2 | [{"_id":"3","_timestamp":"1763164800123","_username":"alice","state":"s2"}]
		/result?filter[state]=Granted | []
		/result?format=csv&q=grant | ,alice,s1
		/result?format=csv&q=grant&labels=true | ,alice,Granted
		/summary | "options":[{"value":"open","count":1},{"value":"s1","count":1},{"value":"s2","count":1}]
	`) {
		e.expectText(t, "200", ask("alice GET", form(1, "leave")+strings.TrimSuffix(row[0], "/")), row[1])
	}
}
