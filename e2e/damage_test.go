package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/testkit"
)

// One bit of the database is flipped. The server refuses to start, or answers as
// before, or with an error, and never with other content. Verify reports everything
// that can't be read.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fillStore(t, s.data, 500)
	p := start(t, s)
	want := map[string]string{}
	for _, list := range []string{"/note/submission", "/note/result"} {
		want[list] = p.must(t, 200, "GET", list, "").body
	}
	if err := p.terminate(t); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.data, "anonymous.key", "formulary.db") // all is in the one file
	whole, err := os.ReadFile(filepath.Join(s.data, "formulary.db"))
	if err != nil {
		t.Fatal(err)
	}
	// One switches checksums off, one is in an answer, and the others are
	// spread over the file.
	inAnswer := bytes.Index(whole, []byte("note 250"))
	positions := []int{20, inAnswer}
	count := testkit.Rounds(8, 30)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		positions = append(positions, (i*len(whole)+random.IntN(len(whole)))/count)
	}
	var noticed atomic.Int64
	t.Run("each", func(t *testing.T) {
		for _, position := range positions {
			bit := byte(1) << random.IntN(8)
			t.Run(fmt.Sprintf("byte %d bit %#x", position, bit), func(t *testing.T) {
				t.Parallel()
				damaged := bytes.Clone(whole)
				damaged[position] ^= bit
				verified := verifyExit(t, s.copyWith(t, damaged))
				readable := listsAsBefore(t, s.copyWith(t, damaged), want)
				if verified != 0 && verified != 1 || verified == 0 && !readable || position == inAnswer && verified == 0 {
					t.Errorf("verify exits with %d; all lists are as before: %t", verified, readable)
				}
				if !readable {
					noticed.Add(1)
				}
			})
		}
	})
	t.Logf("%d of %d flips were noticed by the server", noticed.Load(), len(positions))
	if noticed.Load() < int64(count/2) {
		t.Errorf("only %d of %d flips were noticed: most of the file should be answers", noticed.Load(), len(positions))
	}
}

// copyWith returns the same site with another database.
func (s site) copyWith(t *testing.T, database []byte) site {
	t.Helper()
	key, err := os.ReadFile(s.anonymousKey())
	if err != nil {
		t.Fatal(err)
	}
	s.data = t.TempDir()
	testkit.WriteFile(t, s.anonymousKey(), string(key))
	testkit.WriteFile(t, filepath.Join(s.data, "formulary.db"), string(database))
	return s
}

func verifyExit(t *testing.T, s site) int {
	t.Helper()
	out, err := run(t, append([]string{"verify"}, s.store()...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("verify: %v: %s", err, out)
	}
	return 0
}

// listsAsBefore starts a server and reports whether all lists are what they
// were. It fails the test if one is complete and different.
func listsAsBefore(t *testing.T, s site, want map[string]string) bool {
	t.Helper()
	p := begin(t, exec.Command(binary, s.serve()...))
	defer p.kill()
	select {
	case p.url = <-p.urls:
	case <-time.After(testkit.WaitLimit):
		t.Fatalf("the server neither starts nor refuses to:\n%s", p.output())
	}
	if p.url == "" {
		return false // the server refuses to start
	}
	same := true
	for list, before := range want {
		r, err := p.call(t.Context(), "GET", list, "")
		switch {
		case err != nil || r.status != 200:
			same = false
		case r.body != before:
			t.Errorf("%s is another: %d bytes instead of %d\n%s", list, len(r.body), len(before), p.output())
		}
	}
	return same
}

// A file whose content is damaged outside of its first chunk is never delivered with
// other bytes, neither as a whole nor in part. What is not damaged can be read.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		p := start(t, s)
		const size, chunk = 300 << 10, 64 << 10
		content := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
		r, err := p.sendStream(t, bytes.NewReader(content), "damaged")
		if err != nil || r.status != 201 {
			t.Fatal(r.status, err)
		}
		if err := p.terminate(t); err != nil {
			t.Fatal(err)
		}
		s.damageChunk(t, content[3*chunk-100:])
		p = start(t, s)
		for _, c := range []struct {
			from, to int
			intact   bool
		}{
			{0, size, false},
			{2 * chunk, 3 * chunk, false},
			{3*chunk - 10, 3 * chunk, false},
			{0, 2 * chunk, true},
			{3 * chunk, size, true},
		} {
			req, err := request(t.Context(), p.url, "GET", "/paper/submission/1/file/doc/large.bin", "")
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", c.from, c.to-1))
			r, err := do(client, req)
			complete := err == nil && r.status == 206
			if complete != c.intact || complete && r.body != string(content[c.from:c.to]) {
				t.Errorf("bytes %d to %d: status %d, %d bytes, %v", c.from, c.to, r.status, len(r.body), err)
			}
		}
		testkit.Eventually(t, "the log tells of it", func() bool { return strings.Contains(p.output(), "file broken off") })
	})
}

// damageChunk zeroes the page of the embedded database that holds these bytes, or
// flips a bit in PostgreSQL.
func (s site) damageChunk(t *testing.T, held []byte) {
	t.Helper()
	if s.database != "" {
		conn, err := pgx.Connect(t.Context(), s.database)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		tag, err := conn.Exec(t.Context(), `UPDATE file_chunks SET data = set_bit(data, 300000, 1 - get_bit(data, 300000)) WHERE number = 2`)
		if err != nil || tag.RowsAffected() != 1 {
			t.Fatal(tag, err)
		}
		return
	}
	path := filepath.Join(s.data, "formulary.db")
	database, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(database, held[:50])
	if at < 0 {
		at = bytes.Index(database, held[50:100]) // the first ones lie in two pages
	}
	if at < 0 {
		t.Fatal("the content is not in the file")
	}
	const page = 4096
	clear(database[at/page*page:][:page])
	if err := os.WriteFile(path, database, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The server is killed, and a bit of its write-ahead log is flipped. The server and
// verify refuse the store rather than lose what was acknowledged.
func TestFlippedBitInTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	for i := range 20 {
		p.must(t, 201, "POST", "/note/submission", note(fmt.Sprint("note ", i)))
	}
	want := p.submissions(t, "note")
	p.kill()
	log, err := os.ReadFile(filepath.Join(s.data, "formulary.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if got := start(t, s.copyData(t, log)).submissions(t, "note"); !maps.Equal(got, want) {
		t.Errorf("after a kill: %v, want %v", got, want)
	}
	const header, frame = 32, 24 + 4096
	for _, position := range []int{0, 20, header + 5, header + 3*frame + 100, len(log) / 2, len(log) - 10} {
		damaged := bytes.Clone(log)
		damaged[position] ^= 4
		copied := s.copyData(t, damaged)
		for _, args := range [][]string{append([]string{"verify"}, copied.store()...), copied.serve()} {
			mustRefuse(t, "-wal is damaged", args...)
		}
	}
}

// copyData returns the same site with a copy of its data and another write-ahead log.
func (s site) copyData(t *testing.T, log []byte) site {
	t.Helper()
	from := s.data
	s.data = t.TempDir()
	if err := os.CopyFS(s.data, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(s.data, "formulary.db-wal"), string(log))
	return s
}
