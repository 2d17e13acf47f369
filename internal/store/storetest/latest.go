package storetest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var latestTests = []test{
	{"the highest ids of one user", testLatest},
	{"neither entries nor files", testLatestBare},
	{"never more than MaxLatest", testLatestBound},
}

func (b *bench) latest(t rapid.TB, username string, limit int) []forms.Submission {
	t.Helper()
	found, err := b.Latest(ctx, username, limit)
	if err != nil {
		t.Fatalf("latest: %v", err)
	}
	return append([]forms.Submission(nil), found...) // nil where there are none
}

// chooseLatest selects from records in ascending order what Latest must return.
func chooseLatest(stored []record, username string, limit int) []forms.Submission {
	var chosen []forms.Submission
	for _, r := range slices.Backward(stored) {
		if username != "" && r.Username == username && len(chosen) < limit {
			chosen = append(chosen, forms.Submission{ID: r.ID, PageID: r.PageID, FormID: r.FormID, Username: username, Created: r.Created})
		}
	}
	return chosen
}

func testLatest(t *testing.T, b *bench) {
	var stored []record
	add := func(n store.New) { stored = append(stored, b.create(t, n)) }
	for page := range int64(3) { // forms are numbered in another order than submissions
		for _, form := range []string{"form", "Form", "other", "form"} {
			for _, user := range []string{"amy", "bob", "Amy", ""} {
				n := sample(form, user, "x")
				n.PageID = 3 - page
				add(n)
			}
		}
	}
	add(withSubmitterKey(sample("form", "", "x"), "amy"))
	add(sample("form", "amy", "x"))
	for range 2 {
		for limit := range stored {
			Same(t, fmt.Sprint("limit ", limit), b.latest(t, "amy", limit), chooseLatest(stored, "amy", limit))
		}
		last := len(stored) - 1
		b.delete(t, stored[last].key())
		stored = stored[:last]
	}
	for what, found := range map[string][]forms.Submission{
		"of the user without a name": b.latest(t, "", 10),
		"of an unknown user":         b.latest(t, "nobody", 10),
		"none wanted":                b.latest(t, "amy", 0),
		"less than none":             b.latest(t, "amy", -1),
	} {
		Same(t, what, len(found), 0)
	}
}

func testLatestBare(t *testing.T, b *bench) {
	b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "a.txt", []byte("content"))))
	for _, sub := range b.latest(t, "amy", 1) {
		Same(t, "entries and files", len(sub.Entries)+len(sub.Files), 0)
	}
}

func testLatestBound(t *testing.T, b *bench) {
	stored := b.fill(t, "form", store.MaxLatest+10, 10)
	Same(t, "rows", b.latest(t, "amy", 1000), chooseLatest(stored, "amy", store.MaxLatest))
}

func (x *machine) doLatest(rt *rapid.T) {
	user, limit := drawUser.Draw(rt, "user"), rapid.IntRange(0, 4).Draw(rt, "limit")
	what := fmt.Sprintf("latest %d of %q", limit, user)
	Same(rt, what, x.latest(rt, user, limit), chooseLatest(x.records(), user, limit))
}
