package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// endOfChunks ends an answer whose length was not known in advance. JSON holds
// no bare line break, so it is not mistaken for something within.
var endOfChunks = []byte("\r\n0\r\n\r\n")

// page asks for a part of a list, reads it to its end and throws it away. The
// connection stays open for the next.
func (c *client) page(request, buf []byte) error {
	return c.pageTo(io.Discard, request, buf)
}

func (c *client) pageTo(w io.Writer, request, buf []byte) error {
	if err := c.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	var tail []byte
	for first := true; !bytes.Equal(tail, endOfChunks); first = false {
		n, err := c.conn.Read(buf)
		if err != nil {
			return fmt.Errorf("read page: %w", err)
		}
		if first && !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("a page is answered with %q", buf[:min(n, 300)])
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		tail = append(tail, buf[max(0, n-len(endOfChunks)):n]...)
		tail = tail[max(0, len(tail)-len(endOfChunks)):]
	}
	return nil
}

// readPages reads a list page by page.
func readPages(ctx context.Context, addr string, requests [][]byte, buf []byte) (err error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	for _, request := range requests {
		if err := errors.Join(ctx.Err(), c.page(request, buf)); err != nil {
			return err
		}
	}
	return nil
}

// checkPages reads the pages of PocketBase with care: they must hold that many
// submissions, all different.
func checkPages(ctx context.Context, addr string, requests [][]byte, rows int64) (err error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	buf := make([]byte, 64<<10)
	seen := map[string]bool{}
	for _, request := range requests {
		var answer bytes.Buffer
		if err := c.pageTo(&answer, request, buf); err != nil {
			return err
		}
		var page struct{ Items []struct{ Comment string } }
		if err := decodePage(&answer, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			seen[item.Comment] = true
		}
	}
	if int64(len(seen)) != rows {
		return fmt.Errorf("the pages hold %d submissions instead of %d", len(seen), rows)
	}
	return nil
}

func decodePage(answer *bytes.Buffer, page any) (err error) {
	resp, err := http.ReadResponse(bufio.NewReader(answer), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	return json.NewDecoder(resp.Body).Decode(page)
}
