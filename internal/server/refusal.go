package server

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/problem"
)

// refusingConn is a connection of a client that may send what is no request:
// a header beyond the limit, a line that isn't HTTP. No handler sees that;
// net/http refuses it with a line of text. Here it becomes the answer that all
// other errors are, with an id that is also in the log.
//
// It is for connections in the clear only. With TLS, net/http insists on the
// connection that it has made itself.
type refusingConn struct {
	*net.TCPConn
	chain    *chain
	answered atomic.Bool // an answer has begun, and what follows is part of it
}

// Write implements net.Conn.
func (c *refusingConn) Write(p []byte) (int, error) {
	if c.answered.Load() {
		return c.TCPConn.Write(p)
	}
	status, reason := refusal(p)
	if status == 0 {
		c.answered.Store(true)
		return c.TCPConn.Write(p)
	}
	if _, err := c.TCPConn.Write(c.chain.refuse(status, reason, c.RemoteAddr())); err != nil {
		return 0, err
	}
	return len(p), nil
}

// rests is to be called when an answer is complete.
func (c *refusingConn) rests() { c.answered.Store(false) }

const (
	// refusalLine begins net/http's refusals, and refusalHeader is what follows
	// its status: no answer of ours has so little.
	refusalLine   = "HTTP/1.1 "
	refusalHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

	// maxRefusal is longer than any of them.
	maxRefusal = 256
)

// refusal takes one of net/http's apart. For anything else status is 0.
func refusal(p []byte) (status int, reason string) {
	if len(p) > maxRefusal || !bytes.HasPrefix(p, []byte(refusalLine)) {
		return 0, ""
	}
	line, body, found := bytes.Cut(p[len(refusalLine):], []byte(refusalHeader))
	if !found || len(line) < 3 {
		return 0, ""
	}
	status, err := strconv.Atoi(string(line[:3]))
	if err != nil || status < 400 {
		return 0, ""
	}
	// "431 Request Header Fields Too Large", or with a reason behind a colon, or
	// a reason alone.
	text := bytes.TrimPrefix(body, []byte(strconv.Itoa(status)+" "+http.StatusText(status)))
	return status, string(bytes.TrimPrefix(text, []byte(": ")))
}

// refuse is the whole answer to what was no request.
func (c *chain) refuse(status int, reason string, client net.Addr) []byte {
	id := newRequestID()
	if c.log != nil {
		c.logger.Info("refused what is no request", slog.Int("status", status),
			slog.String("request_id", id), slog.String("remote", hostOf(client.String())))
	}
	body := problem.Encode(status, refusalDetail(status, reason))
	var answer bytes.Buffer
	answer.WriteString(refusalLine + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	_ = http.Header{
		"Connection":             {"close"},
		"Content-Length":         {strconv.Itoa(len(body))},
		"Content-Type":           {problem.MediaType},
		"Date":                   {time.Now().UTC().Format(http.TimeFormat)},
		"X-Content-Type-Options": nosniff,
		"X-Request-Id":           {id},
	}.Write(&answer) // to a buffer, which takes everything
	answer.WriteString("\r\n")
	answer.Write(body)
	return answer.Bytes()
}

// refusalDetail says what to do about it.
func refusalDetail(status int, reason string) string {
	switch {
	case status == http.StatusRequestHeaderFieldsTooLarge:
		return "The request's header is too large: send fewer or shorter fields, of " + strconv.Itoa(maxHeaderBytes>>10) + " KB in all."
	case reason == "":
		return "This is not a request in HTTP/1.1 or HTTP/1.0: check its first line and its header."
	default:
		return "This request can't be read: " + reason + "."
	}
}

// refusingListener makes all connections such ones.
type refusingListener struct {
	net.Listener
	chain *chain
}

// Accept implements net.Listener.
func (l refusingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &refusingConn{TCPConn: tcp, chain: l.chain}, nil
	}
	return conn, err
}
