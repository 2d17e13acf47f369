package request

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/auth"
)

// Limits bound how much of the server's memory callers can hold at one time,
// by reading slowly or sending slowly. Tests set smaller ones; zero fields get their default.
type Limits struct {
	Lists, ListsPerUser             int // lists being sent
	LargeBodies, LargeBodiesPerUser int // bodies over 64 KiB in memory
	Uploads, UploadsPerUser         int // bodies with files being sent
}

// DefaultLimits are those of every server. docs/configuration.md tells them.
var DefaultLimits = Limits{Lists: 200, ListsPerUser: 50, LargeBodies: 64, LargeBodiesPerUser: 16, Uploads: 40, UploadsPerUser: 16}

// LargeBody is the size from which on a body needs a slot. The number of
// smaller ones is bounded by the number of connections.
const LargeBody = 64 << 10

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
		busy:       &StatusError{Status: http.StatusTooManyRequests, Detail: busy},
		overloaded: &StatusError{Status: http.StatusServiceUnavailable, Detail: overloaded},
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

// inUse is how many slots are taken.
func (l *limiter) inUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (l *limiter) release(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	if l.byUser[user]--; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// limiters are those of a Backend.
type limiters struct {
	lists, bodies, uploads *limiter
	authors, signedOut     *gate
}

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
		authors: newGate(64, 2, 50*time.Millisecond,
			"You are sending too many texts at one time. Wait until some of them are answered.",
			"Too many texts are being read at one time. Try again in a moment."),
		signedOut: newGate(64, 4, 200*time.Millisecond,
			"You are not signed in any more, and too many forms are being sent from your address. Sign in in another tab, and send the form again.",
			"You are not signed in any more, and too many forms are being sent. Sign in in another tab, and send the form again."),
	}
}

// Slots tell how many are taken right now.
type Slots struct{ Lists, LargeBodies, Uploads int }

// Slots returns how much of the limits is used.
func (b *Backend) Slots() Slots {
	return Slots{Lists: b.limiters.lists.inUse(), LargeBodies: b.limiters.bodies.inUse(), Uploads: b.limiters.uploads.inUse()}
}

// hold takes a slot for the rest of the call. No call needs more than one: an
// answer counts under the slot of the body or upload before it. A list that becomes
// a large answer gives up its slot for that of one, of which there are fewer.
func (c *Call) hold(l *limiter) error {
	if c.release != nil && (c.slot != c.Backend.limiters.lists || l != c.Backend.limiters.bodies) {
		return nil
	}
	release, err := l.acquire(c.Who.Name)
	if err != nil {
		return err
	}
	if c.release != nil {
		c.release()
	}
	c.release, c.slot = release, l
	return nil
}

// End is called after the answer. It frees the slot that the call holds, if any,
// and reads on for a while where the body was refused.
func (c *Call) End() {
	if c.release != nil {
		c.release()
	}
	if c.unread != nil {
		c.drain()
	}
}

// HoldList takes a slot for a list, or for anything that reads as much.
func (c *Call) HoldList() error { return c.hold(c.Backend.limiters.lists) }

// HoldBody takes a slot for a large body or a large answer.
func (c *Call) HoldBody() error { return c.hold(c.Backend.limiters.bodies) }

// HoldAuthor waits for a slot for the text of a form that the caller writes.
func (c *Call) HoldAuthor() (err error) {
	c.release, err = c.Backend.limiters.authors.acquire(c.Context(), c.Who.Name)
	return err
}

// HoldSignedOut waits for a slot for a form that comes without a session. It
// counts for the address of the client.
func (c *Call) HoldSignedOut() (err error) {
	c.release, err = c.Backend.limiters.signedOut.acquire(c.Context(), auth.ClientHost(c.RemoteAddr))
	return err
}

// HoldUpload takes a slot for a body with files, unless it is known to be small.
func (c *Call) HoldUpload() error {
	if c.ContentLength >= 0 && c.ContentLength <= LargeBody {
		return nil
	}
	return c.hold(c.Backend.limiters.uploads)
}

// HoldAnswer takes a slot for an answer that is large: it stays in memory
// until the client has read it.
func (c *Call) HoldAnswer(size int) error {
	if size <= LargeBody || c.Method == http.MethodHead {
		return nil
	}
	return c.HoldBody()
}
