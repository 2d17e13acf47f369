package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var keepTests = []test{
	{"set, changed and taken back", testKeeps},
	{"a change waits for a day", testKeepInForce},
	{"set by several at a time", testKeepConcurrency},
	{"copied and cleared", testKeepsCopied},
	{"one that can't be read", testKeepDamaged},
	{"alone", testAlone},
}

// setKeep sets that of form "form" on page 1.
func (b *bench) setKeep(t *testing.T, keep string) {
	t.Helper()
	period, err := forms.ParsePeriod(keep)
	if err == nil {
		err = b.SetKeep(ctx, 1, "form", period)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) keep(t *testing.T) store.Keep {
	t.Helper()
	keep, err := b.Keep(ctx, 1, "form")
	if err != nil {
		t.Fatal(err)
	}
	return keep
}

func (b *bench) keeps(t *testing.T) []store.Keep {
	t.Helper()
	keeps, err := b.Keeps(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range keeps {
		keeps[i].Now = time.Time{}
	}
	return keeps
}

// inForce checks what counts now, and what the page says.
func (b *bench) inForce(t *testing.T, what, want, period string) {
	t.Helper()
	k := b.keep(t)
	Same(t, what, []string{k.InForce(k.Now).String(), k.Period.String()}, []string{want, period})
}

// passDay lets a day pass for what is set.
func (b *bench) passDay(t *testing.T) {
	t.Helper()
	b.sql(t, b.Engine, b.dir, `UPDATE keeps SET since = since - 86400000 RETURNING keep`)
}

func testKeeps(t *testing.T, b *bench) {
	b.setKeep(t, "")
	Same(t, "for ever", b.keep(t), store.Keep{})
	Same(t, "rows", len(b.keeps(t)), 0)
	b.setKeep(t, "90 days")
	first := b.keep(t)
	if age := first.Now.Sub(first.Since); age < 0 || age > time.Minute || time.Since(first.Now).Abs() > time.Minute {
		t.Errorf("set at %v, read at %v", first.Since, first.Now)
	}
	want := store.Keep{PageID: 1, FormID: "form", Period: forms.Period{N: 90, Unit: "day"}, Since: first.Since}
	Same(t, "keeps", b.keeps(t), []store.Keep{want})
	b.reopen(t)
	b.setKeep(t, "90 days")
	Same(t, "set again", b.keeps(t), []store.Keep{want})
	month := forms.Period{N: 1, Unit: "month"}
	for _, key := range []store.Key{{PageID: 12, FormID: "form"}, {PageID: 2, FormID: "form"}, {PageID: 1, FormID: "a"}, {PageID: 1, FormID: "Z"}} {
		if err := b.SetKeep(ctx, key.PageID, key.FormID, month); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	for _, k := range b.keeps(t) {
		order = append(order, fmt.Sprint(k.PageID, k.FormID, " ", k.Period))
	}
	Same(t, "order", order, []string{"1Z 1 month", "1a 1 month", "1form 90 days", "2form 1 month", "12form 1 month"})
	b.setKeep(t, "")
	Same(t, "taken back", b.keep(t).Period, forms.Period{})
	Same(t, "the others", len(b.keeps(t)), 4)
}

func testKeepInForce(t *testing.T, b *bench) {
	b.setKeep(t, "1 year")
	b.inForce(t, "new", "", "1 year")
	b.passDay(t)
	b.inForce(t, "a day later", "1 year", "1 year")
	b.setKeep(t, "1 day")
	b.inForce(t, "mistyped", "1 year", "1 day")
	b.reopen(t)
	b.inForce(t, "after a restart", "1 year", "1 day")
	b.setKeep(t, "1 year")
	b.passDay(t)
	b.setKeep(t, "1 day")
	b.inForce(t, "mistyped again", "1 year", "1 day")
	b.passDay(t)
	b.inForce(t, "a day later", "1 day", "1 day")
	b.setKeep(t, "2 days")
	b.inForce(t, "longer", "2 days", "2 days")
	b.setKeep(t, "")
	b.inForce(t, "taken back", "", "")
	b.setKeep(t, "1 day")
	b.inForce(t, "taken back and written again", "", "1 day")
	b.setKeep(t, "3 days")
	b.passDay(t)
	b.inForce(t, "changed within the day", "3 days", "3 days")
}

// testKeepConcurrency: none fails because of another.
func testKeepConcurrency(t *testing.T, b *bench) {
	NoErrors(t, "set", Parallel(8, func(i int) error {
		for n := range 20 {
			if err := b.SetKeep(ctx, 1, "form", forms.Period{N: 1 + (i+n)%3, Unit: "week"}); err != nil {
				return err
			}
		}
		return nil
	}))
	b.inForce(t, "within the day", "", b.keep(t).Period.String())
}

func testKeepsCopied(t *testing.T, b *bench) {
	b.setKeep(t, "1 year")
	b.passDay(t)
	b.setKeep(t, "1 day")
	to := b.another(t)
	to.setKeep(t, "5 years")
	if err := to.LoadKeeps(ctx, b.keeps(t)); err != nil {
		t.Fatal(err)
	}
	Same(t, "copied", to.keeps(t), b.keeps(t))
	to.inForce(t, "copied", "1 year", "1 day")
	to.clear(t)
	Same(t, "cleared", len(to.keeps(t)), 0)
}

func testKeepDamaged(t *testing.T, b *bench) {
	for _, column := range []string{"keep", "before"} {
		b.setKeep(t, "")
		b.setKeep(t, "1 day")
		b.sql(t, b.Engine, b.dir, `UPDATE keeps SET `+column+` = 'soon' RETURNING keep`)
		if found, err := b.Keeps(ctx); err == nil {
			t.Errorf("%s: %v", column, found)
		}
		b.sql(t, b.Engine, b.dir, `DELETE FROM keeps RETURNING keep`)
	}
}

// testAlone: the store can be used within the call. See the tests of engines for several servers.
func testAlone(t *testing.T, b *bench) {
	refused := errors.New("refused")
	for range 2 {
		err := b.Alone(ctx, func() error {
			b.create(t, sample("form", "amy", "x"))
			return refused
		})
		if err != refused { //nolint:errorlint // as it is, not wrapped
			t.Errorf("%v, want %v itself", err, refused)
		}
	}
	Same(t, "calls", len(b.all(t, "form")), 2)
}

// keepCalls are one of each method.
func (b *bench) keepCalls(ctx context.Context) map[string]error {
	_, keep := b.Keep(ctx, 1, "form")
	_, keeps := b.Keeps(ctx)
	return map[string]error{
		"keep": keep, "keeps": keeps, "set keep": b.SetKeep(ctx, 1, "form", forms.Period{N: 1, Unit: "day"}), "load keeps": b.LoadKeeps(ctx, nil),
	}
}
