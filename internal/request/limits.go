package request

import (
	"net/http"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/limit"
)

// Limits bound how much of the server's memory callers can hold at one time,
// by reading slowly or sending slowly. Tests set smaller ones.
type Limits struct {
	Lists, ListsPerUser             int // lists being sent
	LargeBodies, LargeBodiesPerUser int // bodies over 64 KiB in memory
	Uploads, UploadsPerUser         int // bodies with files being sent
}

// DefaultLimits are those of every server. docs/configuration.md documents them.
var DefaultLimits = Limits{
	Lists: 200, ListsPerUser: 50,
	LargeBodies: 64, LargeBodiesPerUser: 16,
	Uploads: 40, UploadsPerUser: 16,
}

// LargeBody is the size from which on a body needs a slot. The number of
// smaller ones is bounded by the number of connections.
const LargeBody = 64 << 10

const largeSummary = 512 << 10

// limiters are those of a Backend.
type limiters struct {
	Lists, Bodies, Uploads *limit.Limiter
	authors, signedOut     *limit.Limiter // their callers wait
}

const maxWait = 5 * time.Second

func newLimiter(total, perKey int, wait, pace time.Duration, busy, overloaded *forms.Message) *limit.Limiter {
	return limit.New(limit.Options{
		Total: total, PerKey: perKey, Wait: wait, Pace: pace,
		Busy:       &StatusError{http.StatusTooManyRequests, busy},
		Overloaded: &StatusError{http.StatusServiceUnavailable, overloaded},
	})
}

func newLimiters(l Limits) limiters {
	return limiters{
		Lists: newLimiter(l.Lists, l.ListsPerUser, 0, 0,
			forms.Say("You are reading too many lists at one time. Finish or close some of them first."),
			forms.Say("Too many lists are being read at one time. Try again in a moment.")),
		Bodies: newLimiter(l.LargeBodies, l.LargeBodiesPerUser, 0, 0,
			forms.Say("You are sending or reading too much at one time. Wait until some of your requests are answered."),
			forms.Say("Too much is being sent and read at one time. Try again in a moment.")),
		Uploads: newLimiter(l.Uploads, l.UploadsPerUser, 0, 0,
			forms.Say("You are sending too many files at one time. Wait until some of your requests are answered."),
			forms.Say("Too many files are being sent at one time. Try again in a moment.")),
		authors: newLimiter(64, 2, maxWait, 50*time.Millisecond,
			forms.Say("You are sending too many texts at one time. Wait until some of them are answered."),
			forms.Say("Too many texts are being read at one time. Try again in a moment.")),
		signedOut: newLimiter(64, 4, maxWait, 200*time.Millisecond,
			forms.Say("You are not signed in any more, and too many forms are being sent from your address. "+
				"Sign in in another tab, and send the form again."),
			forms.Say("You are not signed in any more, and too many forms are being sent. "+
				"Sign in in another tab, and send the form again.")),
	}
}

// hold takes a slot for the rest of the call. No call needs more than one: an
// answer counts under the slot of the body or upload before it. A list that becomes
// a large answer gives up its slot for that of one, of which there are fewer.
func (c *Call) hold(l *limit.Limiter, key string) error {
	if c.release != nil && (c.slot != c.Backend.Limiters.Lists || l != c.Backend.Limiters.Bodies) {
		return nil
	}
	release, err := l.Acquire(c.Context(), key)
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
func (c *Call) HoldList() error { return c.hold(c.Backend.Limiters.Lists, c.Who.Name) }

// HoldBody takes a slot for a large body or a large answer.
func (c *Call) HoldBody() error { return c.hold(c.Backend.Limiters.Bodies, c.Who.Name) }

// HoldSummary takes a slot for a summary whose fields need so much memory: that of a list, or of a large answer.
func (c *Call) HoldSummary(size int) error {
	if size > largeSummary {
		return c.HoldBody()
	}
	return c.HoldList()
}

// HoldAuthor waits for a slot for the text of a form that the caller writes.
func (c *Call) HoldAuthor() error { return c.hold(c.Backend.Limiters.authors, c.Who.Name) }

// HoldSignedOut waits for a slot for a form that comes without a session. It
// counts for the address of the client.
func (c *Call) HoldSignedOut() error {
	return c.hold(c.Backend.Limiters.signedOut, auth.ClientHost(c.RemoteAddr).String())
}

// HoldUpload takes a slot for a body with files, unless it is known to be small.
func (c *Call) HoldUpload() error {
	if c.ContentLength >= 0 && c.ContentLength <= LargeBody {
		return nil
	}
	return c.hold(c.Backend.Limiters.Uploads, c.Who.Name)
}

// HoldAnswer takes a slot for an answer that is large: it stays in memory
// until the client has read it.
func (c *Call) HoldAnswer(size int) error {
	if size <= LargeBody || c.Method == http.MethodHead {
		return nil
	}
	return c.HoldBody()
}
