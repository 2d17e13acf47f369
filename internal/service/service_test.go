package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
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
	for what, err := range map[string]error{ // and not "not found": clients would forget what they know
		"forms": testkit.ErrorOf(w.Forms(t.Context(), owner, 1)),
		"form":  testkit.ErrorOf(w.Form(t.Context(), owner, 1, "named")),
		"page":  testkit.ErrorOf(w.Page(t.Context(), owner, 1)),
		"pages": testkit.ErrorOf(w.Pages(t.Context(), owner)),
	} {
		w.wants(what, err, "unavailable")
	}
	testkit.ErrorIs(t, "Ready", w.Ready(t.Context()), pages.ErrUnavailable)
}

// Without the store, an empty list is an error, too.
func TestWithoutTheStore(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.as(viewer, "named-once")
	list, err := w.Pages(ctx, viewer)
	testkit.Must(t, err)
	testkit.Must(t, w.store.Close())
	for _, username := range []string{"viewer", "owner", ""} {
		w.wants("list of "+username, readError(ctx, a, query.List{Username: &username}, nil), "unavailable")
	}
	w.wants("latest", testkit.ErrorOf(w.Latest(ctx, viewer, list, 10)), "unavailable")
	_, _, err = a.Mine(ctx)
	w.wants("mine", err, "unavailable")
	w.wants("state", testkit.ErrorOf(a.Availability(ctx)), "unavailable")
	testkit.ErrorIs(t, "ready", w.Ready(ctx), store.ErrUnavailable)
}
