package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// account is the user that the server runs as. PostgreSQL refuses to run as root.
type account struct{ uid, gid int }

// unprivileged is the current user; if that is root, postgres or nobody.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return &account{os.Geteuid(), os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		return &account{uid, gid}, errors.Join(uidErr, gidErr)
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody: run the tests as a plain user")
}

func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true} // what a terminal sends to the tests must not end the server first
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// maxDir leaves room for a socket's name within the 107 bytes of its path.
const maxDir = 80

func (a *account) makeDir() (string, error) {
	parent := os.TempDir()
	if len(parent) > maxDir {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "pgtest")
	if err != nil {
		return "", err
	}
	return dir, a.own(dir)
}

func (a *account) writeFile(path, content string) error {
	return errors.Join(os.WriteFile(path, []byte(content), 0o600), a.own(path))
}

func (a *account) own(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// findBinaries is the folder of PostgreSQL's programs. Debian keeps them out
// of the path, in one folder for each version.
func findBinaries() (string, error) {
	candidates := []string{}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			candidates = append(candidates, filepath.Dir(path))
		}
	}
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := range versions { // the latest first
		candidates = append(candidates, versions[len(versions)-1-i])
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	for _, dir := range candidates {
		if isExecutable(dir, "initdb") && isExecutable(dir, "pg_ctl") && isExecutable(dir, "postgres") {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w (initdb, pg_ctl, postgres), neither in the path nor in %q: "+
		"run 'make test-deps', or install them (Debian: apt-get install postgresql)", ErrNotInstalled, candidates)
}

// ErrNotInstalled says that this machine has no PostgreSQL.
var ErrNotInstalled = errors.New("there are no PostgreSQL server programs")

func isExecutable(dir, name string) bool {
	_, err := exec.LookPath(filepath.Join(dir, name))
	return err == nil
}
