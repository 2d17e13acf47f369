package server

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// writes records each Write. hold blocks it until release is called.
type writes struct {
	gate chan struct{} // a channel, because the clock of a test waits for mutexes
	mu   sync.Mutex
	all  []string
}

func newWrites() *writes {
	w := &writes{gate: make(chan struct{}, 1)}
	w.release()
	return w
}

func (w *writes) hold()    { <-w.gate }
func (w *writes) release() { w.gate <- struct{}{} }

func (w *writes) Write(p []byte) (int, error) {
	w.hold()
	defer w.release()
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
	synctest.Wait()
	if got := w.seen(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("written: %q, want %q", got, want)
	}
}

// testLogBuffer runs a test in a synctest bubble, with a fake clock.
func testLogBuffer(t *testing.T, test func(t *testing.T, b *LogBuffer, w *writes, lost *int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, lost := newWrites(), 0
		b := NewLogBuffer(w, func(lines int) { lost += lines })
		test(t, b, w, &lost)
		b.Close()
		synctest.Wait()
	})
}

func line(b io.Writer, text string) { _, _ = b.Write([]byte(text)) }

func TestLogBufferWritesLinesTogether(t *testing.T) {
	testLogBuffer(t, func(t *testing.T, b *LogBuffer, w *writes, _ *int) {
		for round, want := range [][]string{{"1\n2\n"}, {"1\n2\n", "1\n2\n"}} {
			line(b, "1\n")
			line(b, "2\n")
			w.want(t, want[:round]...)
			time.Sleep(logDelay)
			w.want(t, want...)
		}
		time.Sleep(10 * logDelay)
		w.want(t, "1\n2\n", "1\n2\n")
	})
}

func TestLogBufferWritesTheRestWhenItIsClosed(t *testing.T) {
	testLogBuffer(t, func(t *testing.T, b *LogBuffer, w *writes, _ *int) {
		line(b, "pending\n")
		b.Close()
		w.want(t, "pending\n")
		line(b, "too late\n")
		time.Sleep(time.Second)
		w.want(t, "pending\n")
	})
}

// A reader that has stopped blocks neither logging nor Close.
func TestLogBufferDoesNotWaitForAStuckReader(t *testing.T) {
	testLogBuffer(t, func(t *testing.T, b *LogBuffer, w *writes, lost *int) {
		const count = 2 * maxLogBuffer / 1024
		long := strings.Repeat("x", 1023) + "\n"
		w.hold()
		line(b, "stuck\n")
		time.Sleep(logDelay)
		synctest.Wait() // the writer goroutine is in Write
		begun := time.Now()
		for range count {
			line(b, long)
		}
		line(b, long)
		if took := time.Since(begun); took > 0 {
			t.Errorf("logging waited %s", took)
		}
		if n := len(b.pending); n != maxLogBuffer || *lost > 0 {
			t.Errorf("%d bytes buffered, want %d; %d lines reported while the reader is stuck", n, maxLogBuffer, *lost)
		}
		w.release()
		time.Sleep(logDelay)
		synctest.Wait()
		if n := len(strings.Join(w.seen(), "")); n != len("stuck\n")+maxLogBuffer {
			t.Errorf("%d bytes written", n)
		}
		if want := count + 1 - maxLogBuffer/len(long); *lost != want {
			t.Errorf("%d lines reported as lost, want %d", *lost, want)
		}

		w.hold()
		line(b, "held\n")
		begun = time.Now()
		b.Close()
		if took := time.Since(begun); took != logCloseTimeout {
			t.Errorf("Close took %s", took)
		}
		w.release()
	})
}

// The report of lost lines may be a line of the same log. It follows the lines
// that were buffered before the loss.
func TestLogBufferReportsToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWrites()
		var b *LogBuffer
		b = NewLogBuffer(w, func(lines int) { line(b, fmt.Sprintf("lost %d\n", lines)) })
		w.hold()
		line(b, "stuck\n")
		time.Sleep(logDelay)
		synctest.Wait()
		full := strings.Repeat("x", maxLogBuffer-1) + "\n"
		line(b, full)
		line(b, "a\n")
		line(b, "b\n")
		w.release()
		time.Sleep(3 * logDelay)
		w.want(t, "stuck\n", full, "lost 2\n")
		b.Close()
	})
}

// Lines that fit into the buffer are written in order, and none is lost.
func TestLogBufferLosesNothingThatFits(t *testing.T) {
	w := newWrites()
	b := NewLogBuffer(w, func(lines int) { t.Errorf("%d lines lost", lines) })
	const writers, lines = 8, 2000 // 400 KB in all
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range lines {
				text := fmt.Sprintf("writer=%d line=%d\n", i, n)
				line(b, text)
			}
		})
	}
	wg.Wait()
	b.Close()
	next := [writers]int{}
	for text := range bytes.Lines([]byte(strings.Join(w.seen(), ""))) {
		var i, n int
		if _, err := fmt.Sscanf(string(text), "writer=%d line=%d", &i, &n); err != nil {
			t.Fatalf("%q: %v", text, err)
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
