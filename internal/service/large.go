package service

import (
	"context"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// largeSubmission is the size in bytes from which on a submission is large.
const largeSubmission = 64 << 10

// largeWrites bounds how many large submissions are checked and stored at one
// time. A large one takes a core for a while, to check it against conditions,
// and the disk for a while, to store it: without a bound, a few callers who
// change large submissions again and again hold up all others.
type largeWrites chan struct{}

// acquire waits for a slot if the size is large. After release the slot stays
// closed for twice the time that the write took, so large writes use at most a
// third of the disk's time.
func (l largeWrites) acquire(ctx context.Context, size int) (release func(), err error) {
	if size < largeSubmission {
		return func() {}, nil
	}
	select {
	case l <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	begun := time.Now()
	return func() { time.AfterFunc(2*time.Since(begun), func() { <-l }) }, nil
}

// sizeOf is how much text the answers hold.
func sizeOf(answers []forms.Answer) (size int) {
	for _, a := range answers {
		size += len(a.FieldID) + len(a.Value)
		for _, v := range a.List {
			size += len(v)
		}
	}
	return size
}
