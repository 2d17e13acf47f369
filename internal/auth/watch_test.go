package auth

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func (f *fixture) knows(user string) bool {
	_, ok := f.current.Load().accounts[user]
	return ok
}

// setTime gives a file a modification time, as a write at that time would.
func setTime(t *testing.T, file string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestWatchTakesChangesWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "", "")
		f.now = time.Now
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			f.Watch(ctx)
			close(ended)
		}()
		for _, user := range []string{"alice", "bob"} {
			testkit.WriteFile(t, f.users, userLine(user, "sesame"))
			<-time.After(2 * time.Second)
			synctest.Wait()
			if !f.knows(user) {
				t.Errorf("%s is not known after two seconds", user)
			}
		}
		cancel()
		<-ended
	})
}

func TestChangeIsTakenWhenTwoPollsAgree(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	testkit.WriteFile(t, f.users, "") // truncated, as at the beginning of a write
	f.reload(false)
	if !f.knows("alice") {
		t.Fatal("a truncated file was taken at once")
	}
	testkit.WriteFile(t, f.users, userLine("alice", "sesame")+"bob:")
	f.reload(false)
	if !f.knows("alice") {
		t.Fatal("a file was taken that changed between two polls")
	}
	testkit.WriteFile(t, f.users, userLine("alice", "sesame")+userLine("bob", "sesame"))
	f.reload(false)
	if f.knows("bob") {
		t.Fatal("a file was taken that changed between two polls")
	}
	if f.reload(false); !f.knows("bob") {
		t.Error("a settled file was not taken")
	}
}

func TestChangeIsTakenAfterFourPollsAtTheLatest(t *testing.T) {
	f := newFixture(t, "", "")
	content := userLine("alice", "sesame")
	for i := range 4 {
		if f.knows("alice") {
			t.Fatalf("taken after %d polls", i)
		}
		content += "# more\n"
		testkit.WriteFile(t, f.users, content)
		f.reload(false)
	}
	if !f.knows("alice") {
		t.Error("a file that keeps changing was not taken")
	}
}

func TestEmptyFileIsTakenAfterTwoPolls(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	f.replace(f.users, "")
	if f.knows("alice") {
		t.Error("alice is still known")
	}
}

// Two writes have the same time stamp, and hashes of the same length.
func TestSecondWriteWithTheSameTimeStamp(t *testing.T) {
	f := newFixture(t, userLine("alice", "first"), "")
	stamp := f.time
	setTime(t, f.users, stamp)
	f.reload(false)
	f.reload(false)

	testkit.WriteFile(t, f.users, userLine("alice", "other"))
	setTime(t, f.users, stamp)
	f.time = f.time.Add(racyWindow - time.Millisecond)
	f.reload(false)
	f.wantLogin("alice", "other", home)
	f.wantBad("alice", "first", home)

	// Later no such write is possible, and the content is not read any more.
	f.time = f.time.Add(time.Millisecond)
	testkit.WriteFile(t, f.users, userLine("alice", "third"))
	setTime(t, f.users, stamp)
	f.reload(false)
	f.wantLogin("alice", "other", home)
}

// Size, time and identity of the file: a change of any one of them counts.
func TestEveryKindOfChangeIsSeen(t *testing.T) {
	overwrite := func(t *testing.T, file, content string, stamp time.Time) {
		testkit.WriteFile(t, file, content)
		setTime(t, file, stamp)
	}
	for name, change := range map[string]func(t *testing.T, file string, stamp time.Time){
		"size": func(t *testing.T, file string, stamp time.Time) {
			overwrite(t, file, userLine("alice", "other")+"# more\n", stamp)
		},
		"time": func(t *testing.T, file string, stamp time.Time) {
			overwrite(t, file, userLine("alice", "other"), stamp.Add(-time.Hour))
		},
		"identity": func(t *testing.T, file string, stamp time.Time) {
			overwrite(t, file+".new", userLine("alice", "other"), stamp)
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, userLine("alice", "first"), "")
			stamp := f.time
			setTime(t, f.users, stamp)
			f.reload(false)
			f.reload(false)
			f.time = f.time.Add(time.Hour)
			change(t, f.users, stamp)
			f.reload(false)
			f.reload(false)
			f.wantLogin("alice", "other", home)
		})
	}
}

