package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// hookReceiver takes webhooks, and answers with a status.
type hookReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	status   int
	received []string      // type and id
	hang     chan struct{} // nil, or closed when answers may be sent
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var event struct {
			Type string
			Data struct{ ID int64 }
		}
		err := json.Unmarshal(body, &event)
		r.mu.Lock()
		status, hang := r.status, r.hang
		if err == nil && status == http.StatusOK {
			r.received = append(r.received, fmt.Sprint(event.Type, " ", event.Data.ID))
		}
		r.mu.Unlock()
		if hang != nil {
			<-hang
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) answer(status int, hang chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.hang = status, hang
}

func (r *hookReceiver) mustReceive(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	testkit.Eventually(t, fmt.Sprintf("%q was received", want), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		got = slices.Clone(r.received)
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

// Operators list events and try them again while a server runs, and after it has ended. Neither commands
// nor the log show the address of a hook or its secret.
func TestHooks(t *testing.T) {
	t.Parallel()
	engines(t, testHooks)
}

func testHooks(t *testing.T, s site) {
	receiver := newHookReceiver(t)
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	crm := "  - {name: crm, url: " + receiver.URL + "/path, secret: " + hookSecret + ", allowPrivate: true, forms: [note]}\n"
	testkit.WriteFile(t, file, "hooks:\n"+crm)
	p := start(t, s, "--hooks", file, "--metrics")
	flags := append([]string{"--hooks", file}, s.store()...)
	var said strings.Builder
	command := func(args ...string) string {
		t.Helper()
		out := mustRun(t, append(append([]string{"hooks"}, args...), flags...)...)
		said.WriteString(out)
		return out
	}
	mustList := func(want string) {
		t.Helper()
		var got string
		testkit.Eventually(t, "the list is "+want, func() bool {
			got = command("list", "--format", "json")
			return got == want+"\n"
		})
	}
	mustList(`{"name":"crm","queued":0,"failed":0,"lastError":""}`)

	receiver.answer(http.StatusGone, nil)
	id := create(t, p, "note", note("one"))
	mustList(`{"name":"crm","queued":0,"failed":1,"lastError":"answered 410"}`)
	testkit.Eventually(t, "the metrics tell it", func() bool { return metric(t, p, `formulary_events_failed{hook="crm"}`) == 1 })
	receiver.answer(http.StatusOK, nil)
	if out := command("retry", "crm"); !strings.HasPrefix(out, "Failed events that were queued again: 1.") {
		t.Error(out)
	}
	p.must(t, 200, "POST", fmt.Sprint("/note/submission/", id), note("two"))
	p.must(t, 200, "POST", fmt.Sprint("/note/submission/", id), note("two"))
	p.must(t, 204, "DELETE", fmt.Sprint("/note/result/", id), "")
	want := []string{fmt.Sprint("submission.created ", id), fmt.Sprint("submission.updated ", id), fmt.Sprint("submission.deleted ", id)}
	receiver.mustReceive(t, want...)
	mustList(`{"name":"crm","queued":0,"failed":0,"lastError":""}`)

	// A broken file changes nothing.
	testkit.WriteFile(t, file, "hooks:\n"+crm+"  - name: crm2\n")
	p.mustLog(t, 1, file+":3: ")
	want = append(want, fmt.Sprint("submission.created ", create(t, p, "note", note("three"))))
	receiver.mustReceive(t, want...)
	testkit.WriteFile(t, file, "hooks:\n"+strings.Replace(crm, "crm", "erp", 1))
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.mustLog(t, 1, "reloaded on SIGHUP")

	// A receiver that does not answer keeps no server from ending.
	hang := make(chan struct{})
	receiver.answer(http.StatusOK, hang)
	want = append(want, fmt.Sprint("submission.created ", create(t, p, "note", note("four"))))
	receiver.mustReceive(t, want...)
	began := time.Now()
	if err := p.terminate(t); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("ended after %v: %v", time.Since(began), err)
	}
	close(hang)
	mustList(`{"name":"erp","queued":1,"failed":0,"lastError":""}`)
	command("retry")
	for _, secret := range []string{receiver.URL[len("http://"):], "/path", hookSecret} {
		if strings.Contains(said.String()+p.output(), secret) {
			t.Errorf("%s is shown:\n%s%s", secret, &said, p.output())
		}
	}
}
