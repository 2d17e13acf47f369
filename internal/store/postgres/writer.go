package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

const (
	// maxBatch bounds the rows of one statement, and with it the latency of the
	// first of them.
	maxBatch = 512

	// maxBatchBytes bounds the size of one statement: a submission may be as
	// large as a request.
	maxBatchBytes = 4 << 20

	// workers is how many statements are in flight at a time: while one waits
	// for the disk, the next is sent.
	workers = 2
)

// writer stores new submissions in batches: each worker takes everything that
// is queued and stores it with one statement. Many concurrent callers share
// the cost of the round trips and of the flush to disk.
type writer struct {
	store   *Store
	queue   *engine.Queue[*creation]
	stopped sync.WaitGroup
}

// creation is one call of Create.
type creation struct {
	new    store.New
	stored forms.Submission
}

type operation = engine.Op[*creation]

func startWriter(s *Store, workers int) *writer {
	w := &writer{store: s, queue: engine.NewQueue[*creation](maxBatch)}
	for range workers {
		w.stopped.Go(w.run)
	}
	return w
}

// close stores what is queued and stops the workers.
func (w *writer) close() {
	w.queue.Close()
	w.stopped.Wait()
}

// run is one worker. It returns when the queue is closed and empty.
func (w *writer) run() {
	batch := w.queue.Next(nil)
	for len(batch) > 0 {
		w.store.createAll(batch)
		batch = w.queue.Next(batch)
	}
}

// createAll stores a batch, in as many statements as its size requires, and
// answers all callers in it.
func (s *Store) createAll(batch []*operation) {
	for rest := engine.Take(batch); len(rest) > 0; {
		n := s.createSome(rest)
		for _, op := range rest[:n] {
			op.Done()
		}
		rest = rest[n:]
	}
}

// createSome stores as many of the operations as fit one statement, sets the
// outcome of each and returns how many there were. After a panic all operations
// fail. None is tried again, because some may be stored.
func (s *Store) createSome(ops []*operation) (done int) {
	err := engine.Protect(func() error {
		done = statementSize(ops)
		s.create(ops[:done])
		return nil
	})
	if err == nil {
		return done
	}
	for _, op := range ops {
		op.Err = err
	}
	return len(ops)
}

// statementSize returns how many of the operations fit one statement.
func statementSize(ops []*operation) int {
	bytes := 0
	for i, op := range ops {
		for _, e := range op.Value.new.Entries {
			bytes += 64 + 2*len(e.FieldID) + len(e.Value)
		}
		if bytes >= maxBatchBytes {
			return i + 1
		}
	}
	return len(ops)
}

// create stores submissions with one statement and sets the outcome of each
// operation. If the statement fails, a single row may be the cause, for instance
// by a character that the database can't store. Then each is stored by itself.
func (s *Store) create(ops []*operation) {
	err := s.insert(ops)
	if err == nil {
		return
	}
	if len(ops) == 1 || errors.Is(err, store.ErrUnavailable) {
		for _, op := range ops {
			op.Err = err
		}
		return
	}
	for i := range ops {
		s.create(ops[i : i+1])
	}
}

// insert allocates ids and stores the submissions under them.
func (s *Store) insert(ops []*operation) error {
	var b *batch
	err := s.do(context.Background(), func(ctx context.Context, conn *pgx.Conn) (err error) {
		if b, err = prepareBatch(ctx, conn, ops); err != nil {
			return err
		}
		return b.insert(ctx, conn)
	})
	if err != nil {
		return err
	}
	for i, op := range b.ops {
		op.Value.stored = b.submission(i)
	}
	return nil
}

// prepareBatch allocates ids right before they are used. So ids are in the order
// of time across all processes.
func prepareBatch(ctx context.Context, conn *pgx.Conn, ops []*operation) (*batch, error) {
	ids, err := queryIDs(ctx, conn, sqlTakeIDs, len(ops))
	if err != nil {
		return nil, err
	}
	return newBatch(ops, ids)
}

// conflictError is the error of a row that sqlCreate did not store, and whose
// key is not used now.
func conflictError(n store.New, id int64) error {
	switch {
	case n.SubmitterKey != "":
		return store.ErrAlreadySubmitted
	case n.Key != "":
		return store.ErrKeyUsed // it was used, by a submission that was deleted in the meantime
	}
	return fmt.Errorf("create: submission %d exists already: the sequence submission_ids is behind the table", id)
}

// batch holds the rows of one statement, column by column.
type batch struct {
	ops           []*operation
	pages         []int64
	forms         []string
	ids           []int64
	usernames     []string
	created       []int64
	submitterKeys []string
	fields        pgtype.FlatArray[[]byte]
	// These are nil as long as no row has such a value.
	keys, bodies []string
	files        pgtype.FlatArray[[]byte]
}