// A mounted ConfigMap: the file is a link through a folder that is a link,
// and the latter is swapped.
func TestSymlinkSwap(t *testing.T) {
	dir := t.TempDir()
	for version, user := range map[string]string{"v1": "alice", "v2": "bob"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(dir, version, "users"), userLine(user, "sesame"))
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, "tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("v1", "..data")
	link(filepath.Join("..data", "users"), "users")
	d, err := Open(Options{UsersFile: filepath.Join(dir, "users")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Directory: d}
	link("v2", "..data")
	d.reload(false)
	d.reload(false)
	if f.knows("alice") || !f.knows("bob") {
		t.Error("the swap was not noticed")
	}
}

// Reload takes a change at once, also one that polls do not see.
func TestReloadTakesBothFilesAtOnce(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	f.reload(false)
	testkit.WriteFile(t, f.users, userLine("bob", "sesame"))
	testkit.WriteFile(t, f.groups, "staff: bob\n")
	f.Reload()
	id, err := f.Authenticate(t.Context(), "bob", "sesame", home)
	if err != nil || !slices.Contains(id.Groups(), "staff") {
		t.Errorf("got %v, %v", id, err)
	}

	info, err := os.Stat(f.users)
	if err != nil {
		t.Fatal(err)
	}
	f.time = f.time.Add(time.Hour) // polls rely on the time stamp by now
	testkit.WriteFile(t, f.users, userLine("eve", "sesame"))
	setTime(t, f.users, info.ModTime())
	f.reload(false)
	if f.knows("eve") {
		t.Fatal("the poll has seen the change: this tests nothing")
	}
	if f.Reload(); !f.knows("eve") {
		t.Error("a file with the old time stamp and size was not read")
	}

	if err := os.Remove(f.users); err != nil {
		t.Fatal(err)
	}
	f.Reload()
	f.Reload()
	if !f.knows("eve") || strings.Count(f.logs.String(), "cannot read file") != 2 {
		t.Errorf("a missing file: the last content must stay, and both failures be logged:\n%s", f.logs)
	}
}

func TestWarnsWhenNoUserCanSignIn(t *testing.T) {
	const warning = "no user can sign in"
	f := newFixture(t, "# nobody yet\n", "")
	f.wantLoggedOnce(warning)
	testkit.WriteFile(t, f.users, userLine("alice", "sesame"))
	f.Reload()
	f.wantLoggedOnce(warning)
	testkit.WriteFile(t, f.users, "alice:nonsense\n")
	f.Reload()
	if n := strings.Count(f.logs.String(), warning); n != 2 || !strings.Contains(f.logs.String(), "formulary passwd "+f.users+" USER") {
		t.Errorf("%d warnings:\n%s", n, f.logs)
	}
}

func TestUnreadableFileKeepsTheLastContent(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
	for _, file := range []string{f.users, f.groups} {
		if err := os.Rename(file, file+".away"); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		f.reload(false)
		f.time = f.time.Add(pollInterval)
	}
	id, err := f.Authenticate(t.Context(), "alice", "sesame", home)
	if err != nil || !slices.Contains(id.Groups(), "staff") {
		t.Errorf("got %v, %v", id, err)
	}
	if got := strings.Count(f.logs.String(), "cannot read file"); got != 2 {
		t.Errorf("logged %d times, want once for each file:\n%s", got, f.logs)
	}

	testkit.WriteFile(t, f.users, userLine("bob", "sesame"))
	testkit.WriteFile(t, f.groups, "staff: bob\n")
	f.reload(false)
	f.reload(false)
	if id, err := f.Authenticate(t.Context(), "bob", "sesame", home); err != nil || !slices.Contains(id.Groups(), "staff") {
		t.Errorf("after the files are back: got %v, %v", id, err)
	}
	if err := os.Remove(f.users); err != nil {
		t.Fatal(err)
	}
	f.reload(false)
	if got := strings.Count(f.logs.String(), "cannot read file"); got != 3 {
		t.Errorf("a second outage makes %d log lines, want 3:\n%s", got, f.logs)
	}
}

func (f *fixture) wantLoggedOnce(message string) {
	f.t.Helper()
	if got := strings.Count(f.logs.String(), message); got != 1 {
		f.t.Errorf("logged %d times, want once:\n%s", got, f.logs)
	}
}

func TestFolderInPlaceOfTheFileIsLoggedOnce(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	if err := os.Remove(f.users); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.users, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		f.reload(false)
	}
	f.wantLoggedOnce("cannot read file")
	if !f.knows("alice") {
		t.Error("alice is not known any more")
	}
}

