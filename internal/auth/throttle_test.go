package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func (f *fixture) fail(times int, user, addr string) {
	f.t.Helper()
	for i := range times {
		f.wantBad(user, fmt.Sprint("wrong", i), addr)
	}
}

func TestPairIsThrottled(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	f.fail(10, "alice", home)
	f.wantThrottled("alice", "sesame", home, 5*time.Second)
	f.wantThrottled("alice", "wrong", "192.0.2.1:9999", 5*time.Second) // the port does not matter
	f.advance(3500 * time.Millisecond)
	f.wantThrottled("alice", "sesame", home, 2*time.Second) // 1.5 s, rounded up; refusals cost nothing
	f.advance(1499 * time.Millisecond)
	f.wantThrottled("alice", "sesame", home, time.Second)
	f.advance(time.Millisecond)
	f.fail(1, "alice", home)
	f.wantThrottled("alice", "sesame", home, 5*time.Second)

	f.wantBad("bob", "wrong", home)
	f.wantLogin("alice", "sesame", "192.0.2.2:1")
	f.advance(time.Hour)
	f.fail(10, "alice", home) // no more than the burst has gathered
	f.wantThrottled("alice", "sesame", home, 5*time.Second)
}

func TestAddressIsThrottled(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	for i := range 100 {
		f.fail(1, fmt.Sprint("user", i), home)
	}
	f.wantThrottled("alice", "sesame", home, time.Second)
	f.wantLogin("alice", "sesame", "192.0.2.2:1")
	f.advance(time.Second)
	f.wantBad("bob", "wrong", home)
	f.wantThrottled("carol", "wrong", home, time.Second)
}

func TestUserIsThrottledOverAllAddresses(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame")+userLine("bob", "sesame"), "")
	for i := range 100 {
		f.fail(1, "alice", fmt.Sprintf("198.51.100.%d:1", i))
	}
	f.wantThrottled("alice", "sesame", home, 2*time.Second)
	f.wantLogin("bob", "sesame", home)
	f.advance(2 * time.Second)
	f.wantLogin("alice", "sesame", home)
}

func TestLongestWaitCounts(t *testing.T) {
	f := newFixture(t, "", "")
	f.fail(10, "alice", home)
	for i := range 90 {
		f.fail(1, fmt.Sprint("user", i), home)
	}
	f.wantThrottled("alice", "wrong", home, 5*time.Second)
}

// For each meter that can throttle a host: the host must not learn that another
// host has verified the password.
func TestThrottledHostLearnsNothingFromTheCache(t *testing.T) {
	for name, test := range map[string]struct {
		exhaust    func(f *fixture)
		retryAfter time.Duration
	}{
		"pair": {func(f *fixture) { f.fail(10, "alice", away) }, 5 * time.Second},
		"address": {func(f *fixture) {
			for i := range 100 {
				f.fail(1, fmt.Sprint("user", i), away)
			}
		}, time.Second},
		"user": {func(f *fixture) {
			for i := range 100 {
				f.fail(1, "alice", fmt.Sprintf("203.0.113.%d:1", i))
			}
		}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, userLine("alice", "sesame"), "")
			f.wantLogin("alice", "sesame", home)
			test.exhaust(f)
			f.wantThrottled("alice", "wrong", away, test.retryAfter)
			f.wantThrottled("alice", "sesame", away, test.retryAfter)
			f.wantLogin("alice", "sesame", home)

			f.advance(test.retryAfter)
			before := f.computations()
			f.wantLogin("alice", "sesame", away)
			testkit.Same(t, "a cached credential was computed again", f.computations(), before)
			f.fail(10, "alice", away) // the success has refilled the pair
			f.wantThrottled("alice", "wrong", away, 5*time.Second)
			f.wantLogin("alice", "sesame", away) // sent from there before
		})
	}
}

// A host that has sent a credential before is throttled again after the password
// has changed.
func TestChangedPasswordIsThrottledAgain(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	f.wantLogin("alice", "sesame", away)
	f.replace(f.users, userLine("alice", "changed"))
	f.wantLogin("alice", "changed", home)
	f.fail(10, "alice", away)
	f.wantThrottled("alice", "changed", away, 5*time.Second)
}

func TestCoalescingDoesNotBypassTheThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.fail(10, "alice", away)
		f.block = make(chan struct{})
		var done sync.WaitGroup
		done.Go(func() { f.wantLogin("alice", "sesame", home) })
		synctest.Wait()
		f.wantThrottled("alice", "sesame", away, 5*time.Second) // at once: it does not wait for home
		close(f.block)
		done.Wait()
	})
}

// Otherwise an attacker who keeps the slots busy would recognise the right password
// by the quick answer, and would not use up tokens for wrong ones.
func TestCachedCredentialFromANewHostWaitsLikeAGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.wantLogin("alice", "sesame", home)
		var busy sync.WaitGroup
		f.fillSlots(&busy)
		answered := make(chan error, 2)
		for _, password := range []string{"wrong", "sesame"} {
			busy.Go(func() { answered <- f.login("alice", password, away) })
		}
		synctest.Wait()
		if len(answered) > 0 {
			t.Errorf("answered before a slot was free: %v", <-answered)
		}
		for i := range maxWaiting - 2 {
			busy.Go(func() { _ = f.login(fmt.Sprint("user", i), "wrong", "203.0.113.2:1") })
		}
		synctest.Wait()
		for _, password := range []string{"wrong", "sesame"} {
			f.wantBusy("alice", password, "203.0.113.3:1")
		}
		f.wantLogin("alice", "sesame", home)
		close(f.block)
		busy.Wait()
	})
}

func TestTrustedPairIsLimitedByItsOwnMeterOnly(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	f.wantLogin("alice", "sesame", home)
	f.advance(trustFor - time.Second) // long after the entry of the cache has expired
	for i := range 100 {
		f.fail(1, fmt.Sprint("user", i), home)
		f.fail(1, "alice", fmt.Sprintf("198.51.100.%d:1", i))
	}
	f.fail(10, "alice", home)
	f.wantThrottled("alice", "wrong", home, 5*time.Second)
	f.wantThrottled("bob", "wrong", home, time.Second) // 100 failures, not 110

	f.throttle.limiters.Invalidate(f.throttle.pair(ClientHost(home), "alice").key)
	f.advance(time.Second)
	f.wantThrottled("alice", "sesame", home, time.Second) // not trusted any more: waits for the user's meter
}

func TestSuccessCostsNoTokens(t *testing.T) {
	users := ""
	for i := range 150 {
		users += userLine(fmt.Sprint("user", i), "sesame")
	}
	f := newFixture(t, users, "")
	for i := range 150 {
		f.wantLogin(fmt.Sprint("user", i), "sesame", home)
	}
	for i := range 150 {
		f.wantLogin("user0", "sesame", fmt.Sprintf("198.51.100.%d:1", i))
		f.verified = newVerifiedCache(f.now)
	}
}

// After a restart all users log in at once. Attempts that wait for a slot take no
// tokens, so that their shared address is not throttled.
func TestWaitingAttemptsHoldNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		users := ""
		for i := range 150 {
			users += userLine(fmt.Sprint("user", i), "sesame")
		}
		f := newFixture(t, users, "")
		f.block = make(chan struct{})
		var done sync.WaitGroup
		for i := range 150 {
			done.Go(func() { f.wantLogin(fmt.Sprint("user", i), "sesame", home) })
		}
		synctest.Wait()
		close(f.block)
		done.Wait()
	})
}

func TestConcurrentGuessesGetNoMoreThanTheBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.block = make(chan struct{})
		var done sync.WaitGroup
		for i := range 50 {
			done.Go(func() {
				err := f.login("alice", fmt.Sprint("wrong", i), home)
				var throttled *ThrottledError
				if !errors.Is(err, ErrBadCredentials) && !errors.As(err, &throttled) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		close(f.block)
		done.Wait()
		f.wantComputed(10)
	})
}

func TestCancelledGuessCostsItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "", "")
		for i := range 10 {
			f.block = make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() { _, _ = f.Authenticate(ctx, "alice", fmt.Sprint("wrong", i), home) })
			synctest.Wait()
			cancel()
			done.Wait()
			close(f.block)
			synctest.Wait()
		}
		f.wantThrottled("alice", "wrong", home, 5*time.Second)
	})
}

