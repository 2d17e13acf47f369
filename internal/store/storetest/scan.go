package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

var scanTests = []test{
	{"every query selects the right submissions", testQueries},
	{"many rows", testScanMany},
	{"large rows", testScanLarge},
	{"by ids", testScanIDs},
	{"a loop can be left", testLeftScans},
	{"visit may call the store", testVisitCalls},
	{"more scans in visit than an engine has connections", testScansParked},
}

// testQueries compares the result of every combination of parameters with that of
// choose.
func testQueries(t *testing.T, b *bench) {
	var stored []record
	for i := range 30 {
		b.create(t, sample("other", "amy", "x"))
		r := b.create(t, sample("form", []string{"amy", "bob", "", "Amy"}[i%4], fmt.Sprint(i)))
		stored = append(stored, r)
	}
	b.delete(t, stored[7].key())
	stored = slices.Delete(stored, 7, 8)

	amy, bob, nobody := "amy", "bob", "nobody"
	for _, user := range []*string{nil, &amy, &bob, &nobody} {
		for _, descending := range []bool{false, true} {
			for _, after := range []int64{0, stored[0].ID, stored[6].ID, stored[6].ID + 2, stored[20].ID, stored[28].ID, 1<<63 - 1} {
				for _, limit := range []int{0, 1, 3, 29, 100} {
					q := store.Query{PageID: 1, FormID: "form", Username: user, Descending: descending, After: after, Limit: limit}
					Same(t, fmt.Sprintf("%+v", q), b.scan(t, q), choose(stored, q))
				}
			}
		}
	}
	// An anonymous submission has no user; it does not belong to a user named "".
	unnamed := ""
	Same(t, "of the user without a name", len(b.scan(t, store.Query{PageID: 1, FormID: "form", Username: &unnamed})), 0)
}

