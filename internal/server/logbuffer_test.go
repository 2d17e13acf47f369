package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// writes keeps every Write apart.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

func (w *writes) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.all...)
}

func (w *writes) want(t *testing.T, want ...string) {
	t.Helper()
	if got := w.seen(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("written: %q, want %q", got, want)
	}
}

func TestLogBufferWritesLinesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w writes
		b := NewLogBuffer(&w)
		for round, want := range [][]string{{"1\n2\n"}, {"1\n2\n", "1\n2\n"}} {
			_, _ = b.Write([]byte("1\n"))
			_, _ = b.Write([]byte("2\n"))
			w.want(t, want[:round]...)
			time.Sleep(logDelay)
			synctest.Wait()
			w.want(t, want...)
		}
		time.Sleep(10 * logDelay)
		synctest.Wait()
		if n := len(w.seen()); n != 2 {
			t.Errorf("%d writes, the last of nothing", n)
		}
	})
}

func TestLogBufferKeepsOrder(t *testing.T) {
	var w writes
	b := NewLogBuffer(&w)
	_, _ = b.Write([]byte("held\n"))
	if n, err := b.Direct().Write([]byte("direct\n")); n != 7 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	_, _ = b.Write([]byte("held again\n"))
	w.want(t, "held\n", "direct\n")
	b.Flush()
	w.want(t, "held\n", "direct\n", "held again\n")
}

func TestLogBufferIsBounded(t *testing.T) {
	var w writes
	b := NewLogBuffer(&w)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 3 * maxHeldLog / len(line) {
		_, _ = b.Write(line)
		if len(b.held) >= maxHeldLog {
			t.Fatalf("%d bytes held", len(b.held))
		}
	}
	if n := len(w.seen()); n != 3 {
		t.Errorf("%d writes of %d bytes each, want 3", n, maxHeldLog)
	}
}

// stuck is a log that nobody reads, until it is let go.
type stuck struct {
	writes
	entered, free chan struct{}
	once          sync.Once
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.entered) })
	<-s.free
	return s.writes.Write(p)
}

func TestLogBufferTakesLinesDuringAWrite(t *testing.T) {
	w := &stuck{entered: make(chan struct{}), free: make(chan struct{})}
	b := NewLogBuffer(w)
	_, _ = b.Write([]byte("1\n"))
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		b.Flush()
	}()
	<-w.entered
	_, _ = b.Write([]byte("2\n")) // would never return if it waited
	close(w.free)
	<-flushed
	b.Flush()
	w.want(t, "1\n", "2\n")
}

func TestLogBufferLosesNothing(t *testing.T) {
	var w writes
	b := NewLogBuffer(&w)
	const writers, lines = 8, 2000
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range lines {
				line := fmt.Appendf(nil, "writer=%d line=%d\n", i, n)
				if n%100 == 0 {
					_, _ = b.Direct().Write(line)
				} else {
					_, _ = b.Write(line)
				}
			}
		})
	}
	wg.Wait()
	b.Flush()
	next := [writers]int{}
	all := bytes.Lines([]byte(strings.Join(w.seen(), "")))
	for line := range all {
		var i, n int
		if _, err := fmt.Sscanf(string(line), "writer=%d line=%d", &i, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if n != next[i] {
			t.Fatalf("writer %d: line %d after %d", i, n, next[i]-1)
		}
		next[i]++
	}
	for i, n := range next {
		if n != lines {
			t.Errorf("writer %d: %d lines of %d", i, n, lines)
		}
	}
}
