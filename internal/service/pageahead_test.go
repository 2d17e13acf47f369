package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// TestPagesShareNoMemory reads a page within another. Pages reuse memory, but
// not while somebody reads it.
func TestPagesShareNoMemory(t *testing.T) {
	w := newWorld(t, enginetest.SQLite)
	for i := range 20 {
		w.stores("alice", "text", fmt.Sprint("value ", i+1))
	}
	a := w.as(editor, "named")
	opts := ListOptions{Limit: 10, Begin: func(Page) error { return nil }}
	inner := opts
	inner.After = 10
	seen := 0
	err := a.List(t.Context(), opts, func(s forms.Submission) error {
		seen++
		if err := a.List(t.Context(), inner, func(forms.Submission) error { return nil }); err != nil {
			return err
		}
		if want := fmt.Sprintf(`"value %d"`, s.ID); !strings.Contains(string(s.Entries), want) {
			t.Errorf("submission %d holds %s, want %s", s.ID, s.Entries, want)
		}
		return nil
	})
	if err != nil || seen != 10 {
		t.Fatalf("%d submissions, %v", seen, err)
	}
}