func newBatch(ops []*operation, ids []int64) (*batch, error) {
	type numbered struct {
		op     *operation
		id     int64
		fields forms.Entries
	}
	rows := make([]numbered, len(ops))
	for i, op := range ops {
		entries, err := forms.NumberEntries(ids[i], op.Value.new.Entries)
		if err != nil {
			return nil, err
		}
		rows[i] = numbered{op, ids[i], forms.EncodeEntries(make([]byte, 0, 96*len(entries)+2), entries)}
	}
	// All statements insert their keys in the same order, so that two
	// statements with the same keys can't deadlock.
	slices.SortStableFunc(rows, func(x, y numbered) int {
		a, b := &x.op.Value.new, &y.op.Value.new
		return cmp.Or(cmp.Compare(a.PageID, b.PageID), cmp.Compare(a.FormID, b.FormID), cmp.Compare(a.SubmitterKey, b.SubmitterKey), cmp.Compare(a.Key, b.Key))
	})
	b := &batch{}
	for _, row := range rows {
		if err := b.add(row.op, row.id, row.fields); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *batch) add(op *operation, id int64, fields []byte) error {
	n := &op.Value.new
	b.ops = append(b.ops, op)
	sub := forms.Submission{
		ID: id, PageID: n.PageID, FormID: n.FormID, Username: n.Username, Created: n.Created, Entries: fields, Files: n.Files,
	}
	return b.addRow(store.Record{Submission: sub, SubmitterKey: n.SubmitterKey, Key: n.Key, Body: n.Body})
}

func (b *batch) addRow(r store.Record) error {
	files, err := forms.EncodeFiles(r.Files)
	if err != nil {
		return err
	}
	b.pages, b.forms, b.ids = append(b.pages, r.PageID), append(b.forms, r.FormID), append(b.ids, r.ID)
	b.usernames = append(b.usernames, r.Username)
	b.created = append(b.created, r.Created.UnixMilli())
	b.submitterKeys = append(b.submitterKeys, r.SubmitterKey)
	b.fields = append(b.fields, r.Entries)
	if r.Key != "" || b.keys != nil {
		b.keys = append(padded(b.keys, len(b.ids)-1), r.Key)
		b.bodies = append(padded(b.bodies, len(b.ids)-1), r.Body)
	}
	if files != nil || b.files != nil {
		b.files = append(padded(b.files, len(b.ids)-1), files)
	}
	return nil
}

// padded returns a column with zero values for the rows before that have none.
func padded[S ~[]T, T any](column S, rows int) S {
	if column == nil {
		return make(S, rows, rows+1)
	}
	return column
}

func (b *batch) columns() []any {
	return []any{b.pages, b.forms, b.ids, b.usernames, b.created, b.submitterKeys, b.fields, b.keys, b.bodies, b.files}
}

// isPlain reports whether no row has a limit, a key or files.
func (b *batch) isPlain() bool {
	return b.keys == nil && b.files == nil && !slices.ContainsFunc(b.submitterKeys, func(key string) bool { return key != "" })
}

// insert stores the batch and sets the outcome of each operation.
func (b *batch) insert(ctx context.Context, conn *pgx.Conn) error {
	if b.isPlain() {
		_, err := conn.Exec(ctx, sqlInsertPlain, b.pages, b.forms, b.ids, b.usernames, b.created, b.fields)
		switch {
		case err == nil:
			return nil
		case serverCode(err) != codeUniqueViolation:
			return commitError(conn, fmt.Errorf("create: %w", err))
		}
		// One of the ids is taken. The other rows must be stored all the same.
	}
	refused, err := b.insertEach(ctx, conn)
	if err != nil {
		return commitError(conn, err)
	}
	b.findUsedKeys(ctx, conn, refused)
	return nil
}

// insertEach stores the rows that violate nothing, sets the outcome of each
// operation, and returns the operations whose rows were refused.
func (b *batch) insertEach(ctx context.Context, conn *pgx.Conn) (refused map[int64]*operation, err error) {
	stored, err := queryIDs(ctx, conn, sqlCreate, b.columns()...)
	if err != nil {
		return nil, err
	}
	refused = make(map[int64]*operation, len(b.ids))
	for i, op := range b.ops {
		op.Err = conflictError(op.Value.new, b.ids[i])
		refused[b.ids[i]] = op
	}
	for _, id := range stored {
		refused[id].Err = nil
		delete(refused, id)
	}
	return refused, nil
}

// findUsedKeys sets the outcome of the refused rows whose key is stored. If that
// can't be found out, they fail alone: the other rows are stored.
func (b *batch) findUsedKeys(ctx context.Context, conn *pgx.Conn, refused map[int64]*operation) {
	if b.keys == nil || len(refused) == 0 {
		return
	}
	used, err := queryIDs(ctx, conn, sqlKeysUsed, b.columns()...)
	if err != nil {
		for _, op := range refused {
			op.Err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return
	}
	for _, id := range used {
		if op := refused[id]; op != nil {
			op.Err = store.ErrKeyUsed
		}
	}
}

func queryIDs(ctx context.Context, conn *pgx.Conn, sql string, args ...any) ([]int64, error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	return ids, nil
}

func (b *batch) submission(i int) forms.Submission {
	n := &b.ops[i].Value.new
	return forms.Submission{
		ID: b.ids[i], PageID: n.PageID, FormID: n.FormID, Username: n.Username,
		Created: n.Created.Truncate(time.Millisecond).UTC(), Entries: b.fields[i], Files: slices.Clone(n.Files),
	}
}
