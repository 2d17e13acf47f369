package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/testkit"
)

// Ten large files that are sent at one time take little memory,
// and come back as they were sent.
func TestUploadsTakeLittleMemory(t *testing.T) { engines(t, testUploadsTakeLittleMemory) }

func testUploadsTakeLittleMemory(t *testing.T, s site) {
	p := start(t, s)
	p.must(t, 201, "POST", "/note/submission", note("before"))
	p.must(t, 200, "GET", "/note/submission", "")
	idle := p.memory(t, "VmRSS")

	const uploads = 10
	size := int64(testkit.Rounds(8, 25)) << 20
	ids, sums := make([]int64, uploads), make([]string, uploads)
	var wg sync.WaitGroup
	for i := range uploads {
		wg.Go(func() {
			var err error
			if ids[i], sums[i], err = p.uploadStream(t, byte(i), size); err != nil {
				t.Errorf("upload %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	peak := p.memory(t, "VmHWM")
	t.Logf("%d MiB idle, %d MiB at the most", idle>>20, peak>>20)
	if peak-idle > 64<<20 {
		t.Errorf("%d MiB more than idle, want at most 64", (peak-idle)>>20)
	}
	for i, id := range ids {
		req, err := request(t.Context(), p.url, "GET", fmt.Sprintf("/paper/submission/%d/file/doc/large.bin", id), "")
		must(t, err)
		resp, err := client.Do(req)
		must(t, err)
		sum := sha256.New()
		n, err := io.Copy(sum, resp.Body)
		_ = resp.Body.Close()
		if err != nil || n != size || hex.EncodeToString(sum.Sum(nil)) != sums[i] || resp.Header.Get("ETag") != `"`+sums[i]+`"` {
			t.Errorf("file %d has come back with %d bytes, status %d, %v", i, n, resp.StatusCode, err)
		}
	}
}

// uploadStream sends a file without holding it in memory, and returns the id of its
// submission and the SHA-256 of its content.
func (p *process) uploadStream(t *testing.T, seed byte, size int64) (id int64, sum string, err error) {
	t.Helper()
	hash := sha256.New()
	r, err := p.sendStream(t, io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{seed}), size), hash), "large")
	if err != nil {
		return 0, "", err
	}
	if r.status != http.StatusCreated {
		return 0, "", fmt.Errorf("status %d: %s", r.status, r.body)
	}
	var s submission
	err = json.Unmarshal([]byte(r.body), &s)
	return s.ID, hex.EncodeToString(hash.Sum(nil)), err
}

// Files of submissions that are refused do not pile up: uploads are slowed down while
// more than 64 MiB wait to be removed.
func TestRefusedUploadsDoNotFillTheDisk(t *testing.T) { engines(t, testRefusedUploadsDoNotFillTheDisk) }

func testRefusedUploadsDoNotFillTheDisk(t *testing.T, s site) {
	p := start(t, s)
	const senders, uploads, size = 8, 5, 4 << 20 // 160 MiB
	var wg sync.WaitGroup
	for i := range byte(senders) {
		wg.Go(func() {
			for range uploads {
				r, err := p.sendStream(t, io.LimitReader(rand.NewChaCha8([32]byte{i}), size), "") // the text is required
				if err != nil || r.status != http.StatusBadRequest {
					t.Errorf("status %d, %v: %s", r.status, err, r.body)
					return
				}
			}
		})
	}
	wg.Wait()
	// The last term is for the write-ahead log, and for what tables need beside their rows.
	const sent, most = senders * uploads * size, 64<<20 + senders*size + 32<<20
	if used := s.storeBytes(t); used > most {
		t.Errorf("%d MiB were refused, and the store has grown to %d MiB, want at most %d", sent>>20, used>>20, most>>20)
	} else {
		t.Logf("%d MiB were refused, the store has %d MiB", sent>>20, used>>20)
	}
	if _, _, err := p.uploadStream(t, 0, size); err != nil {
		t.Errorf("an upload that is right: %v", err)
	}
}

// storeBytes is the room that the store takes on the disk.
func (s site) storeBytes(t *testing.T) (size int64) {
	t.Helper()
	if s.database == "" {
		for _, name := range []string{"formulary.db", "formulary.db-wal"} {
			info, err := os.Stat(filepath.Join(s.data, name))
			must(t, err)
			size += info.Size()
		}
		return size
	}
	conn, err := pgx.Connect(t.Context(), s.database)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	must(t, conn.QueryRow(t.Context(), `SELECT pg_database_size(current_database())`).Scan(&size))
	return size
}
