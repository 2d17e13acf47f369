package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/testkit"
)

const (
	home = "192.0.2.1:4711"
	away = "198.51.100.7:1"
	// fixtureSlots is the same on any machine. Half of the slots are for strangers.
	fixtureSlots = 4
)

// fixture is a Directory on temporary files, with a clock that tests move and a
// fake bcrypt that takes no time and counts its calls.
type fixture struct {
	*Directory
	t             *testing.T
	users, groups string
	logs          *bytes.Buffer

	mu    sync.Mutex
	time  time.Time
	costs []int         // of the computations so far
	block chan struct{} // when not nil, computations wait here
}

func newFixture(t *testing.T, users, groups string) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{
		t:      t,
		users:  filepath.Join(dir, "users"),
		groups: filepath.Join(dir, "groups"),
		logs:   new(bytes.Buffer),
		time:   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	testkit.WriteFile(t, f.users, users)
	testkit.WriteFile(t, f.groups, groups)
	d, err := Open(Options{
		UsersFile:  f.users,
		GroupsFile: f.groups,
		Logger:     slog.New(slog.NewTextHandler(f.logs, nil)),
		Now:        f.now,
	})
	must(t, err)
	d.compare = f.compare
	d.slots = newLoginSlots(fixtureSlots)
	f.Directory = d
	return f
}

// now is the clock. The tables of the Directory read it in goroutines of their own.
func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.time = f.time.Add(d)
}

func (f *fixture) compare(hash, password []byte) error {
	cost, err := strconv.Atoi(string(hash[4:6]))
	if err != nil {
		f.t.Errorf("comparing with something that is not a bcrypt hash: %v", err)
	}
	f.mu.Lock()
	f.costs = append(f.costs, cost)
	f.mu.Unlock()
	if f.block != nil {
		<-f.block
	}
	if string(hash) != saltedHash(string(hash[7:11]), string(password), cost) {
		return bcrypt.ErrMismatchedHashAndPassword
	}
	return nil
}

func (f *fixture) computations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.costs)
}

func (f *fixture) wantComputed(want int) {
	f.t.Helper()
	testkit.Same(f.t, "computations", f.computations(), want)
}

func (f *fixture) login(user, password, addr string) error {
	id, err := f.Authenticate(f.t.Context(), user, password, addr)
	if err == nil && id.Name != user {
		f.t.Errorf("%q came in as %q", user, id.Name)
	}
	return err
}

// wantLogin checks that good credentials are accepted.
func (f *fixture) wantLogin(user, password, addr string) {
	f.t.Helper()
	if err := f.login(user, password, addr); err != nil {
		f.t.Errorf("login of %s from %s: %v", user, addr, err)
	}
}

func (f *fixture) wantBad(user, password, addr string) {
	f.t.Helper()
	if err := f.login(user, password, addr); !errors.Is(err, ErrBadCredentials) {
		f.t.Errorf("login of %s from %s: got %v, want ErrBadCredentials", user, addr, err)
	}
}

// wantThrottled also checks that nothing was computed.
func (f *fixture) wantThrottled(user, password, addr string, retryAfter time.Duration) {
	f.t.Helper()
	before := f.computations()
	err := f.login(user, password, addr)
	var throttled *ThrottledError
	if !errors.As(err, &throttled) {
		f.t.Errorf("login of %s from %s: got %v, want a ThrottledError", user, addr, err)
	} else if throttled.RetryAfter != retryAfter {
		f.t.Errorf("login of %s from %s: got RetryAfter %s, want %s", user, addr, throttled.RetryAfter, retryAfter)
	}
	if f.computations() != before {
		f.t.Errorf("login of %s from %s was throttled, but bcrypt was computed", user, addr)
	}
}

// replace changes a file, and has it read.
func (f *fixture) replace(file, content string) {
	f.t.Helper()
	testkit.WriteFile(f.t, file+".new", content)
	must(f.t, os.Rename(file+".new", file))
	f.Reload(f.t.Context())
}

// fakeHash looks like a bcrypt hash. The fake bcrypt of the fixture accepts it.
func fakeHash(password string, cost int) string { return saltedHash("salt", password, cost) }

func saltedHash(salt, password string, cost int) string {
	sum := sha256.Sum256([]byte(salt + password))
	return fmt.Sprintf("$2a$%02d$%s%s", cost, salt, hex.EncodeToString(sum[:])[:bcryptLen-11])
}

func userLine(user, password string) string { return user + ":" + fakeHash(password, 4) + "\n" }

