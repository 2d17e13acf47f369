// Package chunk reads long lists chunk by chunk. Each chunk is one short read:
// a slow client delays no other request, and memory does not grow with the list.
package chunk

import (
	"context"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	// MaxBytes is how much text a chunk holds; its last row may exceed it.
	MaxBytes = 256 << 10
	// MaxRows bounds a chunk of submissions without entries, which have next to no bytes.
	MaxRows = 4096
)

// Chunk is a run of rows copied out of a database; all entries share one buffer.
type Chunk struct {
	// Last is set by the Reader when no row follows.
	Last bool

	rows []row
	text []byte
}

type row struct {
	id, created int64
	username    string
	end         int // of its entries in text
}

var pool = sync.Pool{New: func() any { return &Chunk{text: make([]byte, 0, MaxBytes+8<<10)} }}

func (c *Chunk) recycle() {
	if cap(c.text) <= 2*MaxBytes { // the buffer of a huge row is left to the garbage collector
		pool.Put(c)
	}
}

// Reset empties the chunk.
func (c *Chunk) Reset() { c.rows, c.text, c.Last = c.rows[:0], c.text[:0], false }

// Add appends a row. username and fields are copied; created is in
// milliseconds since 1970.
func (c *Chunk) Add(id, created int64, username, fields []byte) {
	var name string
	if n := len(c.rows); n > 0 && c.rows[n-1].username == string(username) {
		name = c.rows[n-1].username // consecutive rows often have the same user: share the text
	} else {
		name = string(username)
	}
	c.text = append(c.text, fields...)
	c.rows = append(c.rows, row{id: id, created: created, username: name, end: len(c.text)})
}

// Full reports whether the chunk holds enough, or all that the query asks for.
func (c *Chunk) Full(q store.Query) bool {
	return len(c.text) >= MaxBytes || len(c.rows) >= MaxRows || q.Limit > 0 && len(c.rows) >= q.Limit
}

// Len is the number of rows.
func (c *Chunk) Len() int { return len(c.rows) }

// Bytes is how much text the rows have.
func (c *Chunk) Bytes() int { return len(c.text) }

// Reader fills a chunk with the first rows that a query selects.
type Reader func(ctx context.Context, c *Chunk, q store.Query) error

// Scan visits all rows of a query, in the order in which read delivers them.
func (read Reader) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	c := pool.Get().(*Chunk)
	defer c.recycle()
	for more := true; more; {
		c.Reset()
		if err := read(ctx, c, q); err != nil || c.Len() == 0 {
			return err
		}
		if err := c.visit(q, visit); err != nil {
			return err
		}
		q, more = c.nextQuery(q)
	}
	return nil
}

// nextQuery returns the query for the rows after the chunk that q has read, and
// whether there may be any.
func (c *Chunk) nextQuery(q store.Query) (rest store.Query, more bool) {
	rest = q
	rest.After = c.rows[len(c.rows)-1].id
	if q.Limit > 0 {
		rest.Limit -= len(c.rows)
		return rest, rest.Limit > 0 && !c.Last
	}
	return rest, !c.Last
}

func (c *Chunk) visit(q store.Query, visit func(forms.Submission) error) error {
	start := 0
	for _, row := range c.rows {
		err := visit(forms.Submission{
			ID: row.id, PageID: q.PageID, FormID: q.FormID, Username: row.username,
			Created: time.UnixMilli(row.created).UTC(),
			Entries: c.text[start:row.end:row.end],
		})
		if err != nil {
			return err
		}
		start = row.end
	}
	return nil
}
