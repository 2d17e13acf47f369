package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// keeper is a store whose calls a test may look at, or replace.
type keeper struct {
	store.Store
	setKeep    func() error
	keep       *store.Keep
	afterDrop  func()
	rows       int // that scans have visited
	othersTurn bool
}

func (k *keeper) SetKeep(ctx context.Context, pageID int64, formID string, keep forms.Period) error {
	if k.setKeep != nil {
		if err := k.setKeep(); err != nil {
			return err
		}
	}
	return k.Store.SetKeep(ctx, pageID, formID, keep)
}

func (k *keeper) Keep(ctx context.Context, pageID int64, formID string) (store.Keep, error) {
	if k.keep != nil {
		return *k.keep, nil
	}
	return k.Store.Keep(ctx, pageID, formID)
}

func (k *keeper) Scan(ctx context.Context, q store.Query) query.Rows {
	return func(yield func(forms.Submission, error) bool) {
		for sub, err := range k.Store.Scan(ctx, q) {
			k.rows++
			if !yield(sub, err) {
				return
			}
		}
	}
}

func (k *keeper) Delete(ctx context.Context, key store.Key, check func(forms.Submission) error, events ...store.Event) error {
	err := k.Store.Delete(ctx, key, check, events...)
	if k.afterDrop != nil {
		k.afterDrop()
	}
	return err
}

func (k *keeper) Alone(ctx context.Context, do func() error) error {
	if k.othersTurn {
		return nil
	}
	return k.Store.Alone(ctx, do)
}

// watches has a keeper between the service and its store.
func (w *world) watches() *keeper {
	k := &keeper{Store: w.store}
	w.opts.Store = k
	return k
}

// stored has a submission of form "named" stored that was created so long ago.
func (w *world) stored(age time.Duration) int64 {
	w.t.Helper()
	sub, err := w.store.Create(w.t.Context(), store.New{PageID: 1, FormID: "named", Username: "owner", Created: time.Now().Add(-age)})
	testkit.Must(w.t, err)
	return sub.ID
}

// fill has many of them stored, the first one with id 1.
func (w *world) fill(ages ...time.Duration) {
	w.t.Helper()
	records := make([]store.Record, len(ages))
	for i, age := range ages {
		records[i].Submission = forms.Submission{
			ID: int64(i + 1), PageID: 1, FormID: "named", Username: "owner", Created: time.Now().Add(-age), Entries: forms.EncodeEntries(nil, nil),
		}
	}
	testkit.Must(w.t, w.store.(store.Engine).Load(w.t.Context(), records))
}

// rewritten replaces a form as an edit of its page does, and nobody opens it.
func (w *world) rewritten(formID, keep string) {
	w.t.Helper()
	period, err := forms.ParsePeriod(keep)
	testkit.Must(w.t, err)
	page := &pages.Page{ID: 1, Title: "Page 1"}
	for _, f := range w.page.Forms {
		if f.ID == formID {
			f = &forms.Form{ID: f.ID, PageID: 1, Fields: f.Fields, Anonymous: f.Anonymous, Keep: period}
		}
		page.Forms = append(page.Forms, f)
	}
	w.page = page
	w.source.Put(page, w.rights)
}

// passes lets time pass for the keeps that are stored.
func (w *world) passes(d time.Duration) {
	w.t.Helper()
	engine := w.store.(store.Engine)
	keeps, err := engine.Keeps(w.t.Context())
	for i := range keeps {
		keeps[i].Since = keeps[i].Since.Add(-d)
	}
	testkit.Must(w.t, errors.Join(err, engine.LoadKeeps(w.t.Context(), keeps)))
}

// sweeps makes a sweep, and returns what it logs.
func (w *world) sweeps() string {
	w.t.Helper()
	var log bytes.Buffer
	testkit.Must(w.t, w.sweep(w.t.Context(), slog.New(slog.NewTextHandler(&log, nil))))
	return regexp.MustCompile(`time=\S+ `).ReplaceAllString(log.String(), "")
}

