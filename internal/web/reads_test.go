package web

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A page reads the submission that it shows once, however large it is.
func TestSubmissionIsReadOnce(t *testing.T) {
	e := newEnv(t, wiki)
	var reads atomic.Int64
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if operation == "get" {
			reads.Add(1)
		}
		return nil
	})
	b := e.signedIn(t, "alice")
	const form = "/page/2/form/once"
	path := strings.TrimSuffix(b.send(form, with(b.get(form).values(), "text", "mine")).path, "?sent")
	for _, tt := range []struct {
		path string
		want int64
	}{{path, 1}, {path + "/change", 1}, {form, 1}, {"/page/2", 0}} { // the form leads to its submission
		reads.Store(0)
		b.get(tt.path).want(http.StatusOK)
		if n := reads.Load(); n != tt.want {
			t.Errorf("%s reads the submission %d times, want %d", tt.path, n, tt.want)
		}
	}
}
