package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// client is a connection that speaks just enough HTTP. The load generator shares the cores with
// the server: net/http would take a part of them that depends on the number of requests.
type client struct {
	conn   net.Conn
	answer []byte // the last one
}

func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, answer: make([]byte, 0, 8<<10)}, nil
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	endOfLine     = endOfHeader[:2]
	contentLength = []byte("\r\nContent-Length: ")
)

// do sends a request and reads its answer, which must have a status of the message.
func (c *client) do(m *message, request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	c.answer = c.answer[:0]
	end := -1
	for end < 0 {
		if err := c.readTo(len(c.answer) + 1); err != nil {
			return err
		}
		end = bytes.Index(c.answer, endOfHeader)
	}
	header, body := c.answer[:end+len(endOfLine)], end+len(endOfHeader)
	_, after, found := bytes.Cut(header, contentLength)
	if !found {
		return fmt.Errorf("answer without a length: %s", header)
	}
	length, _, _ := bytes.Cut(after, endOfLine)
	size, err := strconv.Atoi(string(length))
	if err != nil {
		return fmt.Errorf("read length: %w", err)
	}
	if err := c.readTo(body + size); err != nil {
		return err
	}
	if status := string(c.answer[len("HTTP/1.1 "):][:3]); !strings.Contains(m.statuses, status) {
		return fmt.Errorf("answered with status %s instead of %s: %s", status, m.statuses, c.answer)
	}
	return nil
}

// readTo reads until at least so many bytes of the answer are there.
func (c *client) readTo(size int) error {
	for len(c.answer) < size {
		c.answer = slices.Grow(c.answer, size-len(c.answer))
		n, err := c.conn.Read(c.answer[len(c.answer):cap(c.answer)])
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		c.answer = c.answer[:len(c.answer)+n]
	}
	return nil
}

// once sends one message on its own connection.
func once(ctx context.Context, addr string, m message) error {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close() }()
	if err := c.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if err := c.do(&m, m.writer(1)()); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

// plain is for lists and pages: few requests, whose bodies are long.
var plain = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: manyConns},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get asks a server for a path, with one header.
func get(ctx context.Context, server *process, path, header, value string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+server.addr+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set(header, value)
	resp, err := plain.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("GET %s: %s", path, resp.Status), resp.Body.Close())
	}
	return resp, err
}

// getPage reads a path to its end, and returns its length.
func getPage(ctx context.Context, server *process, path, header, value string, w io.Writer) (size int64, err error) {
	resp, err := get(ctx, server, path, header, value)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(w, resp.Body)
	return size, errors.Join(err, resp.Body.Close())
}
