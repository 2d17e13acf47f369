package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
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

// Nothing is read of the log from the damage on. What was stored before it is there, and can be verified.
func TestDamagedLogEndsThere(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	want := map[int64]string{}
	for i := range 5 {
		value := fmt.Sprint(i)
		want[mustCreate(t, s, sample(value)).ID] = value
	}
	intact := len(leftover(t, dir).wal)
	for range 5 {
		mustCreate(t, s, sample("after the damage"))
	}
	c := leftover(t, dir)
	c.wal[intact+frameBytes/2] ^= 1
	c.index = nil // as after a crash of the system
	dir = c.write(t)
	_, err := Verify(ctx, dir, noProgress)
	must(t, err)
	storetest.Same(t, "values", storetest.Values(t, openStore(t, dir)), want)
}