func TestAuthenticateWithRealBcrypt(t *testing.T) {
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte("sesame"), bcrypt.MinCost)
	must(t, err)
	tail := string(hash[3:])
	file := filepath.Join(dir, "users")
	testkit.WriteFile(t, file, "a:$2a"+tail+"\nb:$2b"+tail+"\ny:$2y"+tail+"\n")
	d, err := Open(Options{UsersFile: file})
	must(t, err)
	for _, user := range []string{"a", "b", "y"} {
		id, err := d.Authenticate(t.Context(), user, "sesame", home)
		if err != nil || id.Name != user {
			t.Errorf("%s: got %v, %v", user, id, err)
		}
		testkit.ErrorIs(t, user, testkit.ErrorOf(d.Authenticate(t.Context(), user, "Sesame", home)), ErrBadCredentials)
	}
	testkit.ErrorIs(
		t, "unknown user", testkit.ErrorOf(d.Authenticate(t.Context(), "nobody", "sesame", home)), ErrBadCredentials,
	)
}

func TestAuthenticateIsExact(t *testing.T) {
	long := strings.Repeat("x", 72)
	f := newFixture(t, userLine("alice", "sesame")+userLine("max", long)+userLine("ü", "sesame")+userLine("nul", "a\x00a"), "")
	f.wantLogin("alice", "sesame", home)
	f.wantLogin("max", long, home)
	f.wantLogin("ü", "sesame", home)
	f.wantBad("Alice", "sesame", home)
	f.wantBad("alice ", "sesame", home)
	f.wantBad("u\u0308", "sesame", home)
	f.wantBad("alice", "Sesame", home)
	f.wantBad("max", long+"x", home)
	f.wantBad("nul", "a\x00a", home)
	f.wantBad("alice", "", home)
	f.wantBad("", "sesame", home)
	f.wantBad("", "", home)
}

func TestEveryFailureTakesTheSameWork(t *testing.T) {
	users := "cheap:" + fakeHash("sesame", 5) + "\ndear:" + fakeHash("sesame", 7) + "\n" +
		"long:" + fakeHash(strings.Repeat("x", 72), 5) + "\nempty:" + fakeHash("", 7) + "\nold:$apr1$abc$def\n"
	for _, tt := range []struct{ name, users, user, password string }{
		{"unknown user", users, "nobody", "sesame"},
		{"wrong password", users, "dear", "wrong"},
		{"wrong password of a cheaper hash", users, "cheap", "wrong"},
		{"refused hash", users, "old", "sesame"},
		{"long password", users, "cheap", strings.Repeat("x", 73)},
		{"long password, right up to 72 bytes", users, "long", strings.Repeat("x", 73)},
		{"empty password", users, "cheap", ""},
		{"empty password that would match", users, "empty", ""},
		{"empty user", users, "", "sesame"},
	} {
		f := newFixture(t, tt.users, "")
		f.wantBad(tt.user, tt.password, home)
		testkit.Same(t, tt.name, rounds(f.costs), 1<<7)
	}

	f := newFixture(t, "", "")
	f.wantBad("alice", "sesame", home)
	if got, want := rounds(f.costs), 1<<10; got != want {
		t.Errorf("no users: %d rounds of bcrypt, want %d", got, want)
	}
}

func rounds(costs []int) (sum int) {
	for _, cost := range costs {
		sum += 1 << cost
	}
	return sum
}

func TestVerifiedCredentialIsRemembered(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	f.wantLogin("alice", "sesame", home)
	f.advance(verifiedTTL - time.Nanosecond)
	f.wantLogin("alice", "sesame", away)
	f.wantComputed(1)
	f.wantBad("alice", "wrong", home)
	f.advance(time.Nanosecond)
	f.wantLogin("alice", "sesame", home)
	f.wantComputed(3)
}

func TestChangedUserIsOutAtOnce(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame")+userLine("bob", "sesame"), "")
	f.wantLogin("alice", "sesame", home)
	f.wantLogin("bob", "sesame", home)

	f.replace(f.users, userLine("alice", "changed"))
	f.wantBad("alice", "sesame", home)
	f.wantLogin("alice", "changed", home)
	f.wantBad("bob", "sesame", home)

	// The same password under a new salt must be verified anew.
	f.replace(f.users, "alice:"+saltedHash("pepp", "changed", 4)+"\n")
	before := f.computations()
	f.wantLogin("alice", "changed", home)
	testkit.Same(t, "a credential was accepted that had been verified with another hash", f.computations(), before+1)
}

