package request

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// gate is a semaphore with a share for each key, which is a user or an address.
// Unlike those of a limiter, its callers wait, for maxWait at most. A slot stays
// taken for pace at least, so that a client that sends one request after another
// takes a small part of the processor's time.
type gate struct {
	perKey           int
	total            chan struct{}
	pace             time.Duration
	busy, overloaded error // what a caller is told whose share, or the total, is still used up

	mu    sync.Mutex
	byKey map[string]*gateShare
}

// gateShare is what one key has of a gate.
type gateShare struct {
	slots   chan struct{}
	callers int // that wait for a slot or have one
}

const maxWait = 5 * time.Second

func newGate(total, perKey int, pace time.Duration, busy, overloaded string) *gate {
	return &gate{
		perKey: perKey, total: make(chan struct{}, total), pace: pace, byKey: map[string]*gateShare{},
		busy:       &StatusError{Status: http.StatusTooManyRequests, Detail: busy},
		overloaded: &StatusError{Status: http.StatusServiceUnavailable, Detail: overloaded},
	}
}

// acquire waits for a slot, which is taken until release is called.
func (g *gate) acquire(ctx context.Context, key string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	slots := g.join(key)
	if !take(ctx, slots) {
		g.leave(key)
		return nil, g.busy
	}
	free := func() {
		<-slots
		g.leave(key)
	}
	if !take(ctx, g.total) {
		free()
		return nil, g.overloaded
	}
	begun := time.Now()
	return func() {
		time.AfterFunc(g.pace-time.Since(begun), func() {
			<-g.total
			free()
		})
	}, nil
}

// take reports whether it could send before the context ended.
func take(ctx context.Context, slots chan<- struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *gate) join(key string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.byKey[key]
	if s == nil {
		s = &gateShare{slots: make(chan struct{}, g.perKey)}
		g.byKey[key] = s
	}
	s.callers++
	return s.slots
}

func (g *gate) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.byKey[key]; s.callers > 1 {
		s.callers--
	} else {
		delete(g.byKey, key)
	}
}
