package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/formulary/formulary/internal/store/storetest"
)

// logFile notes what reaches the file.
type logFile struct {
	vfs.File // nil: whatever is not noted here must not be called
	log      []string
	err      error
}

func (f *logFile) record(format string, args ...any) error {
	f.log = append(f.log, fmt.Sprintf(format, args...))
	return f.err
}

func (f *logFile) WriteAt(p []byte, off int64) (int, error) {
	return len(p), f.record("write %d+%d", off, len(p))
}

func (f *logFile) ReadAt(p []byte, off int64) (int, error) { return len(p), f.record("read %d", off) }
func (f *logFile) Sync(vfs.SyncFlag) error                 { return f.record("sync") }
func (f *logFile) Size() (int64, error)                    { return 0, f.record("size") }
func (f *logFile) Truncate(size int64) error               { return f.record("truncate %d", size) }
func (f *logFile) Close() error                            { return f.record("close") }

func TestWALWritesAreBuffered(t *testing.T) {
	write := func(f *walFile, off int64, n int) {
		t.Helper()
		if got, err := f.WriteAt(make([]byte, n), off); got != n || err != nil {
			t.Fatalf("wrote %d, %v", got, err)
		}
	}
	for name, tt := range map[string]struct {
		do   func(*walFile) error
		want []string
	}{
		"a commit": {func(f *walFile) error { return f.Sync(0) }, []string{"write 32+8240", "sync"}},
		"a read":   {func(f *walFile) error { _, err := f.ReadAt(nil, 7); return err }, []string{"write 32+8240", "read 7"}},
		"size":     {func(f *walFile) error { _, err := f.Size(); return err }, []string{"write 32+8240", "size"}},
		"truncate": {func(f *walFile) error { return f.Truncate(5) }, []string{"write 32+8240", "truncate 5"}},
		"close":    {(*walFile).Close, []string{"write 32+8240", "close"}},
		"elsewhere": {func(f *walFile) error {
			write(f, 0, 32)
			return f.Sync(0)
		}, []string{"write 32+8240", "write 0+32", "sync"}},
		"too much": {func(f *walFile) error {
			write(f, 8272, maxBuffered)
			return f.Sync(0)
		}, []string{"write 32+8240", fmt.Sprintf("write 8272+%d", maxBuffered), "sync"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := &logFile{}
			f := &walFile{file: &file{File: log}}
			for _, frame := range []int64{32, 4152} { // two frames, in two pieces each
				write(f, frame, 24)
				write(f, frame+24, 4096)
			}
			if err := tt.do(f); err != nil {
				t.Fatal(err)
			}
			storetest.Same(t, "what reached the file", log.log, tt.want)
		})
	}
}

// What could not be written is not written later, over newer content.
func TestFailedFlushEmptiesTheBuffer(t *testing.T) {
	log := &logFile{err: errors.New("no")}
	f := &walFile{file: &file{File: log}}
	if _, err := f.WriteAt(make([]byte, 24), 32); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(0); !errors.Is(err, log.err) {
		t.Errorf("sync: %v, want %v", err, log.err)
	}
	log.err = nil
	if _, err := f.WriteAt(make([]byte, 10), 32); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(0); err != nil {
		t.Error(err)
	}
	storetest.Same(t, "what reached the file", log.log, []string{"write 32+24", "write 32+10", "sync"})
}
