package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// countingStore counts how often a submission is read.
type countingStore struct {
	store.Store
	reads atomic.Int64
}

func (s *countingStore) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	s.reads.Add(1)
	return s.Store.Get(ctx, key)
}

// A page reads the submission that it shows once, however large it is.
func TestSubmissionIsReadOnce(t *testing.T) {
	e, opts := openEnv(t, enginetest.SQLite, wiki)
	counted := &countingStore{Store: e.store}
	opts.Backend = request.NewBackend(request.Options{
		Service: service.New(service.Options{
			Pages: e.source, Store: counted, Files: e.store, OnceKey: secret, Now: e.clock.Now, MaxSubmission: request.DefaultMaxBody,
		}),
		Auth: e.users, Logger: slog.New(slog.DiscardHandler),
	})
	e.site = New(opts)
	e.serve(t, e.site)
	b := e.signedIn(t, "alice")
	const form = "/page/2/form/once"
	path := strings.TrimSuffix(b.send(form, with(b.get(form).values(), "text", "mine")).path, "?sent")
	for _, tt := range []struct {
		path string
		want int64
	}{{path, 1}, {path + "/change", 1}, {form, 1}, {"/page/2", 0}} { // the form leads to its submission
		counted.reads.Store(0)
		b.get(tt.path).want(http.StatusOK)
		if n := counted.reads.Load(); n != tt.want {
			t.Errorf("%s reads the submission %d times, want %d", tt.path, n, tt.want)
		}
	}
}
