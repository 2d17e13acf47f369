package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
)

// message is a request that is sent many times, each time with a different id or value.
type message struct {
	name   string
	start  string // up to the id
	ids    int64  // ids are drawn from 1 to ids; 0 for a request without
	before int64  // what ids are counted from, if not from 0
	rest   string // from the id on, body included
	status int    // what the answer must have
}

// sentValues counts the values ever sent, so that none is sent twice.
var sentValues atomic.Uint64

// get and post are messages to a server that takes the given Authorization header.
func getMessage(path, authorization string) message {
	return message{name: "read", start: "GET " + path, rest: headers(authorization) + "\r\n", status: 200}
}

func postMessage(path, authorization, body string, status int) message {
	rest := fmt.Sprintf("%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", headers(authorization), len(body), body)
	return message{name: "create", start: "POST " + path, rest: rest, status: status}
}

func headers(authorization string) string {
	return " HTTP/1.1\r\nHost: bench\r\nAuthorization: " + authorization + "\r\n"
}

// writer returns a function that gives the next request. Its bytes are good until it is called again.
func (m message) writer(seed uint64) func() []byte {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // ids to read, nothing to guess
	buf := make([]byte, 0, len(m.start)+20+len(m.rest))
	at := strings.Index(m.rest, digits)
	return func() []byte {
		buf = append(buf[:0], m.start...)
		if m.ids > 0 {
			buf = strconv.AppendInt(buf, m.before+1+random.Int64N(m.ids), 10)
		}
		rest := len(buf)
		buf = append(buf, m.rest...)
		if at >= 0 {
			strconv.AppendUint(buf[:rest+at], 1e15+sentValues.Add(1), 10) // over the digits
		}
		return buf
	}
}
