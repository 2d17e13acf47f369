package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// contentOf is the content of the file that is sent with a text: several
// chunks of what can't be compressed, and different for each text.
func contentOf(text string, size int) []byte {
	seed := sha256.Sum256([]byte(text))
	content := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(content) // never fails
	return content
}

// uploadRequest sends a file of 300 KiB or more along with the text.
func uploadRequest(ctx context.Context, url, text string) (*http.Request, error) {
	return upload(ctx, url, text, contentOf(text, sizeOf(text)))
}

// upload sends a file along with the text.
func upload(ctx context.Context, url, text string, content []byte) (*http.Request, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("text", text); err != nil {
		return nil, err
	}
	part, err := form.CreateFormFile("doc", "file.bin")
	if err != nil {
		return nil, err
	}
	if _, err := part.Write(content); err != nil {
		return nil, err
	}
	if err := form.Close(); err != nil {
		return nil, err
	}
	req, err := request(ctx, url, "POST", "/paper/submission", "")
	if err != nil {
		return nil, err
	}
	req.Body, req.ContentLength, req.GetBody = io.NopCloser(&body), int64(body.Len()), nil
	req.Header.Set("Content-Type", form.FormDataContentType())
	return req, nil
}

func sizeOf(text string) int {
	hash := sha256.Sum256([]byte(text))
	return 300<<10 + int(hash[0])<<8 + int(hash[1])
}

// Files that were acknowledged are read back byte for byte however often the
// process is killed while others are sent, and what was not acknowledged is
// there as a whole or not at all.
func TestKillLosesNoFile(t *testing.T) { engines(t, testKillLosesNoFile) }

func testKillLosesNoFile(t *testing.T, s site) {
	l, p := newLedger(), newReplica(t, s, "--access-log=false")
	read := map[int64]bool{}
	for range testkit.Rounds(2, 20) {
		p.start(t)
		people := startSending(t, l, 4, true, func(ctx context.Context, _ int, text string) (response, error) {
			req, err := uploadRequest(ctx, p.url, text)
			if err != nil {
				return response{}, err
			}
			return do(client, req)
		})
		l.moreAcked(t, 4)
		p.kill()
		people.stop()
		p.start(t)
		stored := p.submissions(t, "paper")
		for id, text := range stored {
			if read[id] {
				continue
			}
			read[id] = true
			r := p.must(t, 200, "GET", fmt.Sprintf("/paper/submission/%d/file/doc/file.bin", id), "")
			if want := contentOf(text, sizeOf(text)); r.body != string(want) {
				t.Errorf("the file of submission %d has %d bytes, not the %d that were sent", id, len(r.body), len(want))
			}
		}
		p.kill()
	}
	p.start(t)
	stored := p.submissions(t, "paper")
	l.check(t, stored)
	if s.data != "" { // several servers may share a PostgreSQL: what is staged there may be theirs, and has an hour
		path := filepath.Join(s.data, "formulary.db")
		testkit.Eventually(t, "chunks of broken uploads are removed", func() bool {
			return countRows(t, path, `SELECT count(*) FROM staged_files`) == 0 &&
				countRows(t, path, `SELECT count(DISTINCT file) FROM file_chunks`) == len(stored)
		})
	}
	for id, text := range l.acked {
		r := p.must(t, 200, "GET", fmt.Sprintf("/paper/submission/%d/file/doc/file.bin", id), "")
		if r.body != string(contentOf(text, sizeOf(text))) {
			t.Errorf("the file of submission %d has changed", id)
		}
	}
}

// sendStream sends a file, then the text that the form requires.
func (p *process) sendStream(t *testing.T, file io.Reader, text string) (response, error) {
	t.Helper()
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		part, err := form.CreateFormFile("doc", "large.bin")
		if err == nil {
			_, err = io.Copy(part, file)
		}
		if err == nil {
			err = form.WriteField("text", text)
		}
		if err == nil {
			err = form.Close()
		}
		to.CloseWithError(err)
	}()
	req, err := request(t.Context(), p.url, "POST", "/paper/submission", "")
	if err != nil {
		return response{}, err
	}
	req.Body, req.ContentLength, req.GetBody = body, -1, nil
	req.Header.Set("Content-Type", form.FormDataContentType())
	return do(client, req)
}

// countRows asks the embedded database of a server that runs.
func countRows(t *testing.T, path, query string) int {
	t.Helper()
	db := openDatabase(t, path)
	defer func() { _ = db.Close() }()
	stmt, _, err := db.Prepare(query)
	must(t, err)
	defer func() { _ = stmt.Close() }()
	if !stmt.Step() {
		t.Fatal(stmt.Err())
	}
	return stmt.ColumnInt(0)
}
