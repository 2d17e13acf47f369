package query

import (
	"bytes"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
)

func FuzzCursor(f *testing.F) {
	s := Source{Form: &forms.Form{ID: "f", PageID: 1}, Cursors: NewCursors(make([]byte, 32))}
	f.Add("")
	f.Add("AAAA")
	f.Add(strings.Repeat("A", 100))
	f.Fuzz(func(t *testing.T, cursor string) {
		q := &question{Source: s, List: List{Sort: &Sort{ID: "x"}, Cursor: cursor}}
		if p, err := q.openCursor(); err == nil && p != nil {
			t.Fatalf("%q was accepted: %v", cursor, p)
		}
		position := Position{Empty: len(cursor)%2 == 0, Key: []byte(cursor[:min(len(cursor), MaxSortKey)]), ID: int64(len(cursor))}
		q.Cursor = q.sealCursor(position)
		got, err := q.openCursor()
		if err != nil || got.Empty != position.Empty || got.ID != position.ID || !bytes.Equal(got.Key, position.Key) {
			t.Fatalf("%v became %v: %v", position, got, err)
		}
	})
}
