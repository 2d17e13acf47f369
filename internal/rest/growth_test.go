package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
)

// Merges do not make a submission grow beyond what one body may hold.
func TestSubmissionDoesNotGrowWithoutLimit(t *testing.T) {
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint("f", i)
	}
	e := newEnv(t, map[string]string{"1.md": blockWith(ids...)})
	const room = request.DefaultMaxBody - len(`{"f0":""}`) // of the flat model
	path, _ := e.create(t, "alice", form(1, "f"), nestedBody("f0", strings.Repeat("x", request.DefaultMaxBody-100)))
	before := e.dump(t)
	for i, id := range ids[1:] {
		r := testRequest{user: "alice", method: "PUT", path: result(path), body: fmt.Sprintf(`{%q:%q}`, id, strings.Repeat("y", room-len(id)))}
		if i%2 == 1 {
			r = testRequest{user: "alice", method: "POST", path: path, body: nestedBody(id, strings.Repeat("y", request.DefaultMaxBody-100))}
		}
		if a := e.expect(t, http.StatusRequestEntityTooLarge, r); !strings.Contains(a.body, "1048576 bytes") {
			t.Errorf("%s", a.body)
		}
	}
	if after := e.dump(t); after != before {
		t.Errorf("a refused merge changed something: %s", clip(after))
	}
	// To make it smaller and change it within the limit is possible.
	e.expect(t, http.StatusOK, testRequest{user: "alice", method: "PUT", path: result(path), body: `{"f0":"","f1":"` + strings.Repeat("y", 1_000_000) + `"}`})
}

// Whatever fits into a body can be created: the limit of a submission never
// refuses what the limit of a body takes.
func TestLargestBodyCanBeCreated(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": blockWith("a")})
	empty := len(nestedBody("a", ""))
	e.create(t, "alice", form(1, "f"), nestedBody("a", strings.Repeat("x", request.DefaultMaxBody-empty)))
	e.expect(t, http.StatusRequestEntityTooLarge, testRequest{
		user: "alice", method: "POST", path: form(1, "f") + "/submission", body: nestedBody("a", strings.Repeat("x", request.DefaultMaxBody-empty+1)),
	})
}
