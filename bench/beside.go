package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// disturbance goes on at a server for a length of time.
type disturbance func(ctx context.Context, server *process, length time.Duration) error

// beside stores submissions while something else goes on.
func beside(disturb disturbance) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		store, end, err := creates(manyConns)(ctx, server)
		return func(ctx context.Context, start, length time.Duration, t *tally) error {
			done := make(chan error, 1)
			go func() { done <- disturb(ctx, server, start+length) }()
			return errors.Join(store(ctx, start, length, t), <-done)
		}, end, err
	}
}

// readSlowly reads the whole list at the pace of a poor connection: about 1.3 MB/s.
func readSlowly(ctx context.Context, server *process, length time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	resp, err := get(ctx, server, submissionPath, "Authorization", server.authorization)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // in the middle of the list
	pieces, piece := 0, make([]byte, 64<<10)
	for err == nil {
		pause(ctx, 50*time.Millisecond)
		if _, err = io.ReadFull(resp.Body, piece); err == nil {
			pieces++
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("slow reader: %w", err)
	}
	if float64(pieces) < length.Seconds()*5 {
		return fmt.Errorf("the slow reader got %d pieces only: the list was held up", pieces)
	}
	return nil
}

// sendLimited sends to a form with a limit. Once it is full, the server refuses them.
func sendLimited(ctx context.Context, server *process, length time.Duration) error {
	m := postMessage(limitedPath, server.authorization, `{"fields":{"name":{"fieldId":"name","value":"Ann"}}}`)
	m.statuses += " 409"
	l, err := openLoad(ctx, m, manyConns, server)
	if err != nil {
		return err
	}
	defer l.close()
	return l.run(ctx, 0, length, &tally{})
}

// upload has ten clients send one file of 25 MiB after the other. In the end the files end where they are, and the
// server stores them. Otherwise it would store them during another turn.
func upload(ctx context.Context, server *process, length time.Duration) error {
	content := &fileContent{end: time.Now().Add(length)}
	_, _ = rand.NewChaCha8([32]byte{}).Read(content.block[:]) // never fails
	var clients errgroup.Group
	for range 10 {
		clients.Go(func() (err error) {
			for err == nil && time.Now().Before(content.end) {
				err = sendFile(ctx, server, io.LimitReader(content, 25<<20))
			}
			return err
		})
	}
	err := clients.Wait()
	unix.Sync() // writing the rest to the disk belongs to the uploads, too
	return err
}

// fileContent gives random bytes until its end.
type fileContent struct {
	end   time.Time
	block [64 << 10]byte
}

func (c *fileContent) Read(b []byte) (int, error) {
	if time.Now().After(c.end) {
		return 0, io.EOF
	}
	return copy(b, c.block[:]), nil
}

// sendFile does not tell the length before, so that the file can end early.
func sendFile(ctx context.Context, server *process, file io.Reader) error {
	const boundary = "bench-boundary"
	body := io.MultiReader(
		strings.NewReader("--"+boundary+"\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a.bin\"\r\n\r\n"),
		file, strings.NewReader("\r\n--"+boundary+"--\r\n"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+server.addr+paperPath, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	req.Header.Set("Authorization", server.authorization)
	resp, err := plain.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusCreated {
		err = errors.Join(err, fmt.Errorf("upload: %s: %s", resp.Status, answer))
	}
	return errors.Join(err, resp.Body.Close())
}

// hook is a webhook for all changes. Its receiver takes them at once.
var hook = sync.OnceValue(func() string {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	return fmt.Sprintf("hooks: [{name: bench, url: %q, secret: %s, allowPrivate: true}]\n", receiver.URL, strings.Repeat("AAAA", 8))
})

// onlyInTurn stops the server while others have their turn: it would go on to deliver events.
func onlyInTurn(t task) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		run, end, err := t(ctx, server)
		signal := server.cmd.Process.Signal
		return func(ctx context.Context, start, length time.Duration, t *tally) error {
			return errors.Join(signal(syscall.SIGCONT), run(ctx, start, length, t), signal(syscall.SIGSTOP))
		}, func() { _ = signal(syscall.SIGCONT); end() }, err
	}
}
