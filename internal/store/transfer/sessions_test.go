package transfer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/transfer"
)

// TestSessionsAreNotCopied: they are not part of a copy, and
// those of the target stay.
func TestSessionsAreNotCopied(t *testing.T) {
	pairs(t, func(t *testing.T, from, to whole) {
		source, target := from.(store.Sessions), to.(store.Sessions)
		expires := time.UnixMilli(1).UTC()
		theirs, ours := store.Session{Hash: [32]byte{1}, Expires: expires, Sealed: []byte("x")}, store.Session{Hash: [32]byte{2}, Expires: expires, Sealed: []byte("y")}
		if err := errors.Join(source.CreateSession(t.Context(), theirs), target.CreateSession(t.Context(), ours)); err != nil {
			t.Fatal(err)
		}
		if _, err := transfer.Copy(t.Context(), from, to, noProgress); err != nil {
			t.Fatal(err)
		}
		if _, err := target.Session(t.Context(), theirs.Hash); !errors.Is(err, store.ErrNoSession) {
			t.Errorf("the copy has the session of the source: %v", err)
		}
		if _, err := target.Session(t.Context(), ours.Hash); err != nil {
			t.Errorf("the target has lost its session: %v", err)
		}
		checkCopy(t, from, to)
	})
}
