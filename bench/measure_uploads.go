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

const (
	paperPath   = "/rest/forms/1.0/page/2/form/paper/submission"
	uploadCount = 10
	uploadSize  = 25 << 20
)

// createDuringUploads holds creates while ten large files are sent against
// creates by themselves.
func (b *bench) createDuringUploads(ctx context.Context) error {
	server, err := b.startServer(ctx, b.dataDir("create-uploads"))
	if err != nil {
		return err
	}
	return b.duringUploads(ctx, server, "SQLite", durability)
}

// pgCreateDuringUploads is createDuringUploads on PostgreSQL.
func (b *bench) pgCreateDuringUploads(ctx context.Context) error {
	url, err := b.newDatabase(ctx, "create_uploads")
	if err != nil {
		return err
	}
	server, err := b.startOnPostgres(ctx, "create_uploads", url)
	if err != nil {
		return err
	}
	return b.duringUploads(ctx, server, "PostgreSQL", pgDurability)
}

// duringUploads measures a server, and stops it.
func (b *bench) duringUploads(ctx context.Context, server *process, engine, durable string) (err error) {
	defer func() { err = errors.Join(err, server.stop()) }()
	creates := newLoad(createMessage(), manyConns, server)
	defer creates.close()
	if err := creates.open(ctx); err != nil {
		return err
	}
	sent := int64(0)
	during := func(ctx context.Context, start, length time.Duration, t *tally) error {
		u := startUploads(ctx, server.addr)
		err := creates.run(ctx, start, length, t)
		bytes, errUploads := u.finish()
		sent += bytes
		return errors.Join(err, errUploads)
	}
	var pairs []pair // bare is creates by themselves
	for round := range b.rounds {
		before := sent
		samples, err := inTurns(ctx, b.interval, longTurn, during, creates.run)
		if err != nil {
			return err
		}
		if sent == before {
			return errors.New("nothing was uploaded")
		}
		p := pair{samples[0], samples[1]}
		progress(round, "%s, alone %s: %.2f; %s of files", rate(p.ours.perSecond), rate(p.bare.perSecond), p.ratio(), mebibytes(float64(sent-before)))
		pairs = append(pairs, p)
	}
	b.results.add(figureOf("creates, 64 connections, while ten files of 25 MiB are sent, of creates alone, "+engine, target{atLeast, 0.5},
		"during uploads", "alone", pairs, durable))
	return nil
}

// uploads are clients that send one file after the other.
type uploads struct {
	wg   sync.WaitGroup
	over atomic.Bool
	sent atomic.Int64
	errs [uploadCount]error
}

func startUploads(ctx context.Context, addr string) *uploads {
	u := &uploads{}
	block := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(block) // never fails
	for i := range u.errs {
		u.wg.Go(func() {
			for u.errs[i] == nil && !u.over.Load() {
				u.errs[i] = u.send(ctx, addr, block)
			}
		})
	}
	return u
}

// finish has every file end where it is, and waits for the answers. Only then
// has the server stored what it was sent: the buffers of the connections hold
// many megabytes, and it would go on to store them during the other side's turn.
func (u *uploads) finish() (sent int64, err error) {
	u.over.Store(true)
	u.wg.Wait()
	unix.Sync() // what they have left to be written to the disk is theirs, too
	return u.sent.Load(), errors.Join(u.errs[:]...)
}

// send uploads one file. Its length is not told before, so that it can end early.
func (u *uploads) send(ctx context.Context, addr string, block []byte) error {
	const boundary = "bench-boundary"
	body := io.MultiReader(
		strings.NewReader("--"+boundary+"\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a.bin\"\r\n\r\n"),
		io.LimitReader(&fileContent{u, block}, uploadSize),
		strings.NewReader("\r\n--"+boundary+"--\r\n"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+paperPath, body)
	if err != nil {
		return err
	}
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

// fileContent gives random bytes until the uploads are over.
type fileContent struct {
	*uploads
	block []byte
}

func (c *fileContent) Read(b []byte) (int, error) {
	if c.over.Load() {
		return 0, io.EOF
	}
	n := copy(b, c.block)
	c.sent.Add(int64(n))
	return n, nil
}