// left checks which submissions of form "named" there are.
func (w *world) left(what string, want ...int64) {
	w.t.Helper()
	var ids []int64
	testkit.Must(w.t, testkit.Each(w.store.Scan(w.t.Context(), store.Query{PageID: 1, FormID: "named"}), func(sub forms.Submission) error {
		ids = append(ids, sub.ID)
		return nil
	}))
	testkit.Diff(w.t, what, ids, want)
}

const day = 24 * time.Hour

// A sweep deletes what is too old with all that belongs to it, and tells listeners, also of forms and pages that have gone.
func TestSweep(t *testing.T) { enginetest.Each(t, testSweep) }

func testSweep(t *testing.T, on enginetest.Engine) {
	w := newPapers(t, on)
	stored, ctx := w.listens(), t.Context()
	w.clock = time.Now().Add(-100 * day).Truncate(time.Millisecond)
	a := w.as(editor, "named")
	file := w.stages(a, "doc", "a.txt", "content")
	old, _, err := w.as(owner, "named").Create(ctx, append(answer("old"), fileAnswer(file)), "")
	testkit.Must(t, err)
	_, err = a.Merge(ctx, old.ID, answer("changed"), nil, admitAll)
	testkit.Must(t, err)
	secret, gone := w.submits(owner, "anonymous", "old"), w.submits(owner, "anonymous-too", "old")
	w.submits(owner, "named-once", "kept for ever")
	young, before := w.stored(89*day), a.Writes()
	for _, formID := range []string{"named", "anonymous", "anonymous-too"} {
		w.rewritten(formID, "90 days")
	}
	testkit.Same(t, "within a day", w.sweeps(), "")
	w.left("within a day", old.ID, young)
	w.passes(store.Grace)
	w.page.Forms = w.page.Forms[:4] // the last has left its page
	told := len(stored())
	const line = "level=INFO msg=\"submissions deleted that the form does not keep any longer\" page=1 form=%s submissions=1\n"
	testkit.Diff(t, "the log", w.sweeps(), fmt.Sprintf(line+line+line, "anonymous", "anonymous-too", "named"))
	w.left("a day later", young)
	if steps, err := w.store.History(ctx, old.ID); len(steps) > 0 || err != nil {
		t.Errorf("its history: %v, %v", steps, err)
	}
	_, err = w.opts.Files.OpenFile(ctx, store.Key{PageID: 1, FormID: "named", ID: old.ID}, file.ID)
	testkit.ErrorIs(t, "its file", err, store.ErrNotFound)
	if a.Writes() == before {
		t.Error("what is remembered of the form is not made anew")
	}
	want := []struct {
		form string
		id   int64
	}{{"anonymous", secret.ID}, {"anonymous-too", gone.ID}, {"named", old.ID}}
	for i, e := range stored()[told:] {
		if e.Form != want[i].form || e.Submission != want[i].id || e.Type != store.SubmissionDeleted || e.Anonymous != (e.Form != "named") || !e.Created.Equal(w.clock) {
			t.Errorf("event %+v, want %+v", e, want[i])
		}
	}
	testkit.Same(t, "events", len(stored())-told, len(want))
	w.source.Remove(1)
	w.passes(3 * day)
	late := w.stored(91 * day)
	w.sweeps()
	w.left("of a page that has gone", young)
	w.wants("a second sweep finds nothing", testkit.ErrorOf(w.store.Get(ctx, store.Key{PageID: 1, FormID: "named", ID: late})), "fault: submission not found")
}

// A mistyped keep deletes nothing within a day, whatever the clock of the server says, and nothing more when it is taken back.
func TestMistypedKeep(t *testing.T) { enginetest.Each(t, testMistypedKeep) }

func testMistypedKeep(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	ancient, old := w.stored(400*day), w.stored(100*day)
	w.rewritten("named", "1 year")
	testkit.Must(t, w.storeKeeps(t.Context()))
	w.passes(store.Grace)
	w.rewritten("named", "1 day")
	w.clock = time.Now().Add(100 * day) // the clock of one server, and then of another
	testkit.Must(t, w.storeKeeps(t.Context()))
	w.clock = time.Now().Add(-100 * day)
	w.sweeps()
	w.left("what the longer one deletes does not wait", old)
	w.passes(store.Grace - time.Minute)
	w.rewritten("named", "1 day") // it is read again, by a server that starts
	w.sweeps()
	w.left("within a day", old)
	w.rewritten("named", "1 year")
	w.passes(store.Grace)
	w.sweeps()
	w.left("written back, and opened by nobody", old)
	w.rewritten("named", "1 day")
	w.sweeps()
	w.left("the day begins again", old)
	w.rewritten("named", "")
	w.passes(store.Grace)
	w.sweeps()
	w.left("taken back", old)
	w.rewritten("named", "1 day")
	w.sweeps()
	w.passes(store.Grace)
	w.sweeps()
	w.left("a day later")
	testkit.Same(t, "id", ancient, 1)
}

