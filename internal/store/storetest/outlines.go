package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/store"
)

var outlineTests = []test{
	{"set, replaced and removed, over a restart", testOutlines},
	{"those that were set last stay", testMaxOutlines},
}

func (b *bench) setOutline(t *testing.T, page int64, outline string) {
	t.Helper()
	if err := b.SetOutline(ctx, page, outline); err != nil {
		t.Fatal(err)
	}
}

// outlines returns them in the order of their texts: two may be set within a millisecond.
func (b *bench) outlines(t *testing.T) []string {
	t.Helper()
	all, err := b.Outlines(ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func testOutlines(t *testing.T, b *bench) {
	b.setOutline(t, 1, "")
	b.setOutline(t, 1, "a")
	b.setOutline(t, 2, "b")
	b.setOutline(t, 1, "c “é”")
	Same(t, "outlines", b.outlines(t), []string{"b", "c “é”"})
	b.setOutline(t, 2, "")
	b.reopen(t)
	Same(t, "outlines after a restart", b.outlines(t), []string{"c “é”"})
}

func testMaxOutlines(t *testing.T, b *bench) {
	for page := range int64(store.MaxOutlines + 1) {
		b.setOutline(t, page+1, fmt.Sprint("page ", page+1))
	}
	all := b.outlines(t)
	if !slices.Contains(all, fmt.Sprint("page ", store.MaxOutlines+1)) {
		t.Error("the newest is gone")
	}
	Same(t, "number of outlines", len(all), store.MaxOutlines)
}
