package events

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// call is a request that a receiver got, with a valid signature.
type call struct {
	ID, Body string
}

// receiver is the other end of a webhook.
type receiver struct {
	*httptest.Server
	t      testing.TB
	secret string

	mu     sync.Mutex
	calls  []call
	status func(c call) int // nil answers 204
}

func newReceiver(t testing.TB, status func(c call) int) *receiver {
	t.Helper()
	r := &receiver{t: t, secret: testSecret, status: status}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	verifier, secretErr := standardwebhooks.NewWebhook(r.secret)
	if err = errors.Join(err, secretErr); err == nil {
		err = verifier.Verify(body, request.Header)
	}
	if err != nil || request.Header.Get("Content-Type") != "application/json" || request.Method != http.MethodPost {
		r.t.Errorf("a request that is not valid: %v, %s %v", err, request.Method, request.Header)
	}
	c := call{request.Header.Get("webhook-id"), string(body)}
	r.mu.Lock()
	r.calls = append(r.calls, c)
	status := r.status
	r.mu.Unlock()
	answer := http.StatusNoContent
	if status != nil {
		answer = status(c)
	}
	w.WriteHeader(answer)
}

// answers changes what is answered from now on.
func (r *receiver) answers(status func(c call) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// got returns the calls until now.
func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

// hook is the entry of the receiver in a hooks file.
func (r *receiver) hook(name string, more ...string) string {
	lines := append([]string{"- name: " + name, "  url: " + r.URL + "/secret-path", "  secret: " + r.secret, "  allowPrivate: true"}, more...)
	return strings.Join(lines, "\n") + "\n"
}

// logBuffer is a log that goroutines write to.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// fixture is a real store with listeners.
type fixture struct {
	t         testing.TB
	store     store.Engine
	file      string
	mail      *fakeMail
	listeners *Listeners
	log       *logBuffer
}

// fakeMail takes mails.
type fakeMail struct {
	mu    sync.Mutex
	mails []Mail
	err   error
}

func (f *fakeMail) Allows(address string) bool { return strings.HasSuffix(address, "@example.org") }

func (f *fakeMail) Send(_ context.Context, m Mail) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mails = append(f.mails, m)
	return f.err
}

func (f *fakeMail) fails(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeMail) sent() []Mail {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Mail(nil), f.mails...)
}

// open opens a store, and listeners for hooks of a file. In the end, the log must show
// neither addresses nor secrets.
func open(t testing.TB, on enginetest.Engine, hooks ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, store: on.Open(t), mail: &fakeMail{}, log: &logBuffer{}, file: filepath.Join(t.TempDir(), "hooks.yaml")}
	f.writes(hooks...)
	var err error
	if f.listeners, err = OpenListeners(f.file, f.mail, newLog(f.log)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, secret := range []string{"127.0.0.1", "secret-path", testSecret, "someone", "answer-"} {
			if strings.Contains(f.log.String(), secret) {
				t.Errorf("the log has %q:\n%s", secret, f.log)
			}
		}
	})
	return f
}

// writes replaces the hooks file.
func (f *fixture) writes(hooks ...string) {
	f.t.Helper()
	testkit.WriteFile(f.t, f.file, "hooks:\n"+strings.Join(hooks, ""))
}

var quick = tuning{
	poll: 5 * time.Millisecond, cleanUp: time.Hour, lease: 25 * time.Second, attempt: attemptTimeout, backoff: 2 * time.Millisecond,
	grace: 30 * time.Second,
}

// dispatcher makes one with short times.
func (f *fixture) dispatcher() *Dispatcher {
	d := NewDispatcher(DispatcherOptions{
		Store: f.store, Listeners: f.listeners, Retry: 72 * time.Hour, NotifyInterval: time.Hour, Log: f.listeners.log,
		Current: func(s forms.Submission) (forms.Submission, error) { return s, nil },
		Append: func(_ []byte, s forms.Submission) ([]byte, error) {
			return []byte(`{"entries":` + string(s.Entries) + `}`), nil
		},
	})
	d.tune = quick
	return d
}

// runs runs a dispatcher until the end of the test, or until stop is called.
func (f *fixture) runs(d *Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	f.t.Cleanup(stop)
	return stop
}

// creates stores a submission of page 1, with events for the listeners.
func (f *fixture) creates(formID, value string) forms.Submission {
	f.t.Helper()
	return f.createsAt(&forms.Form{PageID: 1, ID: formID, Title: "Title of " + formID}, "someone", value, time.Now())
}

func (f *fixture) createsAt(form *forms.Form, user, value string, at time.Time) forms.Submission {
	f.t.Helper()
	sub, err := f.store.Create(f.t.Context(), store.New{
		PageID: form.PageID, FormID: form.ID, Username: user, Created: at, Entries: []forms.Entry{{FieldID: "text", Value: value}},
		Events: f.listeners.Events(form, "de", form.Anonymous, store.SubmissionCreated, at, nil),
	})
	testkit.Must(f.t, err)
	return sub
}

// count returns the counts of a hook.
func (f *fixture) count(hook string) store.EventCount {
	f.t.Helper()
	counts, err := f.store.EventCounts(f.t.Context())
	testkit.Must(f.t, err)
	for _, c := range counts {
		if c.Hook == hook {
			return c
		}
	}
	return store.EventCount{Hook: hook}
}

// settles waits until no event of a hook waits, and so many have failed.
func (f *fixture) settles(hook string, failed int64) {
	f.t.Helper()
	testkit.Eventually(f.t, "the events of "+hook+" are settled", func() bool {
		c := f.count(hook)
		return c.Queued == 0 && c.Failed == failed
	})
}