// Each keep that a page has said counts, although nobody opens the form, and it leaves the page before the next sweep.
func TestKeepsAsRead(t *testing.T) { enginetest.Each(t, testKeepsAsRead) }

func testKeepsAsRead(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	k, old := w.watches(), w.stored(100*day)
	w.rewritten("named", "30 days")
	w.sweeps()
	w.passes(store.Grace)
	for _, keep := range []string{"", "40 days", "30 days"} {
		w.rewritten("named", keep)
	}
	w.sweeps()
	w.left("taken back and written again", old)
	w.passes(store.Grace)
	w.rewritten("named", "")
	w.page.Forms = w.page.Forms[1:]
	w.source.Put(&pages.Page{ID: 1, Forms: w.page.Forms}, w.rights) // the form has left its page
	k.setKeep = func() error { return errors.New("broken") }
	for range 2 {
		w.wants("a sweep", w.sweep(t.Context(), slog.New(slog.DiscardHandler)), "fault: broken")
	}
	k.setKeep = nil
	w.sweeps()
	w.left("taken back, and removed", old)
	keep, err := w.store.Keep(t.Context(), 1, "named")
	testkit.Must(t, err)
	testkit.Same(t, "stored", keep.Period, forms.Period{})
}

// To open a form in any way writes nothing.
func TestOpenWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.watches().setKeep = func() error { t.Error("a keep is stored"); return nil }
	w.rewritten("named", "30 days")
	w.as(viewer, "named")
	w.wants("forms", testkit.ErrorOf(w.Forms(t.Context(), viewer, 1)), "ok")
	w.wants("page", testkit.ErrorOf(w.Page(t.Context(), viewer, 1)), "ok")
}

// A sweep reads no more than it needs, and is not stopped by a few submissions whose time is wrong.
func TestSweepRows(t *testing.T) {
	w := newWorld(t)
	k := w.watches()
	w.rewritten("named", "90 days")
	testkit.Must(t, w.storeKeeps(t.Context()))
	w.passes(store.Grace)
	ages := append([]time.Duration{0, 100 * day}, slices.Repeat([]time.Duration{95 * day}, sweepRows)...)
	ages = append(append(ages, 0, 92*day, 91*day), slices.Repeat([]time.Duration{day}, 3*sweepRows)...)
	w.fill(ages...)
	said := w.sweeps()
	if want := fmt.Sprintf("submissions=%d\n", sweepRows+3); !strings.HasSuffix(said, want) {
		t.Errorf("%s, want %s", said, want)
	}
	if k.rows > 3*sweepRows {
		t.Errorf("%d rows were read", k.rows)
	}
	k.rows = 0
	if said := w.sweeps(); said != "" || k.rows != sweepRows {
		t.Errorf("another sweep reads %d rows: %s", k.rows, said)
	}
}

