package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// crashed are the files of a store whose process was killed.
type crashed struct{ database, wal, index []byte }

// leftover returns the files of a store as they would be if its process were killed now.
func leftover(t *testing.T, dir string) (c crashed) {
	t.Helper()
	for suffix, data := range map[string]*[]byte{"": &c.database, "-wal": &c.wal, "-shm": &c.index} {
		var err error
		if *data, err = os.ReadFile(filepath.Join(dir, FileName+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// write puts the files into a new directory. There is no index where it is nil, as
// after a crash of the system.
func (c crashed) write(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for suffix, data := range map[string][]byte{"": c.database, "-wal": c.wal, "-shm": c.index} {
		if data == nil {
			continue
		}
		testkit.WriteFile(t, filepath.Join(dir, FileName+suffix), string(data))
	}
	return dir
}

// transactions are the offsets of the first frame of each transaction in a WAL, and
// of the end.
func transactions(wal []byte) []int {
	offsets := []int{walHeaderBytes}
	for at := walHeaderBytes; at+frameBytes <= len(wal) && bytes.Equal(wal[at+frameSaltOffset:][:8], wal[saltOffset:][:8]); at += frameBytes {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			offsets = append(offsets, at+frameBytes)
		}
	}
	return offsets
}

// mustOpen opens what a crash has left, and checks what is stored.
func (c crashed) mustOpen(t *testing.T, what string, want map[int64]string) {
	t.Helper()
	dir := c.write(t)
	if _, err := Verify(ctx, dir, noProgress); err != nil {
		t.Errorf("%s: verify: %v", what, err)
	}
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	storetest.Same(t, what, storetest.Values(t, s), want)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFlippedBitsInTheWAL: SQLite would drop every transaction after the changed bit
// without a word.
func TestFlippedBitsInTheWAL(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for i := range 20 {
		mustCreate(t, s, sample(strings.Repeat(fmt.Sprint(i), 1+i*100)))
	}
	c := leftover(t, dir)
	path := filepath.Join(c.write(t), FileName)
	half := testkit.Rounds(100, 500)
	for i := range 2 * half {
		if i == half { // as after a crash of the system
			must(t, os.Remove(path+"-shm"))
		}
		// Without the index, damage of the last two transactions may look like the end of the log.
		steps := transactions(c.wal)
		limit := steps[len(steps)-1]
		if i >= half {
			limit = steps[len(steps)-3]
		}
		at := rand.IntN(limit)
		if i%5 == 0 { // the headers of frames are small
			at = walHeaderBytes + at/frameBytes*frameBytes + rand.IntN(frameHeaderBytes)
		}
		if i%half < 2*walHeaderBytes {
			at = i % walHeaderBytes
		}
		damaged := bytes.Clone(c.wal)
		damaged[at] ^= 1 << rand.IntN(8)
		testkit.WriteFile(t, path+"-wal", string(damaged))
		if err := checkWAL(path); err == nil || !strings.Contains(err.Error(), "restore the last backup") {
			t.Errorf("byte %d of %d, index %t: %v", at, len(c.wal), i < half, err)
		}
	}
}

// TestDamagedWALIsRefused: every way to the store tells of it, and nothing is changed.
func TestDamagedWALIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for range 20 {
		mustCreate(t, s, sample("x"))
	}
	c := leftover(t, dir)
	c.wal[len(c.wal)/4] ^= 1
	dir = c.write(t)
	_, openErr := Open(ctx, dir, Options{})
	_, verifyErr := Verify(ctx, dir, noProgress)
	for what, err := range map[string]error{
		"open": openErr, "verify": verifyErr, "backup": Backup(ctx, dir, filepath.Join(t.TempDir(), "backup"), noProgress),
	} {
		if err == nil || !strings.Contains(err.Error(), "-wal is damaged in frame") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := leftover(t, dir); !bytes.Equal(after.wal, c.wal) || !bytes.Equal(after.database, c.database) {
		t.Error("the files were changed")
	}
}

// TestEndOfTheWAL: a transaction that a crash has interrupted is no damage, whatever
// part of it is on the disk.
func TestEndOfTheWAL(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	want := map[int64]string{}
	for i := range int64(5) {
		want[i+1] = fmt.Sprint(i)
		mustCreate(t, s, sample(want[i+1]))
	}
	mustCreate(t, s, sample(strings.Repeat("the last", 2000)))
	c := leftover(t, dir)
	c.index = nil
	steps := transactions(c.wal)
	last := steps[len(steps)-2]
	if frames := (len(c.wal) - last) / frameBytes; frames < 4 {
		t.Fatalf("the last transaction has %d frames: nothing tested", frames)
	}
	for range testkit.Rounds(6, 20) {
		torn := c
		torn.wal = c.wal[:last+rand.IntN(len(c.wal)-last)]
		torn.mustOpen(t, "cut", want)
	}
	for at := last; at < len(c.wal); at += frameBytes {
		torn := c
		torn.wal = bytes.Clone(c.wal)
		clear(torn.wal[at : at+frameBytes])
		torn.mustOpen(t, "a frame is missing", want)
	}
}

// TestOldFramesInTheWAL: after a checkpoint the WAL is written from its start. The
// older frames behind its end are no damage.
func TestOldFramesInTheWAL(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	want := map[int64]string{}
	for i := range int64(testkit.Rounds(20, 40)) {
		want[i+1] = strings.Repeat(fmt.Sprint(i), 500)
		mustCreate(t, s, sample(want[i+1]))
		if i%10 == 4 {
			s.writer.commitMu.Lock()
			s.writer.restartWAL()
			s.writer.commitMu.Unlock()
		}
		if !testkit.Release && (i%10 < 3 || i%10 > 6) { // the rest is far from a checkpoint
			continue
		}
		c := leftover(t, dir)
		c.mustOpen(t, "after a kill", maps.Clone(want))
		c.index = nil
		c.mustOpen(t, "after a crash", maps.Clone(want))
	}
}

// TestFramesOfFailedTransactions: what a transaction has written to the WAL before
// it failed is overwritten by the next, and what is left of it is no damage.
func TestFramesOfFailedTransactions(t *testing.T) {
	dir := t.TempDir()
	s, disk := openOnDisk(t, dir)
	want := map[int64]string{1: "first"}
	mustCreate(t, s, sample("first"))
	large := strings.Repeat("x", 12<<20) // more than the cache: a part is written before the commit
	for i := range int64(testkit.Rounds(2, 3)) {
		disk.fault.Store(&fault{err: syscall.EIO, suffix: "-wal", size: walSize(t, dir) + (3-i)<<20})
		if err := creating(s, sample(large))(); err == nil {
			t.Fatal("no error")
		}
		disk.fault.Store(&fault{err: syscall.EIO, suffix: "-wal", syncs: true})
		if err := creating(s, sample(strings.Repeat("y", 100<<10)))(); err == nil {
			t.Fatal("no error")
		}
		disk.fault.Store(nil)
		id := mustCreate(t, s, sample(fmt.Sprint(i))).ID
		want[id] = fmt.Sprint(i)
		c := leftover(t, dir)
		c.mustOpen(t, "after a kill", maps.Clone(want))
		c.index = nil
		c.mustOpen(t, "after a crash", maps.Clone(want))
	}
}

// TestWALIsCheckedBesideAServer: neither commits nor checkpoints of a server make
// verify see damage.
func TestWALIsCheckedBesideAServer(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("x"))
	done := make(chan error, 1)
	go func() {
		for range testkit.Rounds(100, 300) {
			if _, err := s.Create(ctx, sample(strings.Repeat("x", 30<<10))); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for checks := 0; ; checks++ {
		select {
		case err := <-done:
			if err != nil || checks == 0 {
				t.Fatal(checks, err)
			}
			return
		default:
			must(t, checkWAL(filepath.Join(dir, FileName)))
		}
	}
}
