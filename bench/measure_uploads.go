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
	"time"
)

const (
	paperPath   = "/rest/forms/1.0/page/2/form/paper/submission"
	uploadCount = 10
	uploadSize  = 25 << 20
)

// createDuringUploads holds creates while ten large files are sent against
// creates by themselves.
func (b *bench) createDuringUploads(ctx context.Context) (err error) {
	server, err := b.startServer(ctx, b.dataDir("create-uploads"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	creates := newLoad(createMessage(), manyConns, server)
	defer creates.close()
	if err := creates.open(ctx); err != nil {
		return err
	}
	uploads := startUploads(ctx, server.addr, uploadCount)
	defer func() { err = errors.Join(err, uploads.stop()) }()
	during := func(ctx context.Context, start, length time.Duration, t *tally) error {
		uploads.open()
		defer uploads.hold()
		return creates.run(ctx, start, length, t)
	}
	var pairs []pair // bare is creates by themselves
	for round := range b.rounds {
		sent := uploads.bytes()
		samples, err := inTurns(ctx, b.interval, longTurn, during, creates.run)
		if err != nil {
			return err
		}
		p := pair{samples[0], samples[1]}
		progress(round, "%s, alone %s: %.2f; %s of files", rate(p.ours.perSecond), rate(p.bare.perSecond), p.ratio(), mebibytes(float64(uploads.bytes()-sent)))
		pairs = append(pairs, p)
	}
	if uploads.bytes() == 0 {
		return errors.New("nothing was uploaded")
	}
	b.results.add(figureOf("creates, 64 connections, while ten files of 25 MiB are sent, of creates alone", target{atLeast, 0.5},
		"during uploads", "alone", pairs, durability))
	return nil
}

// uploads are clients that send one file after the other while they are let.
type uploads struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	turn   *sync.Cond
	isOpen bool
	done   bool
	sent   int64
	err    error
}

// startUploads starts clients that wait until open is called.
func startUploads(ctx context.Context, addr string, count int) *uploads {
	ctx, cancel := context.WithCancel(ctx)
	u := &uploads{cancel: cancel, turn: sync.NewCond(&sync.Mutex{})}
	block := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(block) // never fails
	for range count {
		u.wg.Go(func() {
			for u.wait() {
				if err := u.send(ctx, addr, block); err != nil {
					u.fail(err)
				}
			}
		})
	}
	return u
}

// send uploads one file.
func (u *uploads) send(ctx context.Context, addr string, block []byte) error {
	const boundary = "bench-boundary"
	head := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a.bin\"\r\n\r\n"
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(&paced{uploads: u, block: block}, uploadSize), strings.NewReader("\r\n--"+boundary+"--\r\n"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+paperPath, body)
	if err != nil {
		return err
	}
	req.ContentLength = int64(len(head) + uploadSize + len("\r\n--"+boundary+"--\r\n"))
	req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	req.SetBasicAuth(user, password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusCreated {
		err = errors.Join(err, fmt.Errorf("upload: status %d: %s", resp.StatusCode, answer))
	}
	return errors.Join(err, resp.Body.Close())
}

// paced gives random bytes while the uploads are open, and waits otherwise.
type paced struct {
	*uploads
	block []byte
}

func (p *paced) Read(b []byte) (int, error) {
	if !p.wait() {
		return 0, context.Canceled
	}
	n := copy(b, p.block)
	p.turn.L.Lock()
	defer p.turn.L.Unlock()
	p.sent += int64(n)
	return n, nil
}

// wait returns when the uploads are open, and false when they are over.
func (u *uploads) wait() bool {
	u.turn.L.Lock()
	defer u.turn.L.Unlock()
	for !u.isOpen && !u.done {
		u.turn.Wait()
	}
	return !u.done
}

func (u *uploads) set(change func()) {
	u.turn.L.Lock()
	defer u.turn.L.Unlock()
	change()
	u.turn.Broadcast()
}

func (u *uploads) open() { u.set(func() { u.isOpen = true }) }

func (u *uploads) hold() { u.set(func() { u.isOpen = false }) }

func (u *uploads) fail(err error) {
	u.set(func() {
		if !u.done {
			u.done, u.err = true, err
		}
	})
}

func (u *uploads) bytes() int64 {
	u.turn.L.Lock()
	defer u.turn.L.Unlock()
	return u.sent
}

// stop ends the uploads, and returns what went wrong with one before.
func (u *uploads) stop() error {
	u.set(func() { u.done = true })
	u.cancel()
	u.wg.Wait()
	return u.err
}
