package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// A page file whose open would block delays neither the other pages nor the shutdown:
// another process has a lease on one, as file servers do, and one is a pipe without
// a writer.
func TestPageFilesThatBlock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	leased, edited := filepath.Join(s.pages, "7.md"), filepath.Join(s.pages, "1.md")
	testkit.WriteFile(t, leased, pageSource)
	p := start(t, s)
	lease, err := os.OpenFile(leased, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lease.Close() }()
	testkit.Eventually(t, "a lease on a page that is not being read", func() bool {
		return setLease(t, lease, syscall.F_WRLCK)
	})
	if err := syscall.Mkfifo(filepath.Join(s.pages, "8.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	const label = "As it was edited"
	source := strings.Replace(pageSource, "label: More", "label: "+label, 1)
	if _, err := lease.WriteAt([]byte(source), 0); err != nil {
		t.Fatal(err)
	}

	testkit.WriteFile(t, edited, source)
	shows := func(page string) bool { return strings.Contains(formsOf(t, p, page), label) }
	testkit.Eventually(t, "an edit of another page shows", func() bool { return shows("1") })
	if r := fetch(t, p, "/readyz"); r.status != 200 {
		t.Errorf("/readyz: %d %s", r.status, r.body)
	}
	testkit.Eventually(t, "the server opens the leased page", func() bool { return openIsBlocked(t, lease) })
	if shows("7") {
		t.Error("the leased page was read")
	}

	if !setLease(t, lease, syscall.F_UNLCK) {
		t.Error("the lease could not be given up")
	}
	testkit.Eventually(t, "the page shows whose lease was given up", func() bool { return shows("7") })
	testkit.Eventually(t, "a second lease", func() bool { return setLease(t, lease, syscall.F_WRLCK) })
	if _, err := lease.WriteAt([]byte("# "), 0); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the server opens the leased page again", func() bool { return openIsBlocked(t, lease) })
	if err := p.terminate(t); err != nil {
		t.Errorf("%v\n%s", err, p.output())
	}
}

// setLease reports false when the file is open elsewhere.
func setLease(t *testing.T, f *os.File, lease uintptr) bool {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, lease)
	if errno != 0 && !errors.Is(errno, syscall.EAGAIN) {
		t.Fatal(errno)
	}
	return errno == 0
}

// openIsBlocked reports whether a process has tried to open the leased file.
func openIsBlocked(t *testing.T, f *os.File) bool {
	t.Helper()
	lease, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETLEASE, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return lease != syscall.F_WRLCK
}

// formsOf returns the answer for the forms of a page.
func formsOf(t *testing.T, p *process, page string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.url+"/rest/forms/1.0/page/"+page+"/form", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("ann", "secret")
	r, err := do(client, req)
	if err != nil || r.status != 200 {
		t.Fatalf("forms of page %s: %v, %d %s", page, err, r.status, r.body)
	}
	return r.body
}
