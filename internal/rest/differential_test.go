package rest

import (
	"archive/zip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// differentialSeed has TestBothEnginesAnswerAlike send what it sent before.
var differentialSeed = flag.Uint64("differential.seed", 0, "send the requests of this seed to both engines; 0 for a new one")

// TestBothEnginesAnswerAlike sends the same random requests to two servers, one
// on each engine, and wants the same answers, byte for byte. Only ids may
// differ: an engine may leave some out, but must give them in the same order.
func TestBothEnginesAnswerAlike(t *testing.T) {
	t.Parallel() // one server waits while the other works
	seed := *differentialSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	w := newEnginePair(t)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	statuses := map[int]int{}
	for n := range testkit.Rounds(2_000, 10_000) {
		w.advance(time.Duration(g.IntN(3)) * 777 * time.Microsecond)
		r := g.next()
		status, err := w.send(t, g, r)
		if err != nil {
			t.Fatalf("request %d of -differential.seed=%d: %s %q by %q, %v, with body %q:\n%v\nto see it again: go test ./internal/rest -run %s -differential.seed=%[2]d",
				n, seed, r.method, r.path, r.user, r.header, clip(r.body), err, t.Name())
		}
		statuses[status]++
	}
	if err := w.compareStores(t.Context()); err != nil {
		t.Errorf("-differential.seed=%d, what is stored in the end: %v", seed, err)
	}
	t.Logf("answers by status: %v", statuses)
	for _, status := range []int{200, 201, 204, 304, 400, 401, 403, 404, 405, 412, 415, 422} {
		if statuses[status] == 0 {
			t.Errorf("-differential.seed=%d: nothing was answered with %d, so the requests try too little", seed, status)
		}
	}
}

// enginePair is two servers that differ in their engine only.
type enginePair struct {
	a, b                 *env
	handlerA, handlerB   http.Handler
	submissions, entries pairing
	tags                 tagPairs
}

func newEnginePair(t *testing.T) *enginePair {
	t.Helper()
	a, b := newEnv(t, house()), newEnvOn(t, enginetest.Postgres, house())
	return &enginePair{a: a, b: b, handlerA: mount(a.api), handlerB: mount(b.api), tags: tagPairs{map[string]string{}, map[string]string{}}}
}

func (w *enginePair) advance(d time.Duration) {
	w.a.Clock.Advance(d)
	w.b.Clock.Advance(d)
}

// send sends a request to both and compares what comes back. What was created
// or deleted is told to the generator.
func (w *enginePair) send(t *testing.T, g *generator, r drawnRequest) (status int, err error) {
	t.Helper()
	a, b := serveOnce(w.handlerA, w.a.newRequest(t, r.forA())), serveOnce(w.handlerB, w.b.newRequest(t, r.forB()))
	if a.status != b.status {
		return 0, fmt.Errorf("SQLite answers %d, PostgreSQL %d\n%s\n%s", a.status, b.status, clip(a.body), clip(b.body))
	}
	if diff := cmp.Diff(relevant(a.header), relevant(b.header)); diff != "" {
		return 0, fmt.Errorf("headers (-SQLite +PostgreSQL):\n%s", diff)
	}
	tag := tagPair{a.header.Get("Etag"), b.header.Get("Etag")}
	if err := errors.Join(w.compare(readable(t, a), readable(t, b)), w.tags.add(tag)); err != nil {
		return 0, err
	}
	switch a.status {
	case http.StatusOK:
		if tag.a != "" {
			g.tagged(r.id, tag)
		}
	case http.StatusCreated:
		id := idPair{locationID(t, a), locationID(t, b)}
		if err := w.submissions.add(id); err != nil {
			return 0, fmt.Errorf("Location: %w", err)
		}
		g.tagged(id, tag)
		if a.header.Get("Idempotency-Replayed") == "" {
			g.created(r.form, id)
		}
	case http.StatusNoContent:
		g.deleted(r.id)
	}
	return a.status, nil
}

var idCell = regexp.MustCompile(`<c r="A[0-9]+"><v>`)

// readable is what the parts of an XLSX hold, with its ids marked like those of
// JSON. Any other body is what it is.
func readable(t *testing.T, a answer) string {
	t.Helper()
	if a.body == "" || a.header.Get("Content-Type") != encode.XLSX.MediaType {
		return a.body
	}
	r, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range r.File {
		part, err := file.Open()
		if err == nil {
			_, err = io.Copy(&text, part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Values are not escaped as in JSON, and may look like its ids.
	harmless := strings.NewReplacer(`{"id":`, `{id:`, `,"id":`, `,id:`).Replace(text.String())
	return idCell.ReplaceAllString(harmless, `{"_id":"`)
}

// serveOnce leaves out the network, which has no part in it.
func serveOnce(h http.Handler, r *http.Request) answer {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

// relevant leaves out what comes of ids: their number of digits, and tags.
func relevant(h http.Header) http.Header {
	h = maps.Clone(h)
	h.Del("Content-Length")
	if h.Get("Etag") != "" {
		h.Set("Etag", "some")
	}
	if location := h.Get("Location"); location != "" {
		h.Set("Location", location[:strings.LastIndex(location, "/")])
	}
	if link := h.Get("Link"); link != "" {
		h.Set("Link", nextID.ReplaceAllString(link, "$1="))
	}
	return h
}

// nextID is where the next page begins, after an id or a cursor, of which no two
// are the same; and an id in a filter.
var nextID = regexp.MustCompile(`(after|cursor|_id%5D(?:%5B[a-z-]+%5D)?)=[\w-]+`)

func locationID(t *testing.T, a answer) int64 {
	t.Helper()
	location := a.header.Get("Location")
	id, err := strconv.ParseInt(location[strings.LastIndex(location, "/")+1:], 10, 64)
	if err != nil {
		t.Fatalf("Location %q: %v", location, err)
	}
	return id
}

// compare wants two texts to be the same up to their ids, and those to belong
// together.
func (w *enginePair) compare(a, b string) error {
	for _, kind := range []struct {
		// A quote within a value is escaped, so none can look like these. The last
		// is for CSV; in the values there is no number behind a line break.
		marker string
		known  *pairing
	}{{`{"_id":"`, &w.submissions}, {`,"id":`, &w.submissions}, {`{"id":`, &w.entries}, {"\r\n", &w.submissions}} {
		restA, idsA := cutIDs(a, kind.marker)
		restB, idsB := cutIDs(b, kind.marker)
		if len(idsA) != len(idsB) {
			return fmt.Errorf("after %s SQLite shows %d ids, PostgreSQL %d\n%s\n%s", kind.marker, len(idsA), len(idsB), clip(a), clip(b))
		}
		for i := range idsA {
			if err := kind.known.add(idPair{idsA[i], idsB[i]}); err != nil {
				return fmt.Errorf("after %s: %w\n%s\n%s", kind.marker, err, clip(a), clip(b))
			}
		}
		a, b = restA, restB
	}
	if a != b {
		return fmt.Errorf("(-SQLite +PostgreSQL)\n%s", cmp.Diff(a, b))
	}
	return nil
}

// cutIDs takes the numbers behind each marker out of a text.
func cutIDs(text, marker string) (rest string, ids []int64) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, marker)
		b.WriteString(before)
		if !found {
			return b.String(), ids
		}
		b.WriteString(marker)
		text = strings.TrimLeft(after, "0123456789")
		id, _ := strconv.ParseInt(after[:len(after)-len(text)], 10, 64) // where there is none, both have none
		ids = append(ids, id)
	}
}

// idPair is one thing's ids in both stores.
type idPair struct{ a, b int64 }

// pairing is which ids are the same thing's, in their order, which is the same
// in both stores.
type pairing []idPair

// add takes note of a pair, which must agree with all the others.
func (p *pairing) add(id idPair) error {
	i, known := slices.BinarySearchFunc(*p, id.a, func(have idPair, a int64) int { return int(have.a - a) })
	switch {
	case known && (*p)[i].b == id.b:
		return nil
	case known:
		return fmt.Errorf("%d in SQLite is %d in PostgreSQL, and was %d before", id.a, id.b, (*p)[i].b)
	case (i > 0 && (*p)[i-1].b >= id.b) || (i < len(*p) && (*p)[i].b <= id.b):
		return fmt.Errorf("%d in SQLite is %d in PostgreSQL, which is another's or not in the same order", id.a, id.b)
	}
	*p = slices.Insert(*p, i, id)
	return nil
}

// tagPair is the entity tags of one state in both stores.
type tagPair struct{ a, b string }

// tagPairs is which tags are those of the same state.
type tagPairs struct{ byA, byB map[string]string }

// add takes note of a pair, which must agree with all the others.
func (p tagPairs) add(tag tagPair) error {
	b, knownA := p.byA[tag.a]
	a, knownB := p.byB[tag.b]
	if knownA && b != tag.b || knownB && a != tag.a {
		return fmt.Errorf("the tag %s in SQLite is %s in PostgreSQL; before, %q and %q", tag.a, tag.b, b, a)
	}
	p.byA[tag.a], p.byB[tag.b] = tag.b, tag.a
	return nil
}

// compareStores compares all that is stored.
func (w *enginePair) compareStores(ctx context.Context) error {
	recordsA, errA := dumpAll(ctx, w.a)
	recordsB, errB := dumpAll(ctx, w.b)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if len(recordsA) != len(recordsB) || len(recordsA) == 0 {
		return fmt.Errorf("SQLite holds %d submissions, PostgreSQL %d", len(recordsA), len(recordsB))
	}
	for i := range recordsA {
		if err := w.compare(recordsA[i], recordsB[i]); err != nil {
			return err
		}
	}
	return nil
}

func dumpAll(ctx context.Context, e *env) (records []string, err error) {
	err = e.Store.Store.(store.Archive).Dump(ctx, store.Key{}, func(r store.Record) error {
		records = append(records, fmt.Sprintf(`%d %s,"id":%d %q %q %s %s`,
			r.PageID, r.FormID, r.ID, r.Username, r.Once, r.Created, r.Entries))
		return nil
	})
	return records, err
}
