// Package limit bounds how much runs at one time, in total and for each user or address.
package limit

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Limiter is a semaphore with a share for each key, which is a user or an address.
// Keys are in memory only while their callers hold a slot or wait for one.
type Limiter struct {
	Options
	total  chan struct{}
	mu     sync.Mutex
	shares map[string]*share
}

// Options configure a Limiter.
type Options struct {
	Total, PerKey int
	Wait          time.Duration // how long a caller waits for a slot
	// Pace is how long a slot stays taken at least, so that a client that sends one
	// request after another takes a small part of the processor's time.
	Pace       time.Duration
	Busy       error // when the share is used up
	Overloaded error // when the total is used up
	Stuck      error // instead of Busy, when no slot of the share was freed meanwhile; nil for Busy
}

// share is what one key has of a limiter.
type share struct {
	slots   chan struct{}
	callers int // that wait for a slot or have one
	freed   int // slots, so far
}

// New makes a Limiter.
func New(o Options) *Limiter {
	if o.Stuck == nil {
		o.Stuck = o.Busy
	}
	return &Limiter{Options: o, total: make(chan struct{}, o.Total), shares: map[string]*share{}}
}

// Taken is how many slots are taken.
func (l *Limiter) Taken() int { return len(l.total) }

// Acquire takes a slot until release is called. A caller who is gone gets the error of ctx.
func (l *Limiter) Acquire(ctx context.Context, key string) (release func(), err error) {
	return l.acquire(ctx, key, l.Wait)
}

// TryAcquire takes a slot if one is free.
func (l *Limiter) TryAcquire(ctx context.Context, key string) (release func(), err error) {
	return l.acquire(ctx, key, 0)
}

func (l *Limiter) acquire(ctx context.Context, key string, wait time.Duration) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	s, freed := l.join(key)
	if !take(waiting, s.slots) {
		err = l.Busy
		if l.leave(key, 0) == freed {
			err = l.Stuck
		}
		return nil, cmp.Or(ctx.Err(), err)
	}
	if !take(waiting, l.total) {
		<-s.slots
		l.leave(key, 0)
		return nil, cmp.Or(ctx.Err(), l.Overloaded)
	}
	begun := time.Now()
	free := func() {
		<-l.total
		<-s.slots
		freed := 0
		if time.Since(begun) < l.Wait { // who waits longer than that is not kept busy, but stuck
			freed = 1
		}
		l.leave(key, freed)
	}
	return func() {
		if rest := l.Pace - time.Since(begun); rest > 0 {
			time.AfterFunc(rest, free)
		} else {
			free()
		}
	}, nil
}

// take reports whether it could send before the context ended.
func take(ctx context.Context, slots chan<- struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// join counts a caller. It returns how many slots of the share were freed before.
func (l *Limiter) join(key string) (s *share, freed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s = l.shares[key]
	if s == nil {
		s = &share{slots: make(chan struct{}, l.PerKey)}
		l.shares[key] = s
	}
	s.callers++
	return s, s.freed
}

// leave ends what join has begun. It returns how many slots of the share were freed so far.
func (l *Limiter) leave(key string, freed int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shares[key]
	s.freed += freed
	if s.callers--; s.callers == 0 {
		delete(l.shares, key)
	}
	return s.freed
}