// What happens while a sweep runs.
func TestSweepMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(w *world, k *keeper)
		want int // submissions that are left of sweepRows and ten
		err  string
	}{
		{"nothing", func(*world, *keeper) {}, 0, "ok"},
		{"another server sweeps", func(_ *world, k *keeper) { k.othersTurn = true }, sweepRows + 10, "ok"},
		{"the keep is taken back", func(w *world, k *keeper) {
			k.afterDrop = func() { testkit.Must(w.t, w.store.SetKeep(w.t.Context(), 1, "named", forms.Period{})) }
		}, 10, "ok"},
		{"somebody deletes", func(w *world, k *keeper) {
			next := int64(1)
			k.afterDrop = func() {
				if next++; next%2 == 0 {
					_ = w.store.Delete(w.t.Context(), store.Key{PageID: 1, FormID: "named", ID: next}, nil)
				}
			}
		}, 0, "ok"},
		{"the keep can't be stored", func(w *world, k *keeper) {
			w.rewritten("named", "1 day")
			k.setKeep = func() error { return errors.New("broken") }
		}, sweepRows + 10, "fault: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			k := w.watches()
			w.fill(slices.Repeat([]time.Duration{100 * day}, sweepRows+10)...)
			w.rewritten("named", "90 days")
			testkit.Must(t, w.storeKeeps(t.Context()))
			w.passes(store.Grace)
			c.set(w, k)
			w.wants("sweep", w.sweep(t.Context(), slog.New(slog.DiscardHandler)), c.err)
			n, err := w.countStored("named")
			if err != nil || n != c.want {
				t.Errorf("%d are left, want %d; %v", n, c.want, err)
			}
		})
	}
}

// Months are counted by the calendar of the zone: there it is the 30th of March, and a month before is the 28th of February.
func TestKeepZone(t *testing.T) {
	for zone, want := range map[string]int{"UTC": 1, "Pacific/Midway": 0} {
		w := newWorld(t)
		k := w.watches()
		var err error
		w.opts.Zone, err = time.LoadLocation(zone)
		testkit.Must(t, err)
		now := time.Date(2026, 3, 31, 0, 30, 0, 0, time.UTC)
		_, err = w.store.Create(t.Context(), store.New{PageID: 1, FormID: "named", Created: time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC)})
		testkit.Must(t, err)
		w.rewritten("named", "1 month")
		k.keep = &store.Keep{Period: forms.Period{N: 1, Unit: "month"}, Since: now.Add(-store.Grace), Now: now}
		w.sweeps()
		n, err := w.countStored("named")
		if err != nil || n != want {
			t.Errorf("%s: %d are left, want %d; %v", zone, n, want, err)
		}
	}
}

// Sweeps come at the start and after each interval. One that fails is logged.
func TestRunSweeps(t *testing.T) {
	w := newWorld(t)
	k := w.watches()
	w.rewritten("named", "90 days")
	w.stored(100 * day)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.RunSweeps(ctx, time.Millisecond, slog.New(slog.DiscardHandler)) })
	testkit.Eventually(t, "the keep is stored", func() bool {
		keep, err := w.store.Keep(t.Context(), 1, "named")
		return err == nil && keep.Period.N == 90
	})
	w.passes(store.Grace)
	testkit.Eventually(t, "it is deleted", func() bool {
		n, err := w.countStored("named")
		return err == nil && n == 0
	})
	cancel()
	running.Wait()

	w.stored(0)
	w.rewritten("named", "91 days")
	k.setKeep = func() error { return errors.New("broken") }
	var log bytes.Buffer
	ended, end := context.WithCancel(t.Context())
	w.RunSweeps(ended, time.Hour, slog.New(slog.NewTextHandler(writerFunc(func(line []byte) { log.Write(line); k.setKeep = nil; end() }), nil)))
	keep, err := w.store.Keep(t.Context(), 1, "named")
	if err != nil || keep.Period.N != 91 {
		t.Errorf("after the end, the store has %+v, %v", keep, err)
	}
	if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "error=broken") {
		t.Errorf("the log: %s", said)
	}
}

// Keeps are stored between sweeps, too, and again if that has failed.
func TestKeepsBetweenSweeps(t *testing.T) {
	w, stores := newWorld(t), 0
	w.watches().setKeep = func() error { stores++; return errors.New("broken") }
	w.rewritten("named", "30 days")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*storeKeepsInterval+time.Second)
		defer cancel()
		w.RunSweeps(ctx, time.Hour, slog.New(slog.DiscardHandler))
		testkit.Same(t, "tries", stores, 4) // the last one at the end
	})
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// countStored counts the submissions of a form of page 1.
func (w *world) countStored(formID string) (int, error) {
	tallies, err := w.store.Tallies(w.t.Context(), []store.New{{PageID: 1, FormID: formID, Limit: store.MaxLimit}})
	if err != nil {
		return 0, err
	}
	return tallies[0].Count, nil
}
