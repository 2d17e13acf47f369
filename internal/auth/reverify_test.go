package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func (f *fixture) wantReverified(user, password string) {
	f.t.Helper()
	if id, err := f.Reverify(f.t.Context(), user, password); err != nil || id.Name != user {
		f.t.Errorf("reverify %s: %q, %v", user, id.Name, err)
	}
}

func (f *fixture) wantRefused(user, password string) {
	f.t.Helper()
	if id, err := f.Reverify(f.t.Context(), user, password); !errors.Is(err, ErrBadCredentials) || id.Name != "" {
		f.t.Errorf("reverify %s: %q, %v; want %v", user, id.Name, err, ErrBadCredentials)
	}
}

func TestReverify(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame")+userLine("bob", "geheim"), "staff: alice\n")
	for range 3 {
		f.wantReverified("alice", "sesame")
	}
	f.wantComputed(1)
	f.advance(verifiedTTL)
	f.wantReverified("alice", "sesame")
	f.wantComputed(2)
	for _, c := range [][2]string{{"alice", "wrong"}, {"alice", "geheim"}, {"alice", ""}, {"alice", "sesame\x00"}, {"nobody", "sesame"}, {"", ""}} {
		f.wantRefused(c[0], c[1])
	}
	f.replace(f.groups, "hr: alice\n")
	if id, err := f.Reverify(t.Context(), "alice", "sesame"); err != nil || !slices.Contains(id.Groups, "hr") || slices.Contains(id.Groups, "staff") {
		t.Errorf("after her groups changed: %+v, %v", id, err)
	}
}

func TestUserChangedDuringReverifyStaysOut(t *testing.T) {
	for _, users := range []string{"", userLine("alice", "changed")} {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.Directory.compare = func(hash, password []byte) error {
			f.replace(f.users, users)
			return f.compare(hash, password)
		}
		f.wantRefused("alice", "sesame")
	}
}

// TestReverifyAndTheThrottle: Reverify is not throttled by failed logins, and its
// own failures do not count for the throttle.
func TestReverifyAndTheThrottle(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	for i := range 10 { // the tokens of the user, and of each pair
		f.fail(10, "alice", fmt.Sprintf("203.0.113.%d:1", i))
	}
	f.wantThrottled("alice", "sesame", home, 2*time.Second)
	f.wantReverified("alice", "sesame")
	// It has vouched for no host: a login is throttled as before.
	f.wantThrottled("alice", "sesame", home, 2*time.Second)
	f.advance(time.Hour)
	for range 200 {
		f.wantRefused("alice", "wrong")
	}
	f.fail(9, "alice", home)
	f.wantLogin("alice", "sesame", home)
}

// TestReverifyGoesBeforeStrangers: strangers wait for slots, and many page views
// of one person share one computation before theirs.
func TestReverifyGoesBeforeStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.slots = newLoginSlots(1)
		f.block = make(chan struct{})
		var strangers, views sync.WaitGroup
		for i := range 50 {
			strangers.Go(func() { _ = f.login(fmt.Sprint("user", i), "wrong", home) })
		}
		synctest.Wait()
		leaving, cancel := context.WithTimeout(t.Context(), maxWait/2)
		defer cancel()
		testkit.ErrorIs(t, "a caller who leaves the queue", testkit.ErrorOf(f.Reverify(leaving, "alice", "sesame")), context.DeadlineExceeded)
		before := f.computations()
		for range 20 {
			views.Go(func() { f.wantReverified("alice", "sesame") })
		}
		synctest.Wait()
		f.block <- struct{}{} // the guess under way
		f.block <- struct{}{}
		views.Wait()
		if got := f.computations() - before; got > 2 { // hers, and perhaps the guess after her
			t.Errorf("%d guesses were computed before alice", got-1)
		}
		close(f.block)
		strangers.Wait()
	})
}
