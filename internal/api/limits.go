package api

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"sync"

	"github.com/formulary/formulary/internal/httpx"
)

// Limits bound how much of the server's memory callers can hold at one time,
// by reading slowly or sending slowly. Zero fields get their default.
type Limits struct {
	Lists, ListsPerUser             int // lists being sent; default 200 and 50
	LargeBodies, LargeBodiesPerUser int // bodies over 64 KiB in memory; default 64 and 16
	Uploads, UploadsPerUser         int // bodies with files being sent; default 40 and 16
}

// DefaultLimits are for installations that configure none.
var DefaultLimits = Limits{Lists: 200, ListsPerUser: 50, LargeBodies: 64, LargeBodiesPerUser: 16, Uploads: 40, UploadsPerUser: 16}

// largeBody is the size from which on a body needs a slot. The number of
// smaller ones is bounded by the number of connections.
const largeBody = 64 << 10

// limiter is a semaphore with a share for each user. Names of users are kept
// in memory only, and only while they hold a slot.
type limiter struct {
	total, perUser   int
	busy, overloaded error // what a caller is told when the share, or the total, is used up

	mu     sync.Mutex
	held   int
	byUser map[string]int
}

func newLimiter(total, perUser int, busy, overloaded string) *limiter {
	return &limiter{
		total: total, perUser: perUser, byUser: map[string]int{},
		busy:       &httpx.StatusError{Status: http.StatusTooManyRequests, Detail: busy},
		overloaded: &httpx.StatusError{Status: http.StatusServiceUnavailable, Detail: overloaded},
	}
}

// acquire takes a slot until release is called.
func (l *limiter) acquire(user string) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.byUser[user] >= l.perUser:
		return nil, l.busy
	case l.held >= l.total:
		return nil, l.overloaded
	}
	l.held++
	l.byUser[user]++
	return func() { l.release(user) }, nil
}

func (l *limiter) release(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	if l.byUser[user]--; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// limiters are those of an API.
type limiters struct{ lists, bodies, uploads *limiter }

func newLimiters(l Limits) limiters {
	return limiters{
		lists: newLimiter(cmp.Or(l.Lists, DefaultLimits.Lists), cmp.Or(l.ListsPerUser, DefaultLimits.ListsPerUser),
			"You are reading too many lists at one time. Finish or close some of them first.",
			"Too many lists are being read at one time. Try again in a moment."),
		bodies: newLimiter(cmp.Or(l.LargeBodies, DefaultLimits.LargeBodies), cmp.Or(l.LargeBodiesPerUser, DefaultLimits.LargeBodiesPerUser),
			"You are sending or reading too much at one time. Wait until some of your requests are answered.",
			"Too much is being sent and read at one time. Try again in a moment."),
		uploads: newLimiter(cmp.Or(l.Uploads, DefaultLimits.Uploads), cmp.Or(l.UploadsPerUser, DefaultLimits.UploadsPerUser),
			"You are sending too many files at one time. Wait until some of your requests are answered.",
			"Too many files are being sent at one time. Try again in a moment."),
	}
}

// hold takes a slot for the rest of the call. No call needs more than one.
func (c *call) hold(l *limiter) (err error) {
	if c.release == nil {
		c.release, err = l.acquire(c.who.Name)
	}
	return err
}

// end frees the slot that the call holds, if any.
func (c *call) end() {
	if c.release != nil {
		c.release()
	}
}

// holdAnswer takes a slot for an answer that is large: it stays in memory
// until the client has read it.
func (a *API) holdAnswer(c *call, size int) error {
	if size <= largeBody || c.Method == http.MethodHead {
		return nil
	}
	return c.hold(a.limiters.bodies)
}

// readBody reads the body into buf. A large one takes a slot as soon as that is
// known: by its length, or when a body without one has outgrown a small one.
func (a *API) readBody(w http.ResponseWriter, c *call, buf *bytes.Buffer) error {
	body := http.MaxBytesReader(w, c.Body, a.MaxBody)
	length := c.ContentLength
	if length < 0 {
		_, err := buf.ReadFrom(io.LimitReader(body, largeBody+1))
		if length = int64(buf.Len()); err != nil || length <= largeBody {
			return err
		}
	}
	if length > largeBody {
		if err := c.hold(a.limiters.bodies); err != nil {
			closeUnread(w, c)
			return err
		}
	}
	buf.Grow(int(length) - buf.Len() + bytes.MinRead) // for all of it, so that it is not grown step by step
	_, err := buf.ReadFrom(body)
	return err
}

// closeUnread ends the connection after the answer to a request whose body was
// not read. Otherwise net/http would wait for the rest of it.
func closeUnread(w http.ResponseWriter, c *call) {
	if c.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}
