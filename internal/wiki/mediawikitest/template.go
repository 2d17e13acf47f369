package mediawikitest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

//go:embed php
var scripts embed.FS

var users = []struct {
	Name     string   `json:"name"`
	Password string   `json:"password"`
	Groups   []string `json:"groups"`
}{
	{Name: "Ann"},
	{Name: "Bob"},
	{Name: "Sara", Groups: []string{"staff"}},
	{Name: "Carl Doe"},
	{Name: "Über Größe"},
	{Name: "Alice"},
	{Name: "Carol", Groups: []string{"hr"}},
	{Name: "Dave"},
}

// cacheDir is the folder with the templates.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "formulary-mediawiki")
}

// opcache is the folder with the compiled scripts of MediaWiki, for all servers.
func opcache() string { return filepath.Join(cacheDir(), "opcache") }

// installed is a wiki without a server.
type installed struct {
	dir     string
	program string // the folder of MediaWiki
}

// template is what all servers are copied from. The first process that needs it
// makes it.
var template = sync.OnceValues(func() (installed, error) {
	program, err := find(os.Getenv(Variable), os.Getenv("CI") != "", programs...)
	if err != nil {
		return installed{}, err
	}
	dir, err := install(program)
	return installed{dir, program}, err
})

// install returns the folder of an installed wiki, which it makes unless it is there.
func install(program string) (string, error) {
	version, err := os.ReadFile(filepath.Join(program, definitions))
	if err != nil {
		return "", err
	}
	for i, u := range users {
		users[i].Password = Password(u.Name)
	}
	people, err := json.Marshal(users) //nolint:gosec // they are for tests
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(opcache(), 0o700); err != nil {
		return "", err
	}
	key := sha256.New()
	_, _ = fmt.Fprint(key, program, string(version), string(people))
	entries, err := scripts.ReadDir("php")
	for _, entry := range entries {
		text, readErr := scripts.ReadFile("php/" + entry.Name())
		_, _ = key.Write(text)
		err = errors.Join(err, readErr)
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cacheDir(), hex.EncodeToString(key.Sum(nil)[:8]))
	return once(dir, func(half string) error { return fill(half, program, people) })
}

// once makes a folder, unless it is there. One process at a time does so.
func once(dir string, fill func(half string) error) (string, error) {
	lock, err := os.OpenFile(filepath.Join(cacheDir(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	removeOld()
	half := dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return "", err
	}
	if err := fill(half); err != nil {
		return "", fmt.Errorf("install MediaWiki: %w", err)
	}
	return dir, os.Rename(half, dir)
}

// fill installs a wiki in a folder.
func fill(dir, program string, people []byte) error {
	if err := os.MkdirAll(filepath.Join(dir, "cache"), 0o700); err != nil {
		return err
	}
	err := php(dir, nil, program+"/maintenance/install.php", "--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", filepath.Join(dir, "data"),
		"--confpath", dir, "--scriptpath", "", "--server", "http://127.0.0.1", "--extensions", "OATHAuth,ConfirmEdit",
		"--pass", Password("Admin"), "Test", "Admin")
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, "LocalSettings.php")); err != nil {
		return err
	}
	files, err := fs.Sub(scripts, "php")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	return php(dir, []string{
		"MW_CONFIG_FILE=" + filepath.Join(dir, "LocalSettings.php"), "MW_INSTALL_PATH=" + program, "MEDIAWIKITEST_USERS=" + string(people),
	}, filepath.Join(dir, "setup.php"))
}

func php(dir string, env []string, args ...string) error {
	cmd := exec.Command("php", args...) //nolint:gosec,noctx // our own scripts, which end
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, out)
	}
	return nil
}

// removeOld removes templates of earlier versions. Another checkout may still use
// those of the last days.
func removeOld() {
	entries, _ := os.ReadDir(cacheDir())
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.IsDir() && entry.Name() != filepath.Base(opcache()) && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(cacheDir(), entry.Name()))
		}
	}
}
