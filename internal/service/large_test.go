package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLargeWritesTakeAThirdOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(largeWrites, 1)
		release, err := l.acquire(t.Context(), largeSubmission)
		if err != nil {
			t.Fatal(err)
		}
		if small, err := l.acquire(t.Context(), largeSubmission-1); err != nil {
			t.Errorf("a small one beside it: %v", err)
		} else {
			small()
		}
		time.Sleep(time.Second) // of work, on the test's own clock
		release()
		left := time.Now()
		second, err := l.acquire(t.Context(), largeSubmission)
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(left); waited != 2*time.Second {
			t.Errorf("the next one waits %s, want 2 s", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.acquire(ctx, largeSubmission); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who gives up: %v", err)
		}
		second()
	})
}
