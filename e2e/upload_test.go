package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

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
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("text", text); err != nil {
		return nil, err
	}
	part, err := form.CreateFormFile("doc", "file.bin")
	if err != nil {
		return nil, err
	}
	if _, err := part.Write(contentOf(text, sizeOf(text))); err != nil {
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
func TestKillLosesNoFile(t *testing.T) {
	t.Parallel()
	engines(t, testKillLosesNoFile)
}

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
	return p.sendFileTo(t, "/paper/submission", file, text)
}

func (p *process) sendFileTo(t *testing.T, path string, file io.Reader, text string) (response, error) {
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
	req, err := request(t.Context(), p.url, "POST", path, "")
	if err != nil {
		return response{}, err
	}
	req.Body, req.ContentLength, req.GetBody = body, -1, nil
	req.Header.Set("Content-Type", form.FormDataContentType())
	return do(client, req)
}

// countRows asks the database of a server that runs.
func countRows(t *testing.T, path, query string) (count int) {
	t.Helper()
	if _, err := fmt.Sscan(site{data: filepath.Dir(path)}.sql(t, query), &count); err != nil {
		t.Fatal(err)
	}
	return count
}

// sql runs a statement on the database of a server that runs, and returns the first
// value of the result.
func (s site) sql(t *testing.T, statement string) (value string) {
	t.Helper()
	if s.database != "" {
		conn, err := pgx.Connect(t.Context(), s.database)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		if err := conn.QueryRow(t.Context(), statement).Scan(&value); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
		return value
	}
	db := openDatabase(t, filepath.Join(s.data, "formulary.db"))
	defer func() { _ = db.Close() }()
	stmt, _, err := db.Prepare(statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	if stmt.Step() {
		value = stmt.ColumnText(0)
	}
	if err := stmt.Err(); err != nil {
		t.Fatal(err)
	}
	return value
}

// An upload of several files may take longer than an hour: its first file stays until
// the last has come.
func TestLongUpload(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		p := start(t, s)
		body, to := io.Pipe()
		form := multipart.NewWriter(to)
		req, err := request(t.Context(), p.url, "POST", "/paper/submission", "")
		if err != nil {
			t.Fatal(err)
		}
		req.Body, req.ContentLength, req.GetBody = body, -1, nil
		req.Header.Set("Content-Type", form.FormDataContentType())
		answers := make(chan response, 1)
		go func() {
			r, err := do(client, req)
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
		sendFile := func(size int) {
			part, err := form.CreateFormFile("doc", "file.bin")
			if err == nil {
				_, err = part.Write(make([]byte, size))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		sendFile(100 << 10)
		sendFile(100 << 10) // its last chunk waits for the end of the part
		files := func(count string) {
			t.Helper()
			testkit.Eventually(t, count+" files are staged", func() bool {
				return s.sql(t, `SELECT cast(count(*) AS text) FROM staged_files`) == count
			})
		}
		files("2")
		ago := `touched - 7200000`
		if s.database != "" {
			ago = `touched - interval '2 hours'`
		}
		s.sql(t, `UPDATE staged_files SET touched = `+ago+` WHERE touched = (SELECT min(touched) FROM staged_files) RETURNING 'changed'`)
		if r, err := p.sendStream(t, strings.NewReader("a small file"), ""); err != nil || r.status != http.StatusBadRequest {
			t.Fatal(r.status, err)
		}
		files("2") // what was refused is removed, and so would be what is too old
		if err := errors.Join(form.WriteField("text", "late"), form.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
		if r := <-answers; r.status != http.StatusCreated {
			t.Errorf("status %d: %s", r.status, r.body)
		}
	})
}

// A file is replaced again and again by another of the same name. Each time it is read,
// it is one of them as a whole.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		p := start(t, s, "--access-log=false")
		send := func(path string, i int) (response, error) {
			return p.sendFileTo(t, path, bytes.NewReader(contentOf(fmt.Sprint(i), 500<<10)), "replaced")
		}
		if r, err := send("/paper/submission", 0); err != nil || r.status != http.StatusCreated {
			t.Fatal(r.status, err)
		}
		var done atomic.Bool
		var read atomic.Int64
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for !done.Load() && !t.Failed() {
					r, err := p.call(t.Context(), "GET", "/paper/submission/1/file/doc/large.bin", "")
					sum := sha256.Sum256([]byte(r.body))
					if err != nil || r.status != http.StatusOK || r.header.Get("ETag") != `"`+hex.EncodeToString(sum[:])+`"` {
						t.Errorf("status %d, %d bytes, %v", r.status, len(r.body), err)
					}
					read.Add(1)
				}
			})
		}
		for i := 1; i <= testkit.Rounds(15, 60) && !t.Failed(); i++ {
			if r, err := send("/paper/submission/1", i); err != nil || r.status != http.StatusOK {
				t.Errorf("replace: status %d, %v: %s", r.status, err, r.body)
			}
		}
		done.Store(true)
		readers.Wait()
		t.Logf("read %d times", read.Load())
		testkit.Eventually(t, "all but the last file are removed", func() bool {
			return s.sql(t, `SELECT cast(count(DISTINCT file) AS text) FROM file_chunks`) == "1"
		})
	})
}
