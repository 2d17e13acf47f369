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
	name     string
	start    string // up to the id
	ids      int64  // ids are drawn from 1 to ids; 0 for a request without
	before   int64  // ids are counted from here
	rest     string // from the id on, body included
	statuses string // the answer must have one of them
}

// sentValues counts the values ever sent, so that none is sent twice.
var sentValues atomic.Uint64

// getMessage and postMessage are for servers that take this Authorization header.
func getMessage(path, authorization string) message {
	return message{name: "read", start: "GET " + path, rest: headers(authorization) + "\r\n", statuses: "200"}
}

func postMessage(path, authorization, body string) message {
	rest := fmt.Sprintf("%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", headers(authorization), len(body), body)
	return message{name: "create", start: "POST " + path, rest: rest, statuses: "200 201"}
}

func headers(authorization string) string {
	return " HTTP/1.1\r\nHost: bench\r\nAuthorization: " + authorization + "\r\n"
}

// writer returns a function that gives the next request, with a random digit for each #. Its bytes are good until it is
// called again.
func (m message) writer(seed uint64) func() []byte {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // ids to read, nothing to guess
	buf := make([]byte, 0, len(m.start)+20+len(m.rest))
	at := strings.Index(m.rest, digits)
	var anyDigit []int
	for i, c := range m.rest {
		if c == '#' {
			anyDigit = append(anyDigit, i)
		}
	}
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
		for _, i := range anyDigit {
			buf[rest+i] = '0' + byte(random.IntN(10))
		}
		return buf
	}
}
