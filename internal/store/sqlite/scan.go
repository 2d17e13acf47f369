package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// chunkBytes and chunkRows are how much of a list is read at a time. Each
// chunk is a short read of its own, so that a slow client holds up nobody.
const (
	chunkBytes = 256 << 10
	chunkRows  = 4096 // submissions without entries have next to no bytes
)

// chunk is a run of rows copied out of the database; all entries share one buffer.
type chunk struct {
	rows []chunkRow
	text []byte
	last bool // there were no more rows
}

type chunkRow struct {
	id, created int64
	username    string
	end         int // of its entries in text
}

var chunks = sync.Pool{New: func() any { return &chunk{text: make([]byte, 0, chunkBytes+8<<10)} }}

// Scan implements store.Store. The next chunk is read while the current one is
// visited, so that reading and sending a list share the work of two cores.
func (s *Store) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	current := takeChunk()
	defer func() { current.giveBack() }()
	err := s.readChunk(ctx, current, q)
	for err == nil && len(current.rows) > 0 {
		rest, more := current.beyond(q)
		if !more {
			return current.visit(q, visit)
		}
		ahead := s.readAhead(ctx, rest)
		if err := current.visit(q, visit); err != nil {
			ahead.abandon()
			return err
		}
		current.giveBack()
		current, err = ahead.wait()
		q = rest
	}
	return err
}

func (s *Store) readChunk(ctx context.Context, c *chunk, q store.Query) error {
	return s.readers.with(ctx, func(stmts *readStmts) error { return c.read(stmts, q) })
}

// reading is a chunk that is being read.
type reading struct {
	chunk *chunk
	done  chan error
}

func (s *Store) readAhead(ctx context.Context, q store.Query) reading {
	r := reading{takeChunk(), make(chan error, 1)}
	go func() { r.done <- s.readChunk(ctx, r.chunk, q) }()
	return r
}

func (r reading) wait() (*chunk, error) {
	err := <-r.done
	return r.chunk, err
}

// abandon waits, too: the chunk is not free before.
func (r reading) abandon() {
	<-r.done
	r.chunk.giveBack()
}

func takeChunk() *chunk { return chunks.Get().(*chunk) }

func (c *chunk) giveBack() {
	if cap(c.text) <= 2*chunkBytes { // one huge row must not stay in memory for ever
		chunks.Put(c)
	}
}

// beyond returns the query for what follows the chunk that q has read, if there may be any.
func (c *chunk) beyond(q store.Query) (rest store.Query, more bool) {
	rest = q
	rest.After = c.rows[len(c.rows)-1].id
	if q.Limit > 0 {
		rest.Limit -= len(c.rows)
		return rest, rest.Limit > 0 && !c.last
	}
	return rest, !c.last
}

func (c *chunk) read(stmts *readStmts, q store.Query) error {
	c.rows, c.text, c.last = c.rows[:0], c.text[:0], false
	stmt := stmts.list[listKind{byUser: q.Username != nil, descending: q.Descending}]
	defer func() { _ = stmt.Reset() }()
	if err := bindList(stmt, q); err != nil {
		return err
	}
	username := ""
	for len(c.text) < chunkBytes && len(c.rows) < chunkRows && (q.Limit <= 0 || len(c.rows) < q.Limit) {
		if !stmt.Step() {
			c.last = true
			break
		}
		if raw := stmt.ColumnRawText(2); string(raw) != username {
			username = string(raw)
		}
		c.text = append(c.text, stmt.ColumnRawText(3)...)
		c.rows = append(c.rows, chunkRow{
			id: stmt.ColumnInt64(0), created: stmt.ColumnInt64(1), username: username, end: len(c.text),
		})
	}
	return stmt.Err()
}

func (c *chunk) visit(q store.Query, visit func(forms.Submission) error) error {
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
