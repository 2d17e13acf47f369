package testkit

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failure is a testing.TB that records a failure.
type failure struct {
	testing.TB
	failed bool
}

func (f *failure) Helper()      {}
func (f *failure) Fatal(...any) { f.Fatalf("") }

func (f *failure) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		Eventually(t, "a minute is nearly over", func() bool { return time.Since(begin) > WaitLimit-time.Second })

		f := &failure{TB: t}
		begin = time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			Eventually(f, "never", func() bool { return false })
		}()
		<-done
		if took := time.Since(begin); !f.failed || took < WaitLimit || took > WaitLimit+time.Second {
			t.Errorf("failed %v after %s, want true after %s", f.failed, took, WaitLimit)
		}
	})
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	for _, want := range []string{"first", "second"} {
		WriteFile(t, path, want)
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	f, done := &failure{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		WriteFile(f, strings.Repeat("x", 300), "")
	}()
	<-done
	if !f.failed {
		t.Error("no failure for a file name that is too long")
	}
}
