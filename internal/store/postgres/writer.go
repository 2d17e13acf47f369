package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// workers is how many statements are in flight at a time: while one waits
// for the disk, the next is sent.
const workers = 2

// writer stores new submissions in batches: each worker takes everything that
// is queued and stores it with one statement. Many concurrent callers share
// the cost of the round trips and of the flush to disk.
type writer struct {
	queue   *engine.Queue[*creation]
	stopped sync.WaitGroup
}

// creation is one call of Create.
type creation struct {
	new    store.New
	stored store.Record // set before the statement
}

type operation = engine.Op[*creation]

// startWriter starts workers, which end when the queue is closed and empty.
func startWriter(s *Store, workers int) *writer {
	w := &writer{queue: engine.NewQueue[*creation](engine.MaxBatch)}
	for range workers {
		w.stopped.Go(func() {
			for batch := w.queue.Next(nil); len(batch) > 0; batch = w.queue.Next(batch) {
				s.createAll(batch)
			}
		})
	}
	return w
}

// close stores what is queued and stops the workers.
func (w *writer) close() {
	w.queue.Close()
	w.stopped.Wait()
}

// createAll stores a batch, in as many statements as its size requires, and
// answers all callers in it. After a panic the operations that are left fail. None is
// tried again, because some may be stored.
func (s *Store) createAll(batch []*operation) {
	rest := engine.Take(batch)
	err := panics.ToError(func() error {
		for len(rest) > 0 {
			n := statementSize(rest)
			s.create(context.Background(), rest[:n])
			for _, op := range rest[:n] {
				op.Done()
			}
			rest = rest[n:]
		}
		return nil
	})
	for _, op := range rest {
		op.Err = err
		op.Done()
	}
}

// statementSize returns how many of the operations fit one statement.
func statementSize(ops []*operation) int {
	bytes := 0
	for i, op := range ops {
		for _, e := range op.Value.new.Entries {
			bytes += 64 + 2*len(e.FieldID) + len(e.Value)
		}
		for _, e := range op.Value.new.Events {
			bytes += 200 + len(e.Title)
		}
		if bytes >= engine.MaxBatchBytes {
			return i + 1
		}
	}
	return len(ops)
}

// create stores submissions with one statement and sets the outcome of each
// operation. If the statement fails, a single row may be the cause, for instance
// by a character that the database can't store. Then each is stored by itself.
func (s *Store) create(ctx context.Context, ops []*operation) {
	err := s.insert(ctx, ops)
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
		s.create(ctx, ops[i:i+1])
	}
}

// insert allocates ids right before they are used, and stores the submissions under them, in one transaction. So
// ids are in the order of time across all processes. Another try takes others.
func (s *Store) insert(ctx context.Context, ops []*operation) error {
	return s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		ids, refusal, err := begin(ctx, conn, ops)
		if err != nil {
			return err
		}
		b, err := newBatch(ids, ops)
		if err != nil {
			return err
		}
		if ops[0].Value.needsOwnTx() {
			return b.insertInOwnTx(ctx, conn, refusal)
		}
		return b.insert(ctx, conn)
	})
}

// conflictError is the error of a row that sqlCreate did not store, and whose
// key is not used now.
func conflictError(c *creation) error {
	switch {
	case c.new.SubmitterKey != "":
		return store.ErrAlreadySubmitted
	case c.new.Key != "":
		return store.ErrKeyUsed // it was used, by a submission that was deleted in the meantime
	}
	return fmt.Errorf("submission %d exists already: the sequence submission_ids is behind the table", c.stored.ID)
}

// batch is the creates of one statement.
type batch []*operation

