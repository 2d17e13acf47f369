package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// filled is what fill-examples has sent to a new server, by form.
func filled(t *testing.T) map[string][]map[string]any {
	t.Helper()
	s := newSite(t)
	s.pages, s.users = "../examples/pages", "../examples/users.htpasswd"
	p := start(t, s, "--groups", "../examples/groups")
	cmd := exec.CommandContext(t.Context(), "go", "run", "github.com/formulary/formulary/scripts/fill-examples", p.url, s.pages)
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -trimpath")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "made-up answers were sent to the 6 example forms") {
		t.Fatalf("%v: %s", err, out)
	}
	results := map[string][]map[string]any{}
	for form, path := range map[string]string{
		"feedback": "101/form/feedback", "leave": "102/form/leave", "ballot": "103/form/ballot",
		"registration": "104/form/registration", "helpers": "104/form/helpers", "office": "105/form/office",
	} {
		req, err := request(t.Context(), p.url, "GET", "", "")
		must(t, err)
		req.URL.Path = "/rest/forms/1.0/page/" + path + "/result"
		req.SetBasicAuth("carol", "christmas") // who may read all of them
		r, err := do(client, req)
		var list []map[string]any
		if err != nil || json.Unmarshal([]byte(r.body), &list) != nil {
			t.Fatalf("%s: %d, %v: %s", form, r.status, err, r.body)
		}
		results[form] = list
	}
	return results
}

// `make run` has something to show: many different answers, the same each time.
func TestExamplesAreFilled(t *testing.T) {
	t.Parallel()
	first, second := filled(t), filled(t)
	sum := 0
	for form, list := range first {
		sum += len(list)
		senders, values := map[any]int{}, map[string]map[any]bool{}
		for i, row := range list {
			senders[row["_username"]]++
			for id, value := range row {
				if values[id] == nil {
					values[id] = map[any]bool{}
				}
				values[id][value] = true
				if id != "_timestamp" && id != "from" && id != "until" && second[form][i][id] != value { // dates are near the present day
					t.Errorf("%s: %s is %v, and the next time %v", form, id, value, second[form][i][id])
				}
			}
		}
		many, people := form == "feedback" || form == "leave" || form == "helpers" || form == "office", 3
		if form == "office" {
			people = 1 // it is anonymous
		}
		switch {
		case many && (len(list) < 50 || len(senders) != people):
			t.Errorf("%s: %d submissions by %v", form, len(list), senders)
		case !many && (len(list) != 2 || senders["alice"] != 0): // she can still send hers
			t.Errorf("%s: %d submissions by %v", form, len(list), senders)
		}
		for _, id := range map[string][]string{"feedback": {"comment", "rating", "reason"}, "leave": {"kind", "state"}, "helpers": {"task", "hours"}, "office": {"recommend", "desk", "improve"}}[form] {
			if len(values[id]) < 3 {
				t.Errorf("%s: the answers to %s are %v", form, id, values[id])
			}
		}
	}
	if sum < 230 || sum > 250 {
		t.Errorf("%d submissions", sum)
	}
	if own := first["feedback"][0]; own["_username"] != "alice" || fmt.Sprint(own["_id"]) != "1" { // as in docs/api.md
		t.Errorf("the first submission: %v", own)
	}
}