// choose selects from records in ascending order what a scan must return.
func choose(stored []record, q store.Query) []record {
	var chosen []record
	ordered := slices.Clone(stored)
	if q.IDs != nil {
		place := func(r record) int { return slices.Index(q.IDs, r.ID) }
		ordered = slices.DeleteFunc(ordered, func(r record) bool { return place(r) < 0 })
		slices.SortFunc(ordered, func(a, b record) int { return place(a) - place(b) })
		q.Descending, q.After = false, 0
	}
	if q.Descending {
		slices.Reverse(ordered)
	}
	for _, r := range ordered {
		beyond := q.After == 0 || (r.ID > q.After && !q.Descending) || (r.ID < q.After && q.Descending)
		mine := q.Username == nil || (r.Username == *q.Username && r.Username != "")
		room := q.Limit == 0 || len(chosen) < q.Limit
		if r.PageID == q.PageID && r.FormID == q.FormID && beyond && mine && room {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// fill stores count submissions of one value of size bytes each, and returns
// them in ascending order. Many at a time, because each is made durable.
func (b *bench) fill(t *testing.T, formID string, count, size int) []record {
	t.Helper()
	const atATime = 50
	stored := make([]record, count)
	value := strings.Repeat("x", size)
	for from := 0; from < count; from += atATime {
		NoErrors(t, "create", Parallel(min(atATime, count-from), func(i int) error {
			sub, err := b.Create(ctx, sample(formID, "amy", value))
			if err == nil {
				stored[from+i] = decode(t, sub)
			}
			return err
		}))
	}
	slices.SortFunc(stored, func(a, b record) int { return int(a.ID - b.ID) })
	return stored
}

// testScanMany reads a list in more than one part.
func testScanMany(t *testing.T, b *bench) {
	stored := b.fill(t, "form", 700, 500)
	for _, descending := range []bool{false, true} {
		for _, limit := range []int{0, 500, 501, 699, 700} {
			q := store.Query{PageID: 1, FormID: "form", Descending: descending, Limit: limit}
			Same(t, fmt.Sprintf("%+v", q), b.scan(t, q), choose(stored, q))
		}
	}
}

func testScanLarge(t *testing.T, b *bench) {
	stored := b.fill(t, "form", 5, 300<<10)
	stored = append(stored, b.fill(t, "form", 3, 10)...)
	stored = append(stored, b.fill(t, "form", 2, 300<<10)...)
	amy := "amy"
	for _, q := range []store.Query{
		{PageID: 1, FormID: "form"},
		{PageID: 1, FormID: "form", Descending: true},
		{PageID: 1, FormID: "form", Username: &amy, Limit: 6},
		{PageID: 1, FormID: "form", IDs: []int64{stored[6].ID, stored[9].ID, stored[0].ID, stored[1].ID, stored[5].ID}},
	} {
		Same(t, fmt.Sprintf("%+v", q), b.scan(t, q), choose(stored, q))
	}
}

// testScanIDs asks for ids in one part and in several, where some were deleted or
// belong to another form.
func testScanIDs(t *testing.T, b *bench) {
	other := b.create(t, sample("other", "amy", "x"))
	stored := append(b.fill(t, "form", 300, 1000), b.create(t, sample("form", "bob", "x")))
	ids := make([]int64, len(stored))
	for i, r := range stored {
		ids[len(ids)-1-i*7%len(ids)] = r.ID // 7 is no divisor: each id once, in no order
	}
	for range 40 { // of the parts in between, one or another begins or ends here
		b.delete(t, stored[100].key())
		stored = slices.Delete(stored, 100, 101)
	}
	first := stored[0].ID
	const highest = 1<<63 - 1
	strangers := []int64{other.ID, highest, first + 1<<40, 0, first, -1, other.ID - 1<<40, -highest - 1, 1 << 40, 1<<40 - 1}
	amy, bob := "amy", "bob"
	for _, asked := range [][]int64{{}, {first}, strangers, {other.ID}, ids[:130], ids} {
		for _, user := range []*string{nil, &amy, &bob} {
			for _, limit := range []int{0, 1, 129, 200} {
				q := store.Query{PageID: 1, FormID: "form", IDs: asked, Username: user, Limit: limit}
				what := fmt.Sprintf("%d ids, limit %d", len(asked), limit)
				Same(t, what, b.scan(t, q), choose(stored, q))
				q.Descending, q.After = true, stored[5].ID
				Same(t, what+", descending", b.scan(t, q), choose(stored, q))
			}
		}
	}
	Same(t, "of an unknown form", len(b.scan(t, store.Query{PageID: 1, FormID: "unknown", IDs: ids})), 0)

	most := make([]int64, store.MaxIDs)
	for i := range most {
		most[i] = int64(i) + 1<<30
	}
	most[len(most)-1] = first
	Same(t, "as many as allowed", len(b.scan(t, store.Query{PageID: 1, FormID: "form", IDs: most})), 1)
	q := store.Query{PageID: 1, FormID: "form", IDs: append(most, 1)}
	if err := testkit.Each(b.Scan(ctx, q), func(forms.Submission) error { return nil }); err == nil {
		t.Error("a scan took more ids than are allowed")
	}
}

func testLeftScans(t *testing.T, b *bench) {
	stored := b.fill(t, "form", 10, 10)
	for stop := 1; stop <= len(stored); stop++ {
		rows := 0
		for _, err := range b.Scan(ctx, store.Query{PageID: 1, FormID: "form"}) {
			if rows++; err != nil || rows == stop {
				break
			}
		}
		Same(t, "rows", rows, stop)
	}
	Same(t, "a scan after those", b.all(t, "form"), stored)
}

// testVisitCalls calls every method from within the loop, in more scans at a time
// than an engine keeps connections for.
func testVisitCalls(t *testing.T, b *bench) {
	stored := b.fill(t, "form", 4, 10)
	finishes(t, "scans whose visits call the store", func() {
		NoErrors(t, "scan", Parallel(20, func(int) error {
			return testkit.Each(b.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(sub forms.Submission) error {
				return b.callAll(t, decode(t, sub).key())
			})
		}))
	})
	Same(t, "left of what the visits stored", len(b.all(t, "other")), 0)
	Same(t, "rows", len(b.all(t, "form")), len(stored))
}

func (b *bench) callAll(t *testing.T, key store.Key) error {
	if _, err := b.Get(ctx, key); err != nil {
		return err
	}
	made, err := b.Create(ctx, sample("other", "bob", "x"))
	if err != nil {
		return err
	}
	if _, err := b.Update(ctx, key, set(t, "seen", "yes")); err != nil {
		return err
	}
	if err := testkit.Each(b.Scan(ctx, store.Query{PageID: 1, FormID: "form", Limit: 2}), func(forms.Submission) error { return nil }); err != nil {
		return err
	}
	return errors.Join(b.Ping(ctx), b.Delete(ctx, store.Key{PageID: 1, FormID: "other", ID: made.ID}, nil))
}

// testScansParked: many slow clients must not delay other calls.
func testScansParked(t *testing.T, b *bench) {
	stored := b.fill(t, "form", 3, 300<<10) // each more than is read at once
	small := b.create(t, sample("small", "amy", "x"))
	const clients = 40
	parked, leave := make(chan struct{}, clients), make(chan struct{})
	visited := make([]int, clients)
	scans := make(chan []error, 1)
	go func() {
		scans <- Parallel(clients, func(i int) error {
			return testkit.Each(b.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(forms.Submission) error {
				if visited[i]++; visited[i] == 1 {
					parked <- struct{}{}
					<-leave
				}
				return nil
			})
		})
	}()
	finishes(t, "reads and writes while all scans are in visit", func() {
		for range clients {
			<-parked
		}
		NoErrors(t, "call", Parallel(clients, func(int) error { return b.callAll(t, small.key()) }))
	})
	close(leave)
	NoErrors(t, "scan", <-scans)
	for i, n := range visited {
		Same(t, fmt.Sprintf("rows of scan %d", i), n, len(stored))
	}
}
