package auth

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/testkit"
)

func (f *fixture) knows(user string) bool {
	_, ok := f.current.Load().accounts[user]
	return ok
}

// setTime gives a file a modification time, as a write at that time would.
func setTime(t *testing.T, file string, at time.Time) {
	t.Helper()
	must(t, os.Chtimes(file, at, at))
}

var must = testkit.Must

// A mounted ConfigMap is a link through a folder that is a link. Package reload tests
// other kinds of changes. The time is that of the bubble.
func TestSwappedLinkTakesEffectWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("old", "sesame"), "")
		dir := filepath.Dir(f.users)
		testkit.WriteFile(t, filepath.Join(dir, "..v1", "users"), userLine("alice", "sesame"))
		testkit.WriteFile(t, filepath.Join(dir, "..v2", "users"), userLine("robert", "sesame"))
		must(t, os.Symlink("..v1", filepath.Join(dir, "..data")))
		must(t, os.Remove(f.users))
		must(t, os.Symlink("..data/users", f.users))
		f.Reload(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			f.Watch(ctx)
			close(ended)
		}()
		<-time.After(5 * time.Second)
		must(t, os.Symlink("..v2", filepath.Join(dir, "..tmp")))
		must(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		<-time.After(2 * time.Second)
		synctest.Wait()
		if f.knows("alice") || !f.knows("robert") {
			t.Error("the change has no effect after two seconds")
		}
		cancel()
		<-ended
	})
}

func TestEmptyFileLeavesNoUsers(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	f.replace(f.users, "")
	if f.knows("alice") {
		t.Error("alice is still known")
	}
}

// Reload reads files that seem unchanged, too.
func TestReloadReadsBothFilesAtOnce(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	testkit.WriteFile(t, f.users, userLine("bob", "sesame"))
	testkit.WriteFile(t, f.groups, "staff: bob\n")
	f.Reload(t.Context())
	id, err := f.Authenticate(t.Context(), "bob", "sesame", home)
	if err != nil || !slices.Contains(id.Groups, "staff") {
		t.Errorf("got %v, %v", id, err)
	}
	info, err := os.Stat(f.users)
	must(t, err)
	testkit.WriteFile(t, f.users, userLine("eve", "sesame"))
	setTime(t, f.users, info.ModTime())
	if f.Reload(t.Context()); !f.knows("eve") {
		t.Error("a file with the old time stamp and size was not read")
	}
}

func TestWarnsWhenNoUserCanSignIn(t *testing.T) {
	const warning = "no user can sign in"
	f := newFixture(t, "# nobody yet\n", "")
	f.wantLoggedOnce(warning)
	f.replace(f.users, userLine("alice", "sesame"))
	f.wantLoggedOnce(warning)
	f.replace(f.users, "")
	if n := strings.Count(f.logs.String(), warning); n != 2 || !strings.Contains(f.logs.String(), "formulary passwd "+f.users+" USER") {
		t.Errorf("%d warnings:\n%s", n, f.logs)
	}
}

// A file that loses all its valid lines, and has others, is a mistake, and changes nothing.
func TestGarbageKeepsTheLastContent(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	f.replace(f.users, "# users\nalice:nonsense\n")
	f.replace(f.groups, "staff\n")
	f.Reload(t.Context())
	if id, err := f.Authenticate(t.Context(), "alice", "sesame", home); err != nil || !slices.Contains(id.Groups, "staff") {
		t.Errorf("got %v, %v", id, err)
	}
	for _, want := range []string{f.users + ": no line is valid; line 2: no bcrypt hash", f.groups + ": no line is valid; line 1: malformed"} {
		testkit.Contains(t, "the log lacks", f.logs.String(), want)
	}
	f.replace(f.users, "alice:nonsense\n"+userLine("bob", "sesame"))
	if f.knows("alice") || !f.knows("bob") {
		t.Error("a file with a valid line does not count")
	}
}

// What can't be read does not replace what was read last, and is logged.
func TestUnreadableFileKeepsTheLastContent(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"missing":        os.Remove,
		"a folder":       func(file string) error { _ = os.Remove(file); return os.Mkdir(file, 0o700) },
		"a pipe":         func(file string) error { _ = os.Remove(file); return syscall.Mkfifo(file, 0o600) },
		"over the limit": func(file string) error { return os.Truncate(file, maxFileSize+1) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
			for _, file := range []string{f.users, f.groups} {
				must(t, spoil(file))
			}
			f.Reload(t.Context())
			id, err := f.Authenticate(t.Context(), "alice", "sesame", home)
			if err != nil || !slices.Contains(id.Groups, "staff") {
				t.Errorf("got %v, %v", id, err)
			}
			f.wantLoggedOnce("can't be read; what was read last stays in force")
			if log := f.logs.String(); !strings.Contains(log, f.users) || !strings.Contains(log, f.groups) {
				t.Errorf("the log does not name both files:\n%s", log)
			}

			// One of the files is enough for its own changes to take effect.
			must(t, os.RemoveAll(f.users))
			f.replace(f.users, userLine("bob", "sesame"))
			if !f.knows("bob") || f.knows("alice") {
				t.Error("the users file was not read, because the groups file can't be")
			}
			must(t, os.RemoveAll(f.groups))
			f.replace(f.groups, "staff: bob\n")
			if id, err := f.Authenticate(t.Context(), "bob", "sesame", home); err != nil || !slices.Contains(id.Groups, "staff") {
				t.Errorf("after the files are back: got %v, %v", id, err)
			}
			f.wantLoggedOnce("can be read again")
		})
	}
}

func (f *fixture) wantLoggedOnce(message string) {
	f.t.Helper()
	if got := strings.Count(f.logs.String(), message); got != 1 {
		f.t.Errorf("logged %d times, want once:\n%s", got, f.logs)
	}
}

func TestUnchangedFileIsNotLoggedAgain(t *testing.T) {
	f := newFixture(t, "old:$apr1$a$b\n", "")
	before := f.logs.String()
	f.Reload(t.Context())
	if got := f.logs.String(); got != before {
		t.Errorf("new log lines:\n%s", strings.TrimPrefix(got, before))
	}
}

// A disk that does not answer makes the server unready, and users can still sign in.
func TestStuckRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "")
		ctx, cancel := context.WithCancel(t.Context())
		ended, gate := make(chan struct{}), make(chan struct{})
		f.watcher.Look = func() reload.State { <-gate; return nil }
		go func() {
			f.Watch(ctx)
			close(ended)
		}()
		<-time.After(time.Minute)
		if err := f.Ready(ctx); err == nil || !strings.Contains(err.Error(), "users and groups") {
			t.Errorf("Ready returns %v", err)
		}
		f.wantLogin("alice", "sesame", home)
		cancel()
		<-ended
		close(gate)
	})
}