func TestRefresh(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	alice, err := f.Authenticate(t.Context(), "alice", "sesame", home)
	must(t, err)
	f.replace(f.groups, "hr: alice\n")
	now, err := f.Refresh(alice)
	if err != nil || !slices.Contains(now.Groups, "hr") || slices.Contains(now.Groups, "staff") {
		t.Errorf("after her groups changed: %+v, %v", now, err)
	}
	f.replace(f.users, userLine("alice", "other"))
	testkit.ErrorIs(t, "after her password changed", testkit.ErrorOf(f.Refresh(alice)), ErrBadCredentials)
	f.replace(f.users, userLine("bob", "sesame"))
	testkit.ErrorIs(t, "after she was removed", testkit.ErrorOf(f.Refresh(alice)), ErrBadCredentials)
}

func TestUserChangedDuringTheCheckStaysOut(t *testing.T) {
	for _, users := range []string{"", userLine("alice", "changed")} {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.Directory.compare = func(hash, password []byte) error {
			f.replace(f.users, users)
			return f.compare(hash, password)
		}
		f.wantBad("alice", "sesame", home)
	}
}

func TestGroups(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: bob alice\nadmins: bob\n")
	check := func(staff, admins bool) {
		t.Helper()
		id, err := f.Authenticate(t.Context(), "alice", "sesame", home)
		must(t, err)
		if slices.Contains(id.Groups, "staff") != staff || slices.Contains(id.Groups, "admins") != admins {
			t.Errorf("alice is in %q", id.Groups)
		}
	}
	check(true, false)
	f.replace(f.groups, "admins: alice\n") // seen by a cached credential, too
	check(false, true)
}

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	_, err := Open(Options{UsersFile: missing})
	var refused *UsersFileError
	if !errors.Is(err, os.ErrNotExist) || !errors.As(err, &refused) || refused.File != missing {
		t.Errorf("missing users file: got %v", err)
	}
	if _, err := Open(Options{UsersFile: dir}); err == nil {
		t.Error("a folder was taken for a users file")
	}
	users := filepath.Join(dir, "users")
	testkit.WriteFile(t, users, "")
	testkit.ErrorIs(
		t, "missing groups file", testkit.ErrorOf(Open(Options{UsersFile: users, GroupsFile: missing})), os.ErrNotExist,
	)
	testkit.ErrorIs(t, "no groups file", testkit.ErrorOf(Open(Options{UsersFile: users})), nil)
}

func TestOneComputationPerCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.block = make(chan struct{})
		var done sync.WaitGroup
		for range 50 { // more than the pair's meter has tokens
			done.Go(func() { f.wantLogin("alice", "sesame", home) })
		}
		synctest.Wait()
		close(f.block)
		done.Wait()
		f.wantComputed(1)
	})
}

// Hosts that send the same credential wait for a slot each, but the first of them
// computes for all that still wait.
func TestWaitingHostsShareAComputation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		f.slots = newLoginSlots(1)
		f.block = make(chan struct{})
		var done sync.WaitGroup
		for i := range 50 {
			done.Go(func() { f.wantLogin("alice", "sesame", fmt.Sprintf("192.0.2.%d:1", i)) })
		}
		synctest.Wait()
		close(f.block)
		done.Wait()
		f.wantComputed(1)
	})
}

func TestComputationsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "", "")
		f.block = make(chan struct{})
		const limit = fixtureSlots / 2
		var done sync.WaitGroup
		for i := range 3 * limit {
			done.Go(func() { f.wantBad(fmt.Sprint("user", i), "sesame", home) })
		}
		synctest.Wait()
		f.wantComputed(limit)
		close(f.block)
		done.Wait()
		f.wantComputed(3 * limit)
	})
}

// fillSlots keeps every slot that strangers may have busy until f.block is
// closed.
func (f *fixture) fillSlots(done *sync.WaitGroup) {
	f.block = make(chan struct{})
	for i := range fixtureSlots / 2 {
		done.Go(func() { f.wantBad(fmt.Sprint("busy", i), "sesame", "203.0.113.1:1") })
	}
	synctest.Wait()
}

func TestCancelledAttemptReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		var done sync.WaitGroup
		f.block = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		done.Go(func() {
			_, err := f.Authenticate(ctx, "alice", "sesame", home)
			testkit.ErrorIs(t, "cancelled while computing", err, context.Canceled)
		})
		synctest.Wait()
		cancel()
		done.Wait() // would deadlock if the attempt waited for the computation
		close(f.block)
	})
}

func TestCancelledLeaderDoesNotCancelTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		var done sync.WaitGroup
		f.fillSlots(&done)
		ctx, cancel := context.WithCancel(t.Context())
		done.Go(func() {
			_, err := f.Authenticate(ctx, "alice", "sesame", home)
			testkit.ErrorIs(t, "cancelled in line", err, context.Canceled)
		})
		synctest.Wait()
		for range 20 {
			done.Go(func() { f.wantLogin("alice", "sesame", home) })
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(f.block)
		done.Wait()
	})
}