// The file exists and cannot be opened. Not by chmod, which does not stop root from
// opening it.
func TestChangedButForbiddenFileIsLoggedOnce(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	watched := f.Directory.users
	watched.read = func(path string) ([]byte, os.FileInfo, error) {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	testkit.WriteFile(t, f.users, userLine("bob", "sesame")+"# longer\n")
	for range 10 {
		f.reload(false)
	}
	f.wantLoggedOnce("cannot read file")
	if !f.knows("alice") {
		t.Error("alice is not known any more")
	}
	watched.read = readRegular
	f.reload(false)
	f.reload(false)
	f.wantLoggedOnce("file can be read again")
	if !f.knows("bob") {
		t.Error("the file was not read when it could be")
	}
}

func TestUnchangedFileIsNotLoggedAgain(t *testing.T) {
	f := newFixture(t, "old:$apr1$a$b\n", "")
	before := f.logs.String()
	setTime(t, f.users, f.time.Add(-time.Hour)) // touched only
	f.reload(false)
	f.reload(false)
	if got := f.logs.String(); got != before {
		t.Errorf("new log lines:\n%s", strings.TrimPrefix(got, before))
	}
}

func TestFileOverTheLimitIsRefused(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "")
	if err := os.Truncate(f.users, maxFileSize+1); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		f.reload(false)
	}
	f.wantLoggedOnce("is larger than")
	if !f.knows("alice") {
		t.Error("alice is not known any more")
	}
}

// A read that does not end, as on a network disk that is gone, is logged, Ready
// returns an error, and Watch does not wait for it at the end.
func TestStuckRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, userLine("alice", "sesame"), "staff: alice\n")
		f.now = time.Now
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		gate := make(chan struct{})
		f.Directory.groups.read = func(path string) ([]byte, os.FileInfo, error) {
			<-gate
			return readRegular(path)
		}
		go func() {
			f.Watch(ctx)
			close(ended)
		}()
		testkit.WriteFile(t, f.groups, "hr: alice\n")
		<-time.After(4 * time.Second)
		if err := f.Ready(ctx); err != nil {
			t.Errorf("not ready before the read is late: %v", err)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if err := f.Ready(ctx); err == nil || !strings.Contains(err.Error(), f.groups) {
			t.Errorf("Ready returns %v, which does not name the file", err)
		}
		f.wantLoggedOnce("does not end")
		f.wantLogin("alice", "sesame", home)

		gate <- struct{}{}
		<-time.After(time.Second)
		synctest.Wait()
		if err := f.Ready(ctx); err != nil {
			t.Errorf("not ready after the read has ended: %v", err)
		}
		f.wantLoggedOnce("files can be read again")

		cancel() // the next read is stuck again
		<-ended
		close(gate)
	})
}
