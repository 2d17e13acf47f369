package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// listRequest asks for a list on a connection that ends with it, so that the
// end is seen without reading the framing in between.
func listRequest(path string) []byte {
	return []byte("GET " + path + headers() + "Connection: close\r\n\r\n")
}

// endOfList is what a list that was not broken off ends with on the wire.
var endOfList = []byte("]\r\n0\r\n\r\n")

// readList reads a list to its end and throws it away.
func readList(ctx context.Context, addr, path string, buf []byte) error {
	return readUntil(ctx, addr, path, endOfList, buf)
}

// readUntil is readList for a list that ends with something else on the wire.
func readUntil(ctx context.Context, addr, path string, end, buf []byte) (err error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := c.conn.Write(listRequest(path)); err != nil {
		return err
	}
	var tail []byte
	for {
		n, err := c.conn.Read(buf)
		tail = append(tail, buf[max(0, n-len(end)):n]...)
		tail = tail[max(0, len(tail)-len(end)):]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read list: %w", err)
		}
	}
	if !bytes.Equal(tail, end) {
		return fmt.Errorf("the list was broken off: it ends with %q", tail)
	}
	return nil
}

// checkList reads a list with care: it must be JSON with that many elements.
func checkList(ctx context.Context, addr, path string, rows int64) (size int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body := &countingReader{r: resp.Body}
	d := json.NewDecoder(body)
	if _, err := d.Token(); err != nil {
		return 0, fmt.Errorf("list %s: %w", path, err)
	}
	got := int64(0)
	for d.More() {
		var element map[string]any
		if err := d.Decode(&element); err != nil {
			return 0, fmt.Errorf("list %s: element %d: %w", path, got, err)
		}
		got++
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return 0, err
	}
	if got != rows {
		return 0, fmt.Errorf("list %s: %d elements instead of %d", path, got, rows)
	}
	return body.n, nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// What a slow reader takes at a time: about 1.3 MB/s.
const (
	slowPiece = 64 << 10
	slowPause = 50 * time.Millisecond
)

// slowReader reads a list at the pace of a poor connection.
type slowReader struct {
	conn net.Conn
	done chan error
	read int64 // to be read when done
}

// startSlowReader returns when the list has begun.
func startSlowReader(ctx context.Context, addr, path string) (*slowReader, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	s := &slowReader{conn: c.conn, done: make(chan error, 1)}
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		// What the kernel takes in advance would make the reader look faster.
		err = tcp.SetReadBuffer(slowPiece)
	}
	if err == nil {
		_, err = c.conn.Write(listRequest(path))
	}
	piece := make([]byte, slowPiece)
	if err == nil {
		_, err = io.ReadFull(c.conn, piece)
	}
	if err != nil {
		return nil, errors.Join(err, c.conn.Close())
	}
	go func() { s.done <- s.run(piece) }()
	return s, nil
}

func (s *slowReader) run(piece []byte) error {
	s.read = int64(len(piece))
	for range time.Tick(slowPause) {
		n, err := io.ReadFull(s.conn, piece)
		s.read += int64(n)
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("slow reader: %w", err)
		}
	}
	return nil
}

// stop hangs up, and returns how much was read.
func (s *slowReader) stop() (int64, error) {
	err := s.conn.Close()
	return s.read, errors.Join(<-s.done, err)
}
