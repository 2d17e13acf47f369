package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is a connection that speaks just enough HTTP. The load generator shares the cores with
// the server: net/http would take a part of them that depends on the number of requests.
type client struct {
	conn   net.Conn
	answer *bufio.Reader
}

func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReader(conn)}, nil
}

var contentLength = []byte("Content-Length: ")

// do sends a request and reads its answer, which must have a length and a status of the message.
func (c *client) do(m *message, request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	length, ok := -1, false
	for first := true; ; first = false {
		line, err := c.answer.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			ok = len(line) > 12 && strings.Contains(m.statuses, string(line[9:12]))
		}
		if value, found := bytes.CutPrefix(line, contentLength); found {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return fmt.Errorf("read length: %w", err)
			}
		}
		if len(line) == 0 {
			break
		}
	}
	if ok && length >= 0 {
		_, err := c.answer.Discard(length)
		return err
	}
	text, _ := c.answer.Peek(c.answer.Buffered())
	return fmt.Errorf("answered without a length, or without status %s: %s", m.statuses, text)
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

// getPage reads a path to its end.
func getPage(ctx context.Context, server *process, path, header, value string, w io.Writer) error {
	resp, err := get(ctx, server, path, header, value)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
