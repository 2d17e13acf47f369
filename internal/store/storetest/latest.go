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
	{"the highest ids of one user, in the forms that are named", testLatest},
	{"of every combination of forms and limits", testLatestQueries},
	{"neither entries nor files", testLatestBare},
	{"among more forms than one read takes", testLatestManyForms},
	{"never more than MaxLatest", testLatestBound},
}

func (b *bench) latest(t rapid.TB, username string, among []store.FormKey, limit int) []forms.Submission {
	t.Helper()
	found, err := b.Latest(ctx, username, among, limit)
	if err != nil {
		t.Fatalf("latest: %v", err)
	}
	return append([]forms.Submission(nil), found...) // nil where there are none
}

// chooseLatest selects from records in ascending order what Latest must return.
func chooseLatest(stored []record, username string, among []store.FormKey, limit int) []forms.Submission {
	var chosen []forms.Submission
	for _, r := range slices.Backward(stored) {
		named := slices.Contains(among, store.FormKey{PageID: r.PageID, FormID: r.FormID})
		if named && username != "" && r.Username == username && len(chosen) < limit {
			chosen = append(chosen, forms.Submission{ID: r.ID, PageID: r.PageID, FormID: r.FormID, Username: username, Created: r.Created})
		}
	}
	return chosen
}

func testLatest(t *testing.T, b *bench) {
	first := b.create(t, sample("form", "amy", "x"))
	b.create(t, sample("form", "bob", "x"))
	b.create(t, sample("form", "Amy", "x"))
	b.create(t, sample("form", "", "x"))
	b.create(t, once(sample("form", "", "x"), "amy"))
	elsewhere := sample("form", "amy", "x")
	elsewhere.PageID = 2
	b.create(t, elsewhere)
	b.create(t, sample("Form", "amy", "x"))
	other := b.create(t, sample("other", "amy", "x"))
	last := b.create(t, sample("form", "amy", "x"))

	among := []store.FormKey{{PageID: 1, FormID: "form"}, {PageID: 1, FormID: "none"}, {PageID: 3, FormID: "form"}, {PageID: 1, FormID: "other"}}
	stored := []record{first, other, last}
	Same(t, "of amy", b.latest(t, "amy", among, 10), chooseLatest(stored, "amy", among, 10))
	b.delete(t, last.key())
	Same(t, "after a delete", b.latest(t, "amy", among, 10), chooseLatest(stored[:2], "amy", among, 10))
	for what, found := range map[string][]forms.Submission{
		"of the user without a name": b.latest(t, "", among, 10),
		"of somebody else":           b.latest(t, "nobody", among, 10),
		"none wanted":                b.latest(t, "amy", among, 0),
		"less than none":             b.latest(t, "amy", among, -1),
		"among no forms":             b.latest(t, "amy", nil, 10),
		"among forms without rows":   b.latest(t, "amy", among[1:3], 10),
	} {
		Same(t, what, len(found), 0)
	}
}

func testLatestQueries(t *testing.T, b *bench) {
	var stored []record
	for _, form := range []string{"a", "a", "b", "c", "a", "c", "c", "b", "d", "a"} {
		stored = append(stored, b.create(t, sample(form, "amy", "x")))
		b.create(t, sample(form, "bob", "x"))
	}
	for _, ids := range []string{"a", "d", "ab", "ba", "abcd", "dcba", "aabbaa", "xaydz", "xyz"} {
		var among []store.FormKey
		for _, id := range ids {
			among = append(among, store.FormKey{PageID: 1, FormID: string(id)})
		}
		before := slices.Clone(among)
		for limit := range len(stored) + 2 {
			Same(t, fmt.Sprintf("%d among %s", limit, ids), b.latest(t, "amy", among, limit), chooseLatest(stored, "amy", among, limit))
		}
		Same(t, "the caller's forms", among, before)
	}
}

func testLatestBare(t *testing.T, b *bench) {
	b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "a.txt", []byte("content"))))
	for _, sub := range b.latest(t, "amy", []store.FormKey{{PageID: 1, FormID: "form"}}, 1) {
		Same(t, "entries and files", len(sub.Entries)+len(sub.Files), 0)
	}
}

// testLatestManyForms has the wanted forms at the beginning, in the middle and at
// the end.
func testLatestManyForms(t *testing.T, b *bench) {
	among := make([]store.FormKey, 2000)
	for i := range among {
		among[i] = store.FormKey{PageID: 1, FormID: fmt.Sprint("form", i)}
	}
	var stored []record
	for _, i := range []int{1999, 0, 700, 0, 1200, 1999, 700, 700, 300} {
		stored = append(stored, b.create(t, sample(among[i].FormID, "amy", "x")))
		b.create(t, sample(among[i+1-i%2].FormID, "bob", "x"))
	}
	for limit := range len(stored) + 2 {
		Same(t, fmt.Sprint("limit ", limit), b.latest(t, "amy", among, limit), chooseLatest(stored, "amy", among, limit))
	}
}

func testLatestBound(t *testing.T, b *bench) {
	stored := b.fill(t, "form", store.MaxLatest+10, 10)
	among := []store.FormKey{{PageID: 1, FormID: "form"}}
	Same(t, "rows", b.latest(t, "amy", among, 1000), chooseLatest(stored, "amy", among, store.MaxLatest))
}

func (x *machine) doLatest(rt *rapid.T) {
	var among []store.FormKey
	for range rapid.IntRange(0, 5).Draw(rt, "forms") {
		among = append(among, store.FormKey{PageID: x.drawPage(rt), FormID: drawForm.Draw(rt, "form")})
	}
	user, limit := drawUser.Draw(rt, "user"), rapid.IntRange(0, 4).Draw(rt, "limit")
	what := fmt.Sprintf("latest %d of %q among %v", limit, user, among)
	Same(rt, what, x.latest(rt, user, among, limit), chooseLatest(x.records(), user, among, limit))
}