// The same where the check itself is cancelled, as a call to a wiki is.
func TestGuessWithCancelledCheckCostsItsToken(t *testing.T) {
	now := time.Now()
	g, from := newGate(func() time.Time { return now }, 1), netip.MustParseAddr("192.0.2.1")
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		if err := g.pass(ctx, mac{}, from, "alice", func() error { cancel(); return ctx.Err() }); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	err := g.pass(t.Context(), mac{}, from, "alice", func() error { return nil })
	if _, ok := errors.AsType[*ThrottledError](err); !ok {
		t.Errorf("the next attempt: %v", err)
	}
}

func TestCancelledWhileWaitingCostsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "", "")
		var busy, waiting sync.WaitGroup
		f.fillSlots(&busy)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 20 {
			waiting.Go(func() { _, _ = f.Authenticate(ctx, "alice", fmt.Sprint("wrong", i), home) })
		}
		synctest.Wait()
		testkit.Same(t, "waiting attempts", f.slots.strangeWaiting.Load(), 20)
		cancel()
		waiting.Wait()
		synctest.Wait()
		testkit.Same(t, "attempts that still wait", f.slots.strangeWaiting.Load(), 0)
		close(f.block)
		busy.Wait()
		f.wantComputed(fixtureSlots / 2)
		f.fail(10, "alice", home)
	})
}

func TestThrottledAttemptDoesNotWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "", "")
		f.fail(10, "alice", home)
		var busy sync.WaitGroup
		f.fillSlots(&busy)
		f.wantThrottled("alice", "wrong", home, 5*time.Second) // would deadlock if it waited for a slot
		close(f.block)
		busy.Wait()
	})
}

// A host that is throttled while it waits for a slot does not fail other hosts with
// the same credential.
func TestThrottledHostDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		var done sync.WaitGroup
		f.fillSlots(&done)
		done.Go(func() {
			var throttled *ThrottledError
			if err := f.login("alice", "sesame", home); !errors.As(err, &throttled) {
				t.Errorf("got %v, want a ThrottledError", err)
			}
		})
		synctest.Wait()
		done.Go(func() { f.wantLogin("alice", "sesame", "192.0.2.2:1") })
		synctest.Wait()
		for range 10 { // fails while the attempt waits for a slot
			must(t, testkit.ErrorOf(f.throttle.reserve(ClientHost(home), "alice")))
		}
		close(f.block)
		done.Wait()
	})
}

// Many addresses that fail once do not have others forgotten who go on guessing.
func TestThrottleIsBounded(t *testing.T) {
	f := newFixture(t, "", "")
	f.throttle.limiters.SetMaximum(300)
	for range 10 {
		for i := range 10 {
			f.fail(1, fmt.Sprint("guessed", i), home)
		}
	}
	for i := range 3000 {
		f.wantBad(fmt.Sprint("user", i), "wrong", fmt.Sprintf("198.51.%d.%d:1", i/250, i%250))
		if i%10 == 0 {
			f.wantThrottled("guessed1", "wrong", home, 5*time.Second)
		}
	}
	f.throttle.limiters.CleanUp()
	if got := f.throttle.limiters.EstimatedSize(); got > 300 {
		t.Errorf("%d buckets, want 300 at most", got)
	}
	throttle := newThrottle(time.Now)
	if throttle.limiters.GetMaximum() != maxEntries || throttle.trusted.GetMaximum() != maxEntries {
		t.Error("a table of the throttle has no limit")
	}
}

// What is refused makes no entry: it costs its sender nothing, and could evict
// others' entries.
func TestRefusedAttemptsMakeNoEntries(t *testing.T) {
	f := newFixture(t, "", "")
	for i := range 100 {
		f.fail(1, fmt.Sprint("user", i), home)
	}
	before := f.throttle.limiters.EstimatedSize()
	for i := range 100 {
		f.wantThrottled(fmt.Sprint("other", i), "wrong", home, time.Second)
	}
	testkit.Same(t, "buckets", f.throttle.limiters.EstimatedSize(), before)
}

// Another user of the address guesses until it is throttled, and the verified
// credential expires in the cache. Its user can still log in from there.
func TestGuessesDoNotLockOutAReturningHost(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	f.wantLogin("alice", "sesame", home)
	f.fail(10, "alice", home)
	f.advance(verifiedTTL + time.Second)
	f.fail(10, "alice", home)
	if err := f.login("alice", "wrong", home); err == nil || errors.Is(err, ErrBadCredentials) {
		t.Fatalf("the guesser is not throttled: %v", err)
	}
	f.wantLogin("alice", "sesame", home)
}
