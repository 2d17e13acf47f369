package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var modelTests = []test{
	{"does what a list in memory does", testModel},
}

// model is the simplest possible store: a list, in the order of ids. It takes the
// ids from the store under test, because an engine may leave gaps, and checks that
// they ascend.
type model struct {
	rows []row
	last int64 // id
}

type row struct {
	record
	submitterKey, request, body string // request is store.New.Key
}

func (m *model) blocked(n store.New) bool {
	return n.SubmitterKey != "" && slices.ContainsFunc(m.rows, func(r row) bool {
		sameForm := r.PageID == n.PageID && r.FormID == n.FormID
		return sameForm && (r.submitterKey == n.SubmitterKey || (n.Username != "" && r.Username == n.Username))
	})
}

// numbered returns the entries of a submission as they must be stored.
func numbered(id int64, sent []forms.Entry) []forms.Entry {
	want, last := slices.Clone(sent), int64(0)
	for _, e := range want {
		last = max(last, e.ID%8192)
	}
	for i := range want {
		if want[i].ID == 0 {
			last++
			want[i].ID = 8192*id + last
		}
	}
	return want
}

func (m *model) index(key store.Key) int {
	return slices.IndexFunc(m.rows, func(r row) bool { return r.key() == key })
}

func (m *model) records() []record {
	records := make([]record, len(m.rows))
	for i, r := range m.rows {
		records[i] = r.record
	}
	return records
}

// machine draws operations and applies each to the store and to the model.
type machine struct {
	*bench
	*model
	page int64
}

// testModel uses one database for all runs, each on pages of its own: opening
// one is slow, and ids must go on ascending anyway.
func testModel(t *testing.T, b *bench) {
	m, page := &model{}, int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		page += 2
		x := &machine{bench: b, model: m, page: page}
		rt.Repeat(map[string]func(*rapid.T){
			"create": x.doCreate,
			"get":    x.doGet,
			"update": x.doUpdate,
			"delete": x.doDelete,
			"scan":   x.doScan,
			"latest": x.doLatest,
			"reopen": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "reopen when 0") == 0 {
					b.reopen(t)
				}
			},
		})
	})
}

var (
	drawForm  = rapid.SampledFrom([]string{"form", "Form"})
	drawUser  = rapid.SampledFrom([]string{"", "amy", "Amy"})
	drawField = rapid.SampledFrom([]string{"a", "b", "c", `d"`})
	drawValue = rapid.OneOf(rapid.SampledFrom(texts), rapid.StringN(0, 20, -1))
)

func (x *machine) drawPage(rt *rapid.T) int64 {
	return x.page + rapid.Int64Range(0, 1).Draw(rt, "page")
}

func (x *machine) doCreate(rt *rapid.T) {
	n := store.New{
		PageID: x.drawPage(rt), FormID: drawForm.Draw(rt, "form"), Username: drawUser.Draw(rt, "user"),
		Created: time.UnixMilli(rapid.Int64Range(-1e12, 4e12).Draw(rt, "created")).UTC(),
	}
	if rapid.Bool().Draw(rt, "submitter key") {
		n.SubmitterKey = "user " + n.Username
		if n.Username == "" {
			n.SubmitterKey = rapid.SampledFrom([]string{"key1", "key2"}).Draw(rt, "key")
		}
	}
	for _, field := range rapid.SliceOfNDistinct(drawField, 0, 4, rapid.ID).Draw(rt, "fields") {
		n.Entries = append(n.Entries, forms.Entry{FieldID: field, Value: drawable(drawValue.Draw(rt, "value"))})
	}
	sub, err := x.Create(ctx, n)
	if x.blocked(n) {
		if !errors.Is(err, store.ErrAlreadySubmitted) {
			rt.Fatalf("create: %v, want %v", err, store.ErrAlreadySubmitted)
		}
		return
	}
	if err != nil || sub.ID <= x.last {
		rt.Fatalf("create: %v, id %d after %d", err, sub.ID, x.last)
	}
	got := decode(rt, sub)
	want := record{ID: sub.ID, PageID: n.PageID, FormID: n.FormID, Username: n.Username, Created: n.Created}
	want.Entries = numbered(sub.ID, n.Entries)
	Same(rt, "created", got, want)
	x.last = sub.ID
	x.rows = append(x.rows, row{want, n.SubmitterKey, n.Key, n.Body})
}

// drawable removes NUL, which never reaches a store.
func drawable(s string) string {
	return string(slices.DeleteFunc([]rune(s), func(r rune) bool { return r == 0 }))
}

// drawKey draws a key, mostly that of a stored submission of this run.
func (x *machine) drawKey(rt *rapid.T) store.Key {
	keys := []store.Key{{PageID: x.page, FormID: "form", ID: x.last + 1}}
	for _, r := range x.rows {
		if r.PageID >= x.page {
			other := r.key()
			other.FormID = drawForm.Draw(rt, "form")
			keys = append(keys, r.key(), r.key(), other)
		}
	}
	return rapid.SampledFrom(keys).Draw(rt, "key")
}

// missing reports whether the model has no such submission, and checks that the
// outcome of the operation agrees.
func (x *machine) missing(rt *rapid.T, key store.Key, err error) bool {
	if x.index(key) >= 0 {
		if err != nil {
			rt.Fatalf("%+v: %v", key, err)
		}
		return false
	}
	if !errors.Is(err, store.ErrNotFound) {
		rt.Fatalf("%+v: %v, want %v", key, err, store.ErrNotFound)
	}
	return true
}

func (x *machine) doGet(rt *rapid.T) {
	key := x.drawKey(rt)
	sub, err := x.Get(ctx, key)
	if !x.missing(rt, key, err) {
		Same(rt, "found", decode(rt, sub), x.rows[x.index(key)].record)
	}
}

func (x *machine) doUpdate(rt *rapid.T) {
	key := x.drawKey(rt)
	var sent []forms.Entry
	if i := x.index(key); i >= 0 {
		drop := drawField.Draw(rt, "drop")
		for _, e := range x.rows[i].Entries {
			if e.FieldID == drop {
				continue
			}
			e.Value += "+"
			sent = append(sent, e)
		}
		sent = append(sent, forms.Entry{FieldID: fmt.Sprint("new", len(sent)), Value: drawable(drawValue.Draw(rt, "value"))})
	}
	sub, err := x.Update(ctx, key, func(forms.Submission) (store.Change, error) { return store.Change{Entries: sent}, nil })
	if x.missing(rt, key, err) {
		return
	}
	got, want := decode(rt, sub), &x.rows[x.index(key)].record
	want.Entries = numbered(sub.ID, sent)
	Same(rt, "updated", got, *want)
}

func (x *machine) doDelete(rt *rapid.T) {
	key := x.drawKey(rt)
	if !x.missing(rt, key, x.Delete(ctx, key, nil)) {
		i := x.index(key)
		x.rows = slices.Delete(x.rows, i, i+1)
	}
}

func (x *machine) doScan(rt *rapid.T) {
	q := store.Query{
		PageID: x.drawPage(rt), FormID: drawForm.Draw(rt, "form"), Descending: rapid.Bool().Draw(rt, "descending"),
		Limit: rapid.IntRange(0, 4).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "by user") {
		user := drawUser.Draw(rt, "user")
		q.Username = &user
	}
	if rapid.Bool().Draw(rt, "after") {
		q.After = x.drawKey(rt).ID
	}
	Same(rt, fmt.Sprintf("scan %+v", q), x.scan(rt, q), choose(x.records(), q))
}
