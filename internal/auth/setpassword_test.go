package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/testkit"
)

func TestWithUser(t *testing.T) {
	for _, row := range testkit.EscapedRows(t, `new file | | alice:HASH\n
		added | # users\r\nbob:x\n\n | # users\r\nbob:x\n\nalice:HASH\n
		replaced in place | \x20#\nalice:x:y\n\n# z\nbob:$apr1$\r\n\xff | \x20#\nalice:HASH\n\n# z\nbob:$apr1$\r\n\xff
		no newline at the end | bob:y | bob:y\nalice:HASH\n
		no newline at the end, replaced | bob:y\nalice:x | bob:y\nalice:HASH\n
		byte order mark | \uFEFFalice:x\n | alice:HASH\n
		first of two | alice:x\nbob:y\nalice:z\n | alice:HASH\nbob:y\n
		others that look alike | #alice:x\nalice2:x\nalice\nAlice:x\n alice:x\n | #alice:x\nalice2:x\nalice\nAlice:x\n alice:x\nalice:HASH\n`) {
		testkit.Diff(t, row[0], string(withUser([]byte(row[1]), "alice", "alice:HASH\n")), row[2])
	}
}

func FuzzWithUser(f *testing.F) {
	f.Add([]byte("# x\r\nalice:y\nbob"), "alice")
	f.Add([]byte("\uFEFFalice:x"), "bob")
	f.Add([]byte("\r"), "alice")
	f.Fuzz(func(t *testing.T, content []byte, user string) {
		if checkUserName(user) != nil {
			return // SetPassword refuses it
		}
		hash := fakeHash("sesame", 4)
		before, _ := parseUsers(content)
		after, _ := parseUsers(withUser(content, user, user+":"+hash+"\n"))
		before[user] = userHash{hash, 4}
		testkit.Diff(t, "", after, before, cmp.AllowUnexported(userHash{}))
	})
}

func TestSetPassword(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users")
	must(t, SetPassword(file, "alice", "Schlüss1"))
	wantMode(t, file, 0o600)
	content, err := os.ReadFile(file)
	must(t, err)
	users, problems := parseUsers(content)
	if users["alice"].cost != 10 || len(problems) > 0 {
		t.Errorf("got %v, %v", users, problems)
	}
	if err := bcrypt.CompareHashAndPassword([]byte(users["alice"].hash), []byte("Schlüss1")); err != nil {
		t.Error(err)
	}

	must(t, SetPassword(file, "alice", strings.Repeat("x", 72)))
	wantFiles(t, dir, "users")
}

func TestUpdateReplacesTheFileAndKeepsItsMode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users")
	testkit.WriteFile(t, file, "")
	must(t, os.Chmod(file, 0o640))
	before, err := os.Stat(file)
	must(t, err)
	must(t, setHash(file, "alice", "HASH"))
	after, err := os.Stat(file)
	must(t, err)
	if os.SameFile(before, after) {
		t.Error("the file was written in place, where a reader could meet it half-written")
	}
	wantMode(t, file, 0o640)
	wantFiles(t, dir, "users")
}

func TestUpdateKeepsTheOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	testkit.WriteFile(t, file, "")
	giveAway(t, file)
	before := ownerOf(t, file)
	must(t, setHash(file, "alice", "HASH"))
	testkit.Diff(t, "the owner changed", ownerOf(t, file), before)
}

// giveAway changes owner and group of the file as far as the user who runs the
// tests may: root can set any, others can at most set another group of theirs.
func giveAway(t *testing.T, file string) {
	t.Helper()
	if os.Chown(file, 4711, 4712) == nil {
		return
	}
	groups, err := os.Getgroups()
	must(t, err)
	for _, gid := range groups {
		if gid != ownerOf(t, file).GID && os.Chown(file, -1, gid) == nil {
			return
		}
	}
}

type owner struct{ UID, GID int }

func ownerOf(t *testing.T, file string) owner {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	return owner{int(stat.Uid), int(stat.Gid)}
}

func wantMode(t *testing.T, file string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	testkit.Same(t, "mode of "+file, info.Mode(), want)
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	testkit.Diff(t, "files in the folder", got, want)
}

func TestSetPasswordRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	for _, row := range testkit.EscapedRows(t, `alice | | too short
		alice | SECRET7 | too short: use 8 characters or more
		alice | üüüüüüü | too short
		alice | SECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETSECRETS | 72
		alice | A SECRET\x00 | NUL
		alice | A SECRET\n | line break
		alice | A SECRET\rx | line break
		| SECRET | user name is empty
		al:ice | SECRET | ":"
		al\nice | SECRET | control
		al\u0085ice | SECRET | control
		al\xffice | SECRET | UTF-8
		#alice | SECRET | #
		\uFEFFalice | SECRET | byte order mark`) {
		err := SetPassword(file, row[0], row[1])
		if err == nil || !strings.Contains(err.Error(), row[2]) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: got %v", row, err)
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	if err := setHash(t.TempDir(), "alice", "HASH"); err == nil {
		t.Error("a folder was taken for a users file")
	}
	if err := setHash(filepath.Join(file, "users"), "alice", "HASH"); err == nil {
		t.Error("a file was written in a folder that is missing")
	}
}

// A link stays, and leads to the changed file. One that leads nowhere is refused.
func TestUpdateWritesThroughLinks(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	target, link := filepath.Join(dir, "real", "users"), filepath.Join(dir, "users")
	must(t, os.Symlink(filepath.Join("real", "users"), link))
	if err := setHash(link, "alice", "HASH"); err == nil {
		t.Error("no error for a link that leads nowhere")
	}
	testkit.WriteFile(t, target, "bob:x\n")
	must(t, setHash(link, "alice", "HASH"))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if content, err := os.ReadFile(target); string(content) != "bob:x\nalice:HASH\n" || err != nil {
		t.Errorf("the target has %q, %v", content, err)
	}
	wantFiles(t, dir, "real", "users")
	wantFiles(t, filepath.Join(dir, "real"), "users")
}

func TestConcurrentChangesAreAllKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	const n = 50
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			// Without the hashing: it takes so long that the writers would not overlap.
			if err := setHash(file, fmt.Sprint("user", i), fakeHash("sesame", 4)); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	content, err := os.ReadFile(file)
	must(t, err)
	if users, _ := parseUsers(content); len(users) != n {
		t.Errorf("%d users, want %d", len(users), n)
	}
}

func setHash(file, user, hash string) error {
	return updateUsersFile(file, func(content []byte) ([]byte, error) { return withUser(content, user, user+":"+hash+"\n"), nil })
}

func TestRemoveUserRemovesEveryLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	testkit.WriteFile(t, file, "\ufeffann:1\r\nbob:2\r\nann:3\n# ann:4\nanna:5")
	must(t, RemoveUser(file, "ann", false))
	content, err := os.ReadFile(file)
	must(t, err)
	if want := "bob:2\r\n# ann:4\nanna:5"; string(content) != want {
		t.Errorf("left is %q, want %q", content, want)
	}
}
