package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"sync"
	"testing"
)

// Ten files of the largest size that are sent at one time take little memory,
// and come back as they were sent.
func TestUploadsTakeLittleMemory(t *testing.T) { engines(t, testUploadsTakeLittleMemory) }

func testUploadsTakeLittleMemory(t *testing.T, s site) {
	p := start(t, s)
	p.must(t, 201, "POST", "/note/submission", note("before"))
	p.must(t, 200, "GET", "/note/submission", "")
	idle := p.memory(t, "VmRSS")

	const uploads, size = 10, 25 << 20
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
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
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
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	hash := sha256.New()
	go func() {
		part, err := form.CreateFormFile("doc", "large.bin")
		if err == nil {
			_, err = io.CopyN(io.MultiWriter(part, hash), rand.NewChaCha8([32]byte{seed}), size)
		}
		if err == nil {
			err = form.WriteField("text", "large")
		}
		if err == nil {
			err = form.Close()
		}
		to.CloseWithError(err)
	}()
	req, err := request(t.Context(), p.url, "POST", "/paper/submission", "")
	if err != nil {
		return 0, "", err
	}
	req.Body, req.ContentLength, req.GetBody = body, -1, nil
	req.Header.Set("Content-Type", form.FormDataContentType())
	r, err := do(client, req)
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
