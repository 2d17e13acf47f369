package engine

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// storeChunks returns the chunks of a content as Stage makes them.
func storeChunks(id int64, data []byte) (stored chunks) {
	for number := int64(0); len(data) > 0; number++ {
		n := min(ChunkBytes, len(data))
		stored = append(stored, appendSum(bytes.Clone(data[:n]), id, number))
		data = data[n:]
	}
	return stored
}

// chunks implements Querier for one file.
type chunks [][]byte

func (c chunks) Query(_ context.Context, read func(Next), _ string, args ...any) error {
	read(func(to ...any) bool {
		*to[0].(*[]byte) = append((*to[0].(*[]byte))[:0], c[args[1].(int64)]...)
		return true
	})
	return nil
}

// readPart reads the bytes from one offset to another.
func readPart(t *testing.T, r io.ReadSeeker, from, to int) ([]byte, error) {
	t.Helper()
	testkit.Must(t, testkit.ErrorOf(r.Seek(int64(from), io.SeekStart)))
	return io.ReadAll(io.LimitReader(r, int64(to-from)))
}

// TestDamagedChunk: no byte of a damaged chunk is read, wherever a read begins, and
// other chunks are.
func TestDamagedChunk(t *testing.T) {
	const id, damaged = 7, 1
	for name, damage := range map[string]func(c chunks){
		"first bit":    func(c chunks) { c[damaged][0] ^= 1 },
		"last bit":     func(c chunks) { c[damaged][ChunkBytes-1] ^= 0x80 },
		"checksum":     func(c chunks) { c[damaged][ChunkBytes] ^= 1 },
		"zeros":        func(c chunks) { clear(c[damaged]) },
		"too short":    func(c chunks) { c[damaged] = c[damaged][1:] },
		"another one":  func(c chunks) { c[damaged] = c[2] },
		"another file": func(c chunks) { c[damaged] = storeChunks(id+1, make([]byte, 2*ChunkBytes))[damaged] },
	} {
		t.Run(name, func(t *testing.T) {
			const size = 3*ChunkBytes + 5
			data := bytes.Repeat([]byte("0123456789abcdef_"), size/17+1)[:size]
			stored := storeChunks(id, data)
			damage(stored)
			r := OpenContent(context.Background(), forms.StoredFile{ID: id, Size: size}, stored, func() {})
			for range 2 { // also after it was read once
				for _, part := range [][2]int{{0, size}, {ChunkBytes, ChunkBytes + 1}, {ChunkBytes + 100, size}, {2*ChunkBytes - 1, 2 * ChunkBytes}} {
					got, err := readPart(t, r, part[0], part[1])
					if err == nil || !strings.Contains(err.Error(), "damaged") || len(got) != max(0, ChunkBytes-part[0]) {
						t.Errorf("bytes %v: read %d, %v", part, len(got), err)
					}
				}
				for _, part := range [][2]int{{0, ChunkBytes}, {2 * ChunkBytes, size}} {
					if got, err := readPart(t, r, part[0], part[1]); err != nil || !bytes.Equal(got, data[part[0]:part[1]]) {
						t.Errorf("bytes %v: read %d, %v", part, len(got), err)
					}
				}
			}
			_ = r.Close()
		})
	}
}
