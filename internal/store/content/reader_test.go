package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
)

// openBytes opens data, of which sum is the checksum that it was stored with.
func openBytes(data []byte, sum [sha256.Size]byte) io.ReadSeekCloser {
	f := forms.StoredFile{ID: 1, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	return Open(context.Background(), f, func(_ context.Context, _, number int64, buf []byte) (int, error) {
		return copy(buf, data[number*ChunkBytes:]), nil
	})
}

// TestDamagedContent: a read to the end of a content reports damage of any of
// its chunks.
func TestDamagedContent(t *testing.T) {
	for _, size := range []int{1, ChunkBytes - 1, ChunkBytes, ChunkBytes + 1, 3 * ChunkBytes} {
		data := bytes.Repeat([]byte("0123456789abcdef_"), size/17+1)[:size]
		sum := sha256.Sum256(data)
		for _, at := range []int{-1, 0, size / 2, size - 1} {
			stored := bytes.Clone(data)
			if at >= 0 {
				stored[at] ^= 1
			}
			r := openBytes(stored, sum)
			for range 2 { // also after it was read once
				if _, err := r.Seek(0, io.SeekStart); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if at < 0 && (err != nil || !bytes.Equal(got, data)) {
					t.Errorf("%d bytes: read %d, %v", size, len(got), err)
				}
				if at >= 0 && (err == nil || !strings.Contains(err.Error(), "not what was stored")) {
					t.Errorf("%d bytes, damaged at %d: read %d, %v", size, at, len(got), err)
				}
			}
			_ = r.Close()
		}
	}
}

// TestPartOfContent: a part can't be compared, and comes as it is.
func TestPartOfContent(t *testing.T) {
	data := bytes.Repeat([]byte{'x'}, 3*ChunkBytes)
	r := openBytes(data, [sha256.Size]byte{})
	defer func() { _ = r.Close() }()
	for _, part := range [][2]int64{{ChunkBytes, 2*ChunkBytes + 5}, {2 * ChunkBytes, 3 * ChunkBytes}, {0, 10}} {
		if _, err := r.Seek(part[0], io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(r, part[1]-part[0]))
		if err != nil || !bytes.Equal(got, data[part[0]:part[1]]) {
			t.Errorf("bytes %v: read %d, %v", part, len(got), err)
		}
	}
}
