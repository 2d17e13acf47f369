package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// writer owns the one connection that writes. Its goroutine runs all queued
// operations in one transaction, and answers each of them after the commit
// (group commit): concurrent callers share the cost of the sync. When there
// seems to be only one caller, the commit runs on the caller's goroutine.
type writer struct {
	conn       *connection
	pool       *readPool
	forms      *formNumbers
	counts     formCounts
	queue      *engine.Queue[write]
	stopped    chan struct{}
	lastSingle atomic.Bool // the last batch held one operation: there may be no other caller to share a commit with
	commitMu   sync.Mutex  // held during a commit; guards what follows
	closed     bool
	version    int64 // of the database, another one after a commit of another process
	emptied    int64 // how often processes have emptied the WAL, as far as it is known here
	lastID     int64 // the last id given, as of the last commit
	reserved   int64 // the last id that may be given, as it is stored
	files      identity
	filesErr   error // why the files are not those that were opened; nil while they are
	// databaseSize is the largest that the file has had.
	databaseSize int64
	wal          wal
	log          *slog.Logger
}

// reserveIDs is how many ids are reserved at a time. The reservation is stored
// before any of them is assigned, so that a crash leaves a gap and never assigns
// an id twice. Close returns the rest of the reservation.
const reserveIDs = 1 << 10

// errRolledBack: SQLite has rolled the transaction back without an error of its own.
var errRolledBack = fmt.Errorf("%w: the transaction was given up", store.ErrUnavailable)

// errReadOnly: the writer is that of a store that was opened for reading. It has no connection.
var errReadOnly = errors.New("the store is open for reading only")

// write is one operation. It is called within a transaction, and the caller
// is answered after the commit. Its error is classified by the writer.
type write func(*tx) error

type operation = engine.Op[write]

func newWriter(conn *connection, pool *readPool, forms *formNumbers, log *slog.Logger) (*writer, error) {
	reserved, err := conn.readLastID()
	emptied, emptiedErr := conn.queryInt(sqlEmptied)
	if err = cmp.Or(err, emptiedErr); err != nil {
		return nil, err
	}
	w := &writer{
		conn: conn, pool: pool, forms: forms, counts: formCounts{}, log: log,
		lastID: reserved, reserved: reserved, emptied: emptied,
		queue: engine.NewQueue[write](engine.MaxBatch), stopped: make(chan struct{}),
		wal: wal{checkpointAt: checkpointPages, limit: maxWALBytes, patience: 2 * snapshotLife},
	}
	return w, nil
}

// do runs fn in a transaction and returns after its commit. When ctx ends
// before the transaction begins, fn is not run.
func (w *writer) do(ctx context.Context, fn write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.queue == nil {
		return errReadOnly
	}
	if w.lastSingle.Load() && w.queue.Waiting() == 0 && w.commitMu.TryLock() {
		if !w.closed {
			defer w.commitMu.Unlock()
			return w.commitDirectly(fn)
		}
		w.commitMu.Unlock() // before waiting for the queue, whose worker needs it
	}
	return w.queue.Do(ctx, fn)
}

// commitDirectly commits one operation on the caller's goroutine, which saves
// two goroutine switches.
func (w *writer) commitDirectly(op write) error {
	single := [1]*operation{{Value: op}}
	w.commit(single[:])
	if w.wal.due() {
		w.lastSingle.Store(false) // the next goes through the queue, and its answer will not wait for the checkpoint
	}
	return single[0].Err
}

// stop finishes what is queued. It is called once.
func (w *writer) stop() error {
	w.commitMu.Lock()
	w.closed = true
	w.commitMu.Unlock()
	w.queue.Close()
	<-w.stopped
	if w.checkFiles() == nil && w.reserved != w.lastID {
		return classify(w.conn.run(sqlSetLastID, w.lastID))
	}
	return nil
}

// close is called after stop, when no other connection is left: SQLite then
// copies the WAL into the database. It must not where the files are damaged,
// since that would damage the database, too.
func (w *writer) close() error {
	var err error
	if w.filesErr != nil {
		err = keepWAL(w.conn)
	}
	return errors.Join(err, w.conn.Close())
}

// keepWAL disables the checkpoint that SQLite makes when its last connection closes.
func keepWAL(conn *connection) error {
	_, err := conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	return err
}

func (w *writer) run() {
	defer close(w.stopped)
	var batch []*operation
	for {
		batch = w.queue.Next(batch)
		if len(batch) == 0 {
			return
		}
		w.commitMu.Lock()
		batch = engine.Take(w.queue.More(batch))
		w.lastSingle.Store(len(batch) <= 1)
		w.commitAll(batch)
		w.commitMu.Unlock()
	}
}

func (w *writer) commitAll(batch []*operation) {
	for len(batch) > 0 {
		n := w.commit(batch)
		for _, op := range batch[:n] {
			op.Done()
		}
		batch = batch[n:]
		if w.filesErr == nil {
			w.checkpoint()
		}
	}
}