// newBatch gives ids to the creates. It sorts them by their keys, so that two statements with
// the same keys can't deadlock.
func newBatch(ids []int64, ops []*operation) (b batch, err error) {
	b = slices.Clone(ops)
	for i, op := range b {
		if op.Value.stored, err = engine.NewRecord(ids[i], &op.Value.new); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(b, func(x, y *operation) int {
		a, b := &x.Value.new, &y.Value.new
		return cmp.Or(cmp.Compare(a.PageID, b.PageID), cmp.Compare(a.FormID, b.FormID),
			cmp.Compare(a.SubmitterKey, b.SubmitterKey), cmp.Compare(a.Key, b.Key))
	})
	return b, nil
}

func (b batch) columns() []any {
	records := make([]store.Record, len(b))
	for i, op := range b {
		records[i] = op.Value.stored
	}
	return columns(records)
}

// withEvents returns a statement with its parameters, or the one that stores the events
// of the batch, too, if there are any.
func (b batch) withEvents(sql, told string, columns []any) (string, []any) {
	var events []store.Event
	for _, op := range b {
		n := &op.Value.new
		events = append(events, about(store.Key{PageID: n.PageID, FormID: n.FormID, ID: op.Value.stored.ID}, n.Events)...)
	}
	if len(events) == 0 {
		return sql, columns
	}
	return told, append(slices.Clip(columns), eventColumns(events)...)
}

// columns returns the parameters of sqlRows. The first six are those of
// sqlInsertPlain, before the definition.
func columns(records []store.Record) []any {
	n := len(records)
	pages, ids, created := make([]int64, n), make([]int64, n), make([]int64, n)
	definitions := make(pgtype.FlatArray[[16]byte], n)
	formIDs, usernames, submitterKeys := make([]string, n), make([]string, n), make([]string, n)
	keys, bodies := make([]string, n), make([]string, n)
	changed, changers := make([]*int64, n), make([]*string, n)
	fields, files := make(pgtype.FlatArray[[]byte], n), make(pgtype.FlatArray[[]byte], n)
	for i := range records {
		r := &records[i]
		pages[i], formIDs[i], ids[i] = r.PageID, r.FormID, r.ID
		usernames[i], created[i], fields[i] = r.Username, r.Created.UnixMilli(), r.Entries
		submitterKeys[i], keys[i], bodies[i] = r.SubmitterKey, r.Key, r.Body
		changed[i], changers[i] = lastChange(&r.Submission)
		files[i], definitions[i] = forms.EncodeFiles(r.Files), r.Definition.Hash
	}
	return []any{
		pages, formIDs, ids, usernames, created, fields, definitions, submitterKeys, keys, bodies, files, changed, changers,
	}
}

// insert stores the batch and sets the outcome of each operation.
func (b batch) insert(ctx context.Context, conn *pgx.Conn) error {
	columns := b.columns()
	first := &b[0].Value.new
	isPlain := func(op *operation) bool {
		n := &op.Value.new
		return n.SubmitterKey == "" && n.Key == "" && n.Definition.Hash == first.Definition.Hash
	}
	if !slices.ContainsFunc(b, func(op *operation) bool { return !isPlain(op) }) {
		plain := append(slices.Clip(columns[:6]), first.Definition.Hash)
		sql, plain := b.withEvents(sqlInsertPlain, sqlInsertPlainWithEvents, plain)
		steps := &pgx.Batch{}
		steps.Queue(sql, plain...)
		steps.Queue(`COMMIT`)
		err := conn.SendBatch(ctx, steps).Close()
		if serverCode(err) == codeUniqueViolation { // a row that can be stored is stored by itself
			err = conflictError(b[0].Value)
		}
		return commitError(conn, engine.Wrap(err, "create"))
	}
	refused, err := b.insertEach(ctx, conn, columns)
	if err != nil {
		return commitError(conn, err)
	}
	findUsedKeys(ctx, conn, refused, columns)
	return nil
}

// insertEach stores the rows that violate nothing, sets the outcome of each
// operation, and returns the operations whose rows were refused. It commits, unless
// the create has a transaction of its own.
func (b batch) insertEach(
	ctx context.Context, conn *pgx.Conn, columns []any,
) (refused map[int64]*operation, err error) {
	sql, columns := b.withEvents(sqlCreate, sqlCreateWithEvents, columns)
	var stored []int64
	steps := &pgx.Batch{}
	steps.Queue(sql, columns...).Query(collect(&stored))
	if !b[0].Value.needsOwnTx() {
		steps.Queue(`COMMIT`)
	}
	if err := conn.SendBatch(ctx, steps).Close(); err != nil {
		return nil, engine.Wrap(err, "create")
	}
	refused = make(map[int64]*operation, len(b))
	for _, op := range b {
		op.Err = conflictError(op.Value)
		refused[op.Value.stored.ID] = op
	}
	for _, id := range stored {
		refused[id].Err = nil
		delete(refused, id)
	}
	return refused, nil
}

// findUsedKeys sets the outcome of the refused rows whose key is stored. If that
// can't be found out, the rows with keys fail alone: the others are stored.
func findUsedKeys(ctx context.Context, conn *pgx.Conn, refused map[int64]*operation, columns []any) {
	maps.DeleteFunc(refused, func(_ int64, op *operation) bool { return op.Value.new.Key == "" })
	if len(refused) == 0 {
		return
	}
	rows, _ := conn.Query(ctx, sqlKeysUsed, columns...) // the rows have its error
	used, err := pgx.CollectRows(rows, pgx.RowTo[int64])
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
