package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func TestLargeWritesTakeAThirdOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(largeWrites, 1)
		release, err := l.acquire(t.Context(), largeSubmission)
		testkit.Must(t, err)
		if small, err := l.acquire(t.Context(), largeSubmission-1); err != nil {
			t.Errorf("a small one beside it: %v", err)
		} else {
			small()
		}
		time.Sleep(time.Second) // of work, on the test's own clock
		release()
		left := time.Now()
		second, err := l.acquire(t.Context(), largeSubmission)
		testkit.Must(t, err)
		testkit.Same(t, "the next one waits", time.Since(left), 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		testkit.ErrorIs(t, "a caller who gives up", testkit.ErrorOf(l.acquire(ctx, largeSubmission)), context.DeadlineExceeded)
		second()
	})
}