// commit runs the batch, or the part of it that one transaction may hold, and
// sets the outcome of each operation; done is how many those are. When the
// transaction fails, all of its operations fail with its error, also one that
// failed by itself before: it may have conflicted with an operation of the same
// batch that is not stored after all.
func (w *writer) commit(batch []*operation) (done int) {
	done, err := w.transact(batch)
	switch {
	case err == nil:
		return done
	case errors.Is(err, store.ErrFull):
		w.commitEach(batch)
	default:
		for _, op := range batch {
			op.Err = err
		}
	}
	return len(batch)
}

// commitEach commits operations one by one after a transaction has found no
// room. One of them may have been too large for it, and the others fit. And the
// WAL may have taken the last of the room: after a checkpoint it is written
// again from its start.
func (w *writer) commitEach(batch []*operation) {
	w.restartWAL()
	for i, op := range batch {
		if _, err := w.transact(batch[i : i+1]); err != nil {
			op.Err = err
		}
	}
}

// transact runs operations in one transaction, up to MaxBatchBytes. An
// operation changes submissions with its last statement only, and SQLite undoes
// a failed statement: so a failed operation leaves nothing behind but, at most,
// the number of a new form, and does not affect the others. Where more follows,
// the operation uses a savepoint or rolls the transaction back. The error is that of
// the transaction, which SQLite may roll back at any statement, too.
func (w *writer) transact(batch []*operation) (done int, err error) {
	// A WAL that was cut short has its length again after the next write.
	if w.filesErr != nil || size(w.files[1].name) < w.wal.bytes() {
		if err := w.checkFiles(); err != nil {
			return 0, err
		}
	}
	if err := w.conn.run(sqlBegin); err != nil {
		return 0, w.conn.classify(err)
	}
	if err := w.noticeOthers(); err != nil {
		_ = w.conn.run(sqlRollback)
		return 0, w.conn.classify(err)
	}
	t := &tx{conn: w.conn, forms: w.forms, counts: w.counts, lastID: w.lastID}
	defer func() {
		if err != nil {
			clear(w.counts) // they may count what is rolled back
		}
	}()
	for done < len(batch) && t.bytes < engine.MaxBatchBytes {
		op := batch[done]
		op.Err = t.protect(op.Value)
		if w.conn.GetAutocommit() {
			return 0, cmp.Or(op.Err, errRolledBack)
		}
		done++
	}
	if err := w.finish(t); err != nil {
		err = w.conn.classify(err)  // before the rollback discards the system's error
		_ = w.conn.run(sqlRollback) // SQLite may have rolled back already
		return 0, err
	}
	return done, w.checkFiles()
}

// noticeOthers forgets what another process may have changed. It is called within a transaction, and allocates nothing.
func (w *writer) noticeOthers() error {
	stmt, err := w.conn.prepare(sqlDataVersion)
	if err != nil {
		return err
	}
	defer stmt.Reset()
	if stmt.Step() && stmt.ColumnInt64(0) != w.version {
		w.version = stmt.ColumnInt64(0)
		clear(w.counts)
	}
	return stmt.Err()
}

// checkFiles runs after each commit, before the callers are answered. The WAL may be too short because another process
// has emptied it, which the database tells.
func (w *writer) checkFiles() error {
	database, err := w.files.check(w.databaseSize, w.wal.bytes())
	if err != nil {
		emptied, lookErr := w.conn.queryInt(sqlEmptied)
		if lookErr == nil && emptied != w.emptied {
			w.emptied = emptied
			pages, _, _ := w.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_NOOP)
			w.wal.grown(int64(pages))
			database, err = w.files.check(w.databaseSize, w.wal.bytes())
		}
	}
	w.databaseSize = max(w.databaseSize, database)
	switch {
	case err != nil && w.filesErr == nil:
		w.log.Error(err.Error())
	case err == nil && w.filesErr != nil:
		w.log.Info("the files of the store are back: it goes on")
	}
	w.filesErr = err
	return err
}

// finish commits. It reserves more ids where the transaction has used up the
// last reservation.
func (w *writer) finish(t *tx) error {
	reserved := w.reserved
	if t.lastID > reserved {
		reserved = t.lastID + reserveIDs
		if err := w.conn.run(sqlSetLastID, reserved); err != nil {
			return err
		}
	}
	err := w.conn.run(sqlCommit)
	w.pool.commits.Add(1) // also if it is not known whether it was done
	if err != nil {
		return err
	}
	w.lastID, w.reserved = t.lastID, reserved
	return nil
}

// tx is what an operation sees of the transaction it runs in.
type tx struct {
	conn       *connection
	forms      *formNumbers
	hasNewForm bool       // it has given a number to a form, and may be rolled back
	counts     formCounts // of what the transaction has stored, too
	lastID     int64      // the last id given
	bytes      int        // written so far, roughly
}

// protect runs an operation. It turns a panic into an error, classifies the error, and
// returns the ids that a failed operation has used.
func (t *tx) protect(run write) error {
	before := t.lastID
	err := panics.ToError(func() error { return run(t) })
	if err != nil {
		t.lastID = before
	}
	return t.conn.classify(err)
}
