package watch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	content, info, err := watch.ReadFile(path, 5)
	if err != nil || string(content) != "12345" || info.Size() != 5 {
		t.Errorf("got %q, %v, %v", content, info, err)
	}
	if _, _, err := watch.ReadFile(path, 4); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Errorf("a file over the limit: %v", err)
	}
	if _, _, err := watch.ReadFile(path+"-none", 4); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// An open that blocks would hang here, and fail by the timeout of the tests.
func TestOpenRefusesWhatWouldBlock(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		if _, _, err := watch.Open(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("open %s: %v", path, err)
		}
	}
}

func TestLoopReportsAStuckLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release, reports := make(chan struct{}), make(chan bool, 2)
		var looks atomic.Int64
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			watch.Loop{
				Interval: time.Second, MaxInterval: 2 * time.Second,
				Look: func() {
					if looks.Add(1) == 2 {
						<-release
					}
				},
				Stuck: func(stuck bool) { reports <- stuck },
			}.Run(ctx)
		}()
		if stuck := <-reports; !stuck || looks.Load() != 2 {
			t.Errorf("report %t after %d looks", stuck, looks.Load())
		}
		close(release)
		if stuck := <-reports; stuck {
			t.Error("the look ended, and still counts as stuck")
		}
		cancel()
		<-ended
	})
}

func TestLoopEndsWhileALookIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		go func() {
			<-begun
			cancel()
		}()
		watch.Loop{
			Interval: time.Second,
			Look: func() {
				close(begun)
				<-release
			},
			Stuck: func(bool) {},
		}.Run(ctx) // returns, or the test is a deadlock
	})
}
