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

func (b *bench) latest(t rapid.TB, username string) []forms.Submission {
	t.Helper()
	found, err := b.Latest(ctx, username)
	if err != nil {
		t.Fatalf("latest: %v", err)
	}
	return append([]forms.Submission(nil), found...) // nil where there are none
}

// chooseLatest selects from records in ascending order what Latest must return.
func chooseLatest(stored []record, username string) []forms.Submission {
	var chosen []forms.Submission
	for _, r := range slices.Backward(stored) {
		if username != "" && r.Username == username && len(chosen) < store.MaxLatest {
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
		Same(t, "latest", b.latest(t, "amy"), chooseLatest(stored, "amy"))
		last := len(stored) - 1
		b.delete(t, stored[last].key())
		stored = stored[:last]
	}
	Same(t, "of the user without a name", len(b.latest(t, "")), 0)
	Same(t, "of an unknown user", len(b.latest(t, "nobody")), 0)
}

func testLatestBare(t *testing.T, b *bench) {
	b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "a.txt", []byte("content"))))
	for _, sub := range b.latest(t, "amy") {
		Same(t, "entries and files", len(sub.Entries)+len(sub.Files), 0)
	}
}

// testLatestBound: one form has more, and its submissions lie between those of another.
func testLatestBound(t *testing.T, b *bench) {
	stored := slices.Concat(b.fill(t, "a", 5, 10), b.fill(t, "b", store.MaxLatest-10, 10), b.fill(t, "a", 5, 10), b.fill(t, "b", 10, 10))
	Same(t, "rows", b.latest(t, "amy"), chooseLatest(stored, "amy"))
}

func (x *machine) doLatest(rt *rapid.T) {
	user := drawUser.Draw(rt, "user")
	Same(rt, fmt.Sprintf("latest of %q", user), x.latest(rt, user), chooseLatest(x.records(), user))
}
