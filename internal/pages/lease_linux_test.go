package pages

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func setLease(t *testing.T, f *os.File, lease uintptr) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, lease); errno != 0 {
		t.Fatal(errno)
	}
}

// Another process may have a lease on a page, as file servers do. Its page is
// read once the lease is given up, and no other page waits for that.
func TestLeasedPageIsTriedAgain(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save("2.md", form("b", "two")).open()
	f, err := os.OpenFile(s.path("1.md"), os.O_RDWR, 0)
	s.must(err)
	defer func() { _ = f.Close() }()
	setLease(t, f, syscall.F_WRLCK)
	_, err = f.WriteAt([]byte(form("a", "new")), 0)
	s.must(err)
	s.must(os.Chtimes(s.path("1.md"), time.Time{}, s.clock.Add(-time.Hour)))
	s.save("2.md", form("b", "new"))

	s.polls(2)
	s.wants(1, "a=one", "leased")
	s.wants(2, "b=new", "beside a leased page")
	if n := s.logged(); n != 0 {
		t.Errorf("%d lines about a lease that will be given up", n)
	}
	s.polls(5)
	if n := s.logged("level=ERROR", "page can't be read", "1.md", "temporarily"); n != 1 {
		t.Errorf("a lease that is not given up is logged %d times, want once", n)
	}

	setLease(t, f, syscall.F_UNLCK)
	s.polls(1)
	s.wants(1, "a=new", "given up")
}
