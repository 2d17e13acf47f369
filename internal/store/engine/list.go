package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
)

const (
	// MaxListBytes is how much text Rows hold; the last row may exceed it.
	MaxListBytes = 256 << 10
	// MaxListRows bounds submissions without entries, which have next to no bytes.
	MaxListRows = 4096
	// FirstRows bounds the first part of a list: most lists are not longer, and the
	// size of the rows is not known yet.
	FirstRows = 128
)

// Rows are a part of a list, copied out of a database; all entries share one
// buffer. Each part is one short read: a slow client delays no other request, and
// memory does not grow with the list.
type Rows struct {
	// Limit is how many rows these may become. A database may send all rows of a
	// query even if the part is full before: the query should have this limit.
	Limit int
	// Last is set by the ListReader when no row follows. It is if there are no rows.
	Last bool

	List []row
	Text []byte // of all entries and files
}

type row struct {
	id, created int64
	username    string
	end         int   // of its entries in text
	next        int   // where the next row's text begins: its files come first, if the query asks for them
	changed     int64 // if the query asks for it, as changer
	changer     string
}

var pool = sync.Pool{New: func() any { return &Rows{Text: make([]byte, 0, MaxListBytes+8<<10)} }}

func (r *Rows) recycle() {
	if cap(r.Text) <= 2*MaxListBytes { // the buffer of a huge row is left to the garbage collector
		pool.Put(r)
	}
}

// Reset removes all rows.
func (r *Rows) Reset() { r.List, r.Text, r.Last = r.List[:0], r.Text[:0], false }

// Add appends a row. username and fields are copied; created is in
// milliseconds since 1970.
func (r *Rows) Add(id, created int64, username, fields []byte) {
	var name string
	if n := len(r.List); n > 0 && r.List[n-1].username == string(username) {
		name = r.List[n-1].username // consecutive rows often have the same user: share the text
	} else {
		name = string(username)
	}
	r.Text = append(r.Text, fields...)
	r.List = append(r.List, row{id: id, created: created, username: name, end: len(r.Text), next: len(r.Text)})
}

// AddChange adds the files and the last change to the row that was added last. at is in milliseconds
// since 1970.
func (r *Rows) AddChange(files []byte, at int64, by []byte) {
	row := &r.List[len(r.List)-1]
	r.Text = append(r.Text, files...)
	row.next = len(r.Text)
	row.changed, row.changer = at, row.username
	if row.username != string(by) { // mostly it is the submitter: share the text
		row.changer = string(by)
	}
}

// Full reports whether these are enough.
func (r *Rows) Full() bool { return len(r.Text) >= MaxListBytes || len(r.List) >= r.Limit }

// ListReader fills Rows with the first rows that a query selects, until they are full.
type ListReader func(ctx context.Context, r *Rows, q store.Query) error

// part is what reading Rows has come to.
type part struct {
	rows *Rows
	err  error
}

// Scan yields all rows of a query, in the order in which read delivers them. The
// first rows are yielded before more are read: often they are enough. From then on
// the next rows are read while these are yielded: the database and the answer to the
// client share the cores.
func (read ListReader) Scan(ctx context.Context, all store.Query) store.Submissions {
	return Sequence(func(yield func(forms.Submission) bool) error {
		q := all
		if len(q.IDs) > store.MaxIDs {
			return fmt.Errorf("a query has %d ids, at most %d are allowed", len(q.IDs), store.MaxIDs)
		}
		if q.IDs != nil {
			q.Descending, q.After = false, 0
		}
		var reading sync.WaitGroup
		defer reading.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ahead := make(chan part, 1)
		p := read.part(ctx, q, FirstRows)
		for first := true; p.err == nil; first = false {
			rest, more := p.rows.nextQuery(q)
			limit := p.rows.nextLimit()
			if more && !first {
				reading.Go(func() { ahead <- read.part(ctx, rest, limit) })
			}
			goesOn, err := p.rows.yield(q, yield)
			p.rows.recycle()
			switch {
			case err != nil || !goesOn || !more:
				return err
			case first:
				p = read.part(ctx, rest, limit)
			default:
				p = <-ahead
			}
			q = rest
		}
		return p.err
	})
}

// part reads the first rows of a query, at most limit.
func (read ListReader) part(ctx context.Context, q store.Query, limit int) part {
	r := pool.Get().(*Rows)
	r.Reset()
	if r.Limit = limit; q.Limit > 0 {
		r.Limit = min(limit, q.Limit)
	}
	if len(q.IDs) > r.Limit {
		q.IDs = q.IDs[:r.Limit]
	}
	return part{r, panics.ToError(func() error { return read(ctx, r, q) })}
}

// nextLimit returns how many rows of the average size fill a part.
func (r *Rows) nextLimit() int {
	average := len(r.Text)/max(len(r.List), 1) + 1
	return min(max(MaxListBytes/average, 1), MaxListRows)
}

// nextQuery returns the query for the rows after those that q has read, and
// whether there may be any.
func (r *Rows) nextQuery(q store.Query) (rest store.Query, more bool) {
	rest, more = q, !r.Last
	switch {
	case q.IDs == nil && more:
		rest.After = r.List[len(r.List)-1].id
	case q.IDs != nil:
		read := min(r.Limit, len(q.IDs)) // so many ids the part has asked for
		if more {
			read = slices.Index(q.IDs, r.List[len(r.List)-1].id) + 1
		}
		rest.IDs = q.IDs[read:]
		more = len(rest.IDs) > 0
	}
	if q.Limit > 0 {
		rest.Limit -= len(r.List)
		more = more && rest.Limit > 0
	}
	return rest, more
}

func (r *Rows) yield(q store.Query, yield func(forms.Submission) bool) (goesOn bool, err error) {
	start := 0
	for i := range r.List {
		row := &r.List[i]
		sub := forms.Submission{
			ID: row.id, PageID: q.PageID, FormID: q.FormID, Username: row.username,
			Created: time.UnixMilli(row.created).UTC(),
			Entries: r.Text[start:row.end:row.end],
		}
		if q.Changes {
			sub.Changed, sub.Changer = time.UnixMilli(row.changed).UTC(), row.changer
			if sub.Files, err = forms.DecodeFiles(r.Text[row.end:row.next]); err != nil {
				return false, err
			}
		}
		if !yield(sub) {
			return false, nil
		}
		start = row.next
	}
	return true, nil
}
