package e2e

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

// resets breaks the connection without an answer.
func resets(http.ResponseWriter, hookCall, <-chan struct{}) int { panic(http.ErrAbortHandler) }

// redirects to a path that must not be called.
func redirects(w http.ResponseWriter, c hookCall, gone <-chan struct{}) int {
	w.Header().Set("Location", "/elsewhere")
	return answersWith(http.StatusTemporaryRedirect)(w, c, gone)
}

// sendsGigabyte returns a fault that sends as much, as far as it is read.
func sendsGigabyte(t *testing.T) hookFault {
	return func(w http.ResponseWriter, _ hookCall, _ <-chan struct{}) int {
		w.WriteHeader(http.StatusInternalServerError)
		block, sent := make([]byte, 64<<10), 0
		for sent < 1<<30 {
			if _, err := w.Write(block); err != nil {
				break
			}
			sent += len(block)
		}
		if sent > 32<<20 { // buffers of the kernel included
			t.Errorf("%d bytes of an answer were read", sent)
		}
		return http.StatusInternalServerError
	}
}

// toForms creates submissions of forms in turns.
func toForms(p *process, forms ...string) func(context.Context, int, string) (response, error) {
	return func(ctx context.Context, turn int, text string) (response, error) {
		return p.call(ctx, "POST", "/"+forms[turn%len(forms)]+"/submission", note(text))
	}
}

// checkUnhindered creates submissions while a listener fails: all creates are acknowledged,
// and a receiver gets its events in time. The listener is tried at least so many times,
// with pauses: failures are the times of attempts. It returns how many were created.
func checkUnhindered(t *testing.T, p *process, good *receiver, attempts int, failures func() []time.Time, forms ...string) int {
	t.Helper()
	l := newLedger()
	people := startSending(t, l, 8, false, toForms(p, forms...))
	l.moreAcked(t, 200)
	people.stop() // each was acknowledged, or the test has failed
	good.awaitDelivered(t, testkit.WaitLimit, len(l.acked))
	create(t, p, forms[0], note("on its own"))
	good.awaitDelivered(t, 4*time.Second, len(l.acked)+1) // in two; a busy machine may take twice as long
	testkit.Eventually(t, "there are further attempts", func() bool { return len(failures()) >= attempts })
	// After the nth attempt there is a pause of 2ⁿ⁻¹ seconds, at least half of it.
	times, least := failures(), -250*time.Millisecond // a busy machine notes the first attempt later
	for i, at := range times[1:] {
		least += time.Second << i / 2
		if took := at.Sub(times[0]); took < least {
			t.Errorf("attempt %d comes after %s, want at least %s", i+2, took, least)
		}
	}
	if status := ready(t, p); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
	return len(l.acked) + 1
}

// A receiver that fails holds up neither writes nor other hooks. It gets as few attempts
// as the backoff says, and everything in order when it works again.
func TestFailingReceiver(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]hookFault{
		"hangs": hangs, "answers 500": answersWith(http.StatusInternalServerError), "redirects": redirects,
		"resets": resets, "sends a gigabyte": sendsGigabyte(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := newReceiver(t, "bad"), newReceiver(t, "good")
			p := start(t, newSite(t).withManyForms(t), withHooks(t, bad.hook("/"), good.hook("/"))...)
			bad.breaks(fault)
			failures := func() (times []time.Time) {
				for _, c := range bad.log() {
					if c.Data.FormID == "f0" {
						times = append(times, c.begun)
					}
				}
				return times
			}
			count := checkUnhindered(t, p, good, 3, failures, "f0", "f1", "f2")
			first := map[string]string{} // event by form
			for _, c := range bad.log() {
				if before, again := first[c.Data.FormID]; again && before != c.id || c.status/100 == 2 || c.path != "/" {
					t.Errorf("%+v comes after %s", c, before)
				}
				first[c.Data.FormID] = c.id
			}
			bad.heal()
			bad.awaitDelivered(t, testkit.WaitLimit, count)
			if diff := cmp.Diff(good.told(t), bad.told(t)); diff != "" {
				t.Errorf("the hooks were told different things: %.2000s", diff)
			}
		})
	}
}
