package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// What a slow reader takes at a time: about 1.3 MB/s.
const (
	slowPiece = 64 << 10
	slowPause = 50 * time.Millisecond
)

// startSlowReader reads the whole list at the pace of a poor connection, until it is finished.
func startSlowReader(ctx context.Context, server *process) (finish func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	resp, err := get(ctx, server, submissionPath, "Authorization", server.authorization) //nolint:bodyclose // closed by finish
	if err != nil {
		cancel()
		return nil, err
	}
	var pieces int
	done, begun := make(chan error, 1), time.Now()
	go func() {
		piece := make([]byte, slowPiece)
		for range time.Tick(slowPause) {
			if _, err := io.ReadFull(resp.Body, piece); err != nil {
				done <- err
				return
			}
			pieces++
		}
	}()
	return func() error {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return fmt.Errorf("slow reader: %w", err)
		}
		if float64(pieces) < time.Since(begun).Seconds()*5 {
			return fmt.Errorf("the slow reader got %d pieces only: the list was held up", pieces)
		}
		return resp.Body.Close()
	}, nil
}

const (
	uploadCount = 10
	uploadSize  = 25 << 20
)

// uploads are clients that send one file after the other.
type uploads struct {
	wg    sync.WaitGroup
	over  atomic.Bool
	block [64 << 10]byte // of the files
	errs  [uploadCount]error
}

func startUploads(ctx context.Context, server *process) (finish func() error, err error) {
	u := &uploads{}
	_, _ = rand.NewChaCha8([32]byte{}).Read(u.block[:]) // never fails
	for i := range u.errs {
		u.wg.Go(func() {
			for u.errs[i] == nil && !u.over.Load() {
				u.errs[i] = u.send(ctx, server)
			}
		})
	}
	return u.finish, nil
}

// finish has every file end where it is, and waits for the answers. Only then has the server
// stored what it was sent: otherwise it would go on to store it during the other side's turn.
func (u *uploads) finish() error {
	u.over.Store(true)
	u.wg.Wait()
	unix.Sync() // what is left to be written to the disk is theirs, too
	return errors.Join(u.errs[:]...)
}

// send uploads one file. Its length is not told before, so that it can end early.
func (u *uploads) send(ctx context.Context, server *process) error {
	const boundary = "bench-boundary"
	body := io.MultiReader(
		strings.NewReader("--"+boundary+"\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a.bin\"\r\n\r\n"),
		io.LimitReader(u, uploadSize),
		strings.NewReader("\r\n--"+boundary+"--\r\n"))
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

// Read gives random bytes until the uploads are over.
func (u *uploads) Read(b []byte) (int, error) {
	if u.over.Load() {
		return 0, io.EOF
	}
	return copy(b, u.block[:]), nil
}
