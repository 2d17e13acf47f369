package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

func TestExplain(t *testing.T) {
	w := &world{t: t}
	const internals = "disk /dev/sda1"
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, "ok"},
		{store.ErrNotFound, "not found"},
		{store.ErrAlreadySubmitted, `invalid map[] ["this form takes one submission from each person, and yours is already there"]`},
		{store.ErrFull, "full"},
		{store.ErrUnavailable, "unavailable"},
		{store.ErrInDoubt, "in doubt"},
		{pages.ErrUnavailable, "unavailable"},
		{context.Canceled, "fault: context canceled"},
		{errors.New("odd"), "fault: odd"},
	} {
		w.wants(fmt.Sprint(tt.err), Explain(tt.err), tt.want)
		if tt.err == nil || strings.HasPrefix(tt.want, "fault") {
			continue
		}
		wrapped := Explain(fmt.Errorf("%s: %w", internals, tt.err))
		w.wants("wrapped "+tt.err.Error(), wrapped, tt.want)
		var known *Error
		if !errors.As(wrapped, &known) {
			continue
		}
		if strings.Contains(known.Detail.String(), internals) {
			t.Errorf("the caller is told %q", known.Detail)
		}
		if logged := known.Error(); known.Kind != NotFound && !strings.Contains(logged, internals) {
			t.Errorf("the log says no more than %q", logged)
		}
		if known.Kind != NotFound && !errors.Is(wrapped, tt.err) {
			t.Errorf("%v lost its cause", wrapped)
		}
	}
}

func TestSourceThatCannotTell(t *testing.T) {
	w := newWorld(t)
	testkit.Must(t, w.Ready(t.Context()))
	w.source.Fail(fmt.Errorf("%w: connection refused", pages.ErrUnavailable))
	_, err := w.Forms(t.Context(), owner, 1)
	w.wants("forms", err, "unavailable") // and not "not found": clients would forget what they know
	_, err = w.Form(t.Context(), owner, 1, "named")
	w.wants("form", err, "unavailable")
	_, err = w.Pages(t.Context(), owner)
	w.wants("pages", err, "unavailable")
	testkit.ErrorIs(t, "Ready", w.Ready(t.Context()), pages.ErrUnavailable)
}

func TestNotReadyWithoutTheStore(t *testing.T) { enginetest.Each(t, testNotReadyWithoutTheStore) }

func testNotReadyWithoutTheStore(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	testkit.Must(t, w.store.Close())
	if err := w.Ready(t.Context()); err == nil {
		t.Error("ready, although the store is closed")
	}
}
