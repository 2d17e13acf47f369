package auth

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func (f *fixture) wantBusy(user, password, addr string) {
	f.t.Helper()
	if err := f.login(user, password, addr); !errors.Is(err, errBusy) {
		f.t.Errorf("login of %s from %s: got %v, want %v", user, addr, err, errBusy)
	}
}

// slotUsers are goroutines that acquire slots, and hold them until releaseFirst
// is called.
type slotUsers struct {
	t     *testing.T
	slots *loginSlots
	group sync.WaitGroup

	mu      sync.Mutex
	holding []string
	release []func()
}

// ask returns when the goroutine holds a slot or waits for one.
func (u *slotUsers) ask(name string, trusted bool) {
	u.group.Go(func() {
		release, err := u.slots.acquire(u.t.Context(), trusted)
		if err != nil {
			u.t.Errorf("%s: %v", name, err)
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.holding = append(u.holding, name)
		u.release = append(u.release, release)
	})
	synctest.Wait()
}

// releaseFirst releases the slot that was taken first.
func (u *slotUsers) releaseFirst() {
	u.mu.Lock()
	release := u.release[0]
	u.holding, u.release = u.holding[1:], u.release[1:]
	u.mu.Unlock()
	release()
	synctest.Wait()
}

func (u *slotUsers) want(holding ...string) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if got := fmt.Sprint(u.holding); got != fmt.Sprint(holding) {
		u.t.Errorf("slots are held by %s, want %v", got, holding)
	}
}

func TestTrustedAreServedBeforeStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slotUsers{t: t, slots: newLoginSlots(1)}
		u.ask("stranger1", false) // a stranger gets the only slot while no other attempt wants it
		u.ask("stranger2", false)
		u.ask("stranger3", false)
		u.ask("trusted1", true)
		u.ask("trusted2", true)
		for _, name := range []string{"stranger1", "trusted1", "trusted2", "stranger2", "stranger3"} {
			u.want(name)
			u.releaseFirst()
		}
		u.want()
		u.group.Wait()
	})
}

func TestStrangersHoldHalfOfTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slotUsers{t: t, slots: newLoginSlots(4)}
		for _, name := range []string{"s1", "s2", "s3", "s4"} {
			u.ask(name, false)
		}
		u.want("s1", "s2")
		u.ask("t1", true)
		u.ask("t2", true)
		u.ask("t3", true)
		u.want("s1", "s2", "t1", "t2")
		u.releaseFirst() // s1
		u.want("s2", "t1", "t2", "t3")
		u.releaseFirst() // s2
		u.want("t1", "t2", "t3", "s3")
		u.releaseFirst() // t1
		u.want("t2", "t3", "s3", "s4")
		for range 4 {
			u.releaseFirst()
		}
		u.want()
		u.group.Wait()
	})
}

func TestQueuesForSlotsAreBounded(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			u := &slotUsers{t: t, slots: newLoginSlots(1)}
			for range 1 + maxWaiting {
				u.ask("", trusted)
			}
			start := time.Now()
			if _, err := u.slots.acquire(t.Context(), trusted); !errors.Is(err, errBusy) || time.Since(start) != 0 {
				t.Errorf("trusted %t: got %v after %s, want errBusy at once", trusted, err, time.Since(start))
			}
			u.ask("other", !trusted) // has a queue of its own
			for range 2 + maxWaiting {
				u.releaseFirst()
			}
			u.group.Wait()
		})
	}
}

func TestWaitForASlotIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slotUsers{t: t, slots: newLoginSlots(1)}
		u.ask("holder", true)
		for _, trusted := range []bool{false, true} {
			start := time.Now()
			if _, err := u.slots.acquire(t.Context(), trusted); !errors.Is(err, errBusy) || time.Since(start) != maxWait {
				t.Errorf("trusted %t: got %v after %s", trusted, err, time.Since(start))
			}
		}
		u.releaseFirst()
		u.ask("next", false) // nothing is left in the queues that would be served first
		u.want("next")
		u.releaseFirst()
		u.group.Wait()
	})
}

func TestHashingLeavesHalfOfTheCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for cores, want := range map[int]int{1: 1, 2: 1, 4: 2, 7: 3} {
		runtime.GOMAXPROCS(cores)
		testkit.Same(t, fmt.Sprint("for hashing, of ", cores), hashingCores(), want)
	}
}

// 336 guesses of 4 hosts, each within its limits, wait for slots. Then alice, whose
// credential has expired in the cache, logs in from a host that she used before.
func TestKnownUserGoesBeforeAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame")+userLine("bob", "sesame"), "")
		f.slots = newLoginSlots(1)
		f.wantLogin("alice", "sesame", home)
		f.advance(verifiedTTL)
		f.block = make(chan struct{})

		var flood, known sync.WaitGroup
		for i := range 336 {
			flood.Go(func() { _ = f.login(fmt.Sprint("user", i), "wrong", fmt.Sprintf("203.0.113.%d:1", i%4)) })
		}
		synctest.Wait()
		before := f.computations()
		known.Go(func() { f.wantLogin("alice", "sesame", home) })
		synctest.Wait()
		f.wantBusy("bob", "sesame", home) // a pair is trusted, not a host
		f.block <- struct{}{}             // the guess under way
		f.block <- struct{}{}
		known.Wait()
		if got := f.computations() - before; got > 2 { // hers, and perhaps the guess after her
			t.Errorf("%d guesses were computed before alice", got-1)
		}
		close(f.block)
		flood.Wait()
	})
}

// Coalesced attempts get the same error. Otherwise each of them in turn would
// lead the next flight, and wait the whole time again.
func TestCoalescedAttemptsFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "", "")
		var busy, turnedAway sync.WaitGroup
		f.fillSlots(&busy)
		start := time.Now()
		for range 5 {
			turnedAway.Go(func() { f.wantBusy("alice", "wrong", home) })
		}
		turnedAway.Wait()
		testkit.Same(t, "they waited", time.Since(start), maxWait)
		close(f.block)
		busy.Wait()
	})
}
