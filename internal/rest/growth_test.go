package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
)

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
