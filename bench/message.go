package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
)

// message is a request that is sent over and over with a different id or value.
type message struct {
	name   string
	start  string // up to the id
	ids    int    // ids are drawn from 1 to ids; 0 for a request without
	before int64  // what ids are counted from, if not from 0
	rest   string // from the id on, body included
	status int    // what the answer must be

	contains []byte   // what the answer's body must hold; nil for anything
	cookies  []string // each connection sends one of them; nil for none
}

// fresh counts values ever sent, so that none is sent twice.
var fresh atomic.Uint64

func createMessage() message {
	return message{name: "create", start: "POST " + submissionPath, rest: withBody(), status: 201}
}

// keyedMessage is a create with a key that is new each time. What differs is
// the key alone: the answers are always the same.
func keyedMessage() message {
	header, body, _ := strings.Cut(withBody(), "\r\n\r\n")
	return message{name: "create with a key", start: "POST " + submissionPath, rest: header + "\r\nIdempotency-Key: " + digits + "\r\n\r\n" + body, status: 201}
}

func updateMessage(ids int) message {
	return message{name: "update", start: "POST " + submissionPath + "/", ids: ids, rest: withBody(), status: 200}
}

func readMessage(ids int) message {
	return message{name: "read", start: "GET " + submissionPath + "/", ids: ids, rest: headers() + "\r\n", status: 200}
}

func headers() string { return " HTTP/1.1\r\nHost: bench\r\n" + authorization() }

func withBody() string {
	body := requestBody()
	return fmt.Sprintf("%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", headers(), len(body), body)
}

// writer returns a function that gives the next request. Its bytes are good
// until it is called again.
func (m message) writer(seed uint64) func() []byte {
	if n := uint64(len(m.cookies)); n > 0 {
		m.rest = " HTTP/1.1\r\nHost: bench\r\nCookie: " + m.cookies[seed%n] + "\r\n" + m.rest
	}
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // ids to read, nothing to guess
	buf := make([]byte, 0, len(m.start)+20+len(m.rest))
	at := strings.Index(m.rest, digits)
	return func() []byte {
		buf = append(buf[:0], m.start...)
		if m.ids > 0 {
			buf = strconv.AppendInt(buf, m.before+1+random.Int64N(int64(m.ids)), 10)
		}
		rest := len(buf)
		buf = append(buf, m.rest...)
		if at >= 0 {
			putDigits(buf[rest+at:rest+at+len(digits)], fresh.Add(1))
		}
		return buf
	}
}
