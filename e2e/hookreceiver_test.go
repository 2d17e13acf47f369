package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/formulary/formulary/internal/testkit"
)

// receiver is what a webhook calls. It verifies and records every request, and answers
// 204 until it is told to do something else. It fails the test when two requests about
// one form are under way at the same time.
type receiver struct {
	*httptest.Server
	name, secret string // of the hook

	mu      sync.Mutex
	calls   []*hookCall     // in the order in which they began
	running map[string]bool // by form
	fault   hookFault
	over    chan struct{} // closed when the fault is over
}

// hookFault answers a call, and returns the status. gone is closed when the fault is over,
// or the sender waits no longer.
type hookFault func(w http.ResponseWriter, c hookCall, gone <-chan struct{}) (status int)

// hookCall is one request.
type hookCall struct {
	id, path, body string // webhook-id, path of the url
	begun          time.Time
	status         int // of the answer; 0 for none

	Type      string
	Timestamp time.Time
	Data      struct {
		FormID     string
		ID         int64
		Submission *submission
	}
}

// key names the submission.
func (c *hookCall) key() string { return fmt.Sprint(c.Data.FormID, "/", c.Data.ID) }

func newReceiver(t *testing.T, name string) *receiver {
	t.Helper()
	r := &receiver{name: name, secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(rand.Text())), running: map[string]bool{}}
	hook, err := standardwebhooks.NewWebhook(r.secret)
	must(t, err)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the sender was killed
		}
		c := &hookCall{id: req.Header.Get("webhook-id"), path: req.URL.Path, body: string(body), begun: time.Now()}
		if err := hook.Verify(body, req.Header); err != nil || req.Method != http.MethodPost || json.Unmarshal(body, c) != nil {
			t.Errorf("%s %s of hook %s: %v: %s", req.Method, req.URL, r.name, err, body)
			return
		}
		r.answer(t, w, c, req.Context().Done())
	}))
	t.Cleanup(func() {
		r.heal()
		r.Close()
	})
	return r
}

func (r *receiver) answer(t *testing.T, w http.ResponseWriter, c *hookCall, cut <-chan struct{}) {
	r.mu.Lock()
	if r.running[c.Data.FormID] {
		t.Errorf("hook %s gets two events of form %s at the same time", r.name, c.Data.FormID)
	}
	r.running[c.Data.FormID] = true
	r.calls = append(r.calls, c)
	fault, over, call := r.fault, r.over, *c
	r.mu.Unlock()
	status := 0
	defer func() { // also when the fault panics to break the connection
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running[c.Data.FormID], c.status = false, status
	}()
	if fault == nil {
		fault = answersWith(http.StatusNoContent)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-over:
		case <-cut:
		}
	}()
	status = fault(w, call, gone)
}

// breaks has the receiver answer otherwise from now on.
func (r *receiver) breaks(f hookFault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault, r.over = f, make(chan struct{})
}

// heal ends the fault, also for requests under way.
func (r *receiver) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		close(r.over)
		r.fault = nil
	}
}

// answersWith returns a fault that answers with a status.
func answersWith(status int) hookFault {
	return func(w http.ResponseWriter, _ hookCall, _ <-chan struct{}) int {
		w.WriteHeader(status)
		return status
	}
}

// hangs does not answer as long as the sender waits.
func hangs(_ http.ResponseWriter, _ hookCall, gone <-chan struct{}) int {
	<-gone
	panic(http.ErrAbortHandler)
}

// log returns all calls.
func (r *receiver) log() (calls []hookCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		calls = append(calls, *c)
	}
	return calls
}

// delivered returns the events that were answered with 2xx, each once, in the order in
// which they were sent first. A webhook-id must always stand for the same event.
func (r *receiver) delivered(t *testing.T) (list []hookCall) {
	t.Helper()
	first, done := map[string]hookCall{}, map[string]bool{}
	for _, c := range r.log() {
		before, again := first[c.id]
		if !again {
			first[c.id] = c
			list = append(list, c)
		} else if before.Type != c.Type || before.key() != c.key() || !before.Timestamp.Equal(c.Timestamp) {
			t.Errorf("webhook-id %s came with %s and %s", c.id, before.body, c.body)
		}
		done[c.id] = done[c.id] || c.status/100 == 2
	}
	return slices.DeleteFunc(list, func(c hookCall) bool { return !done[c.id] })
}

// told returns the types of the events that were delivered, by submission.
func (r *receiver) told(t *testing.T) map[string][]string {
	t.Helper()
	types := map[string][]string{}
	for _, c := range r.delivered(t) {
		types[c.key()] = append(types[c.key()], c.Type)
		if s := c.Data.Submission; s != nil && s.ID != c.Data.ID {
			t.Errorf("submission %d is sent as that of %d", s.ID, c.Data.ID)
		}
	}
	return types
}

func (r *receiver) awaitDelivered(t *testing.T, within time.Duration, count int) {
	t.Helper()
	testkit.EventuallyWithin(t, within, fmt.Sprintf("hook %s has %d events", r.name, count), func() bool { return len(r.delivered(t)) >= count })
	if n := len(r.delivered(t)); n > count {
		t.Errorf("hook %s has %d events, want %d", r.name, n, count)
	}
}

// hook is the receiver's entry in a file of hooks, with further keys.
func (r *receiver) hook(path string, keys ...string) string {
	keys = append([]string{"name: " + r.name, "url: " + r.URL + path, "secret: " + r.secret, "allowPrivate: true"}, keys...)
	return "  - {" + strings.Join(keys, ", ") + "}\n"
}

// withHooks writes a file of hooks, and returns the flags for it.
func withHooks(t *testing.T, hooks ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	testkit.WriteFile(t, file, "hooks:\n"+strings.Join(hooks, ""))
	return []string{"--hooks", file, "--metrics", "--access-log=false"}
}

// awaitEvents waits until a metric such as "queued" of a hook has a value.
func (p *process) awaitEvents(t *testing.T, hook, metric string, count int) {
	t.Helper()
	line := fmt.Sprintf("formulary_events_%s{hook=%q} %d\n", metric, hook, count)
	testkit.Eventually(t, "/metrics has "+line, func() bool { return strings.Contains(fetch(t, p, "/metrics").body, line) })
}

// manyForms is how many forms with one text a site has: f0, f1 and so on.
const manyForms = 16

// withManyForms adds these forms to page 1.
func (s site) withManyForms(t *testing.T) site {
	t.Helper()
	page := pageSource
	for i := range manyForms {
		page += fmt.Sprintf("\n```yaml form\nform: f%d\nfields:\n  - {id: text, type: textbox, label: Text, required: true}\n```\n", i)
	}
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), page)
	return s
}
