package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
)

// A create of four fields and a read allocate little. Both counts include the test's own request and recorder.
func TestAllocations(t *testing.T) {
	e := newEnvOn(t, enginetest.SQLite, map[string]string{"1-survey.md": "---\nedit: [alice]\n---\n```form\n" + `form: survey
fields:
  - {id: comment, type: textbox, label: Comment, required: true}
  - {id: rating, type: dropdown, label: Rating, options: [1, 2, 3, 4, 5]}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: day, type: date, label: Day}
` + "```\n"})
	const body = `{"fields":{"comment":{"fieldId":"comment","value":"Lunch came late."},"rating":{"fieldId":"rating","value":"4"},` +
		`"mail":{"fieldId":"mail","value":"ann@example.org"},"day":{"fieldId":"day","value":"2026-01-31"}}}`
	path := form(1, "survey") + "/submission"
	for _, test := range []struct {
		method, path, body string
		status             int
		most               float64
	}{
		{"POST", path, body, http.StatusCreated, 60},
		{"GET", path + "/1", "", http.StatusOK, 40},
	} {
		got := testing.AllocsPerRun(500, func() {
			r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
			r.SetBasicAuth("alice", "alice-secret")
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			e.api.ServeHTTP(w, r)
			if w.Code != test.status {
				t.Fatalf("%s: %d %s", test.method, w.Code, w.Body)
			}
		})
		if got > test.most {
			t.Errorf("%s: %v allocations, at most %v", test.method, got, test.most)
		}
	}
}
