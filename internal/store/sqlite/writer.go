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

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/group"
)

const (
	// maxBatch bounds one transaction, so that the first operation in it does
	// not wait for the last of a flood.
	maxBatch = 512

	// maxBatchBytes bounds one transaction by what it writes, and with it the
	// length of the WAL: submissions may be as large as a request.
	maxBatchBytes = 4 << 20
)

// writer owns the one connection that writes. Its goroutine takes whatever is
// queued, runs it in one transaction, and answers each operation after the
// commit: with many callers, they share the cost of getting it to the disk. A
// caller who seems to be the only one uses the connection himself.
type writer struct {
	conn     *sqlite3.Conn
	readers  *readers
	stmts    *writeStmts
	forms    *formNumbers
	queue    *group.Queue[write]
	stopped  chan struct{}
	quiet    atomic.Bool // the last batch held one operation: there may be nobody to share a commit with
	turn     sync.Mutex  // held by who commits; guards what follows
	closed   bool
	seq      store.Sequences // the last ids given, as of the last commit
	reserved store.Sequences // the last ids that may be given, as they are stored
	files    identity
	lost     error // why the files are not those that were opened; nil while they are
	// databaseSize is the largest that the file has had.
	databaseSize int64
	wal          wal
	log          *slog.Logger
}

// reserve is how many ids are reserved at a time. The reservation is stored
// before any of them is given, so that a crash leaves a gap and never gives an
// id twice; a store that is closed gives the rest back.
var reserve = store.Sequences{Submission: 1 << 10, Entry: 1 << 14}

func within(s, limit store.Sequences) bool {
	return s.Submission <= limit.Submission && s.Entry <= limit.Entry
}

// errGivenUp is for a transaction that ends without anybody having been told why.
var errGivenUp = fmt.Errorf("%w: the transaction was given up", store.ErrUnavailable)

// write is one operation. It is called within a transaction, and the caller
// is answered after the commit.
type write func(*tx) error

type operation = group.Op[write]

func newWriter(conn *sqlite3.Conn, readers *readers, forms *formNumbers, log *slog.Logger) (*writer, error) {
	stmts, err := prepareWrites(conn)
	if err != nil {
		return nil, err
	}
	w := &writer{
		conn: conn, readers: readers, stmts: stmts, forms: forms, log: log,
		queue: group.NewQueue[write](maxBatch), stopped: make(chan struct{}),
		wal: wal{checkpointAt: checkpointPages, limit: maxWALBytes},
	}
	if w.reserved, err = stmts.readSequences(); err != nil {
		return nil, errors.Join(err, stmts.close())
	}
	w.seq = w.reserved
	conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.wal.grown(int64(pages))
		return nil
	})
	return w, nil
}

// do runs fn in a transaction and returns after its commit. When ctx ends
// before the transaction begins, fn is not run.
func (w *writer) do(ctx context.Context, fn write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.quiet.Load() && w.queue.Waiting() == 0 && w.turn.TryLock() {
		if !w.closed {
			defer w.turn.Unlock()
			return w.doAlone(fn)
		}
		w.turn.Unlock() // before the queue is waited for, whose end needs the turn
	}
	return w.queue.Do(ctx, fn)
}

// doAlone is do where nobody else is about: the caller commits by himself,
// which saves two changes of goroutine.
func (w *writer) doAlone(op write) error {
	alone := [1]*operation{{Value: op}}
	w.commit(alone[:])
	if w.wal.due() {
		w.quiet.Store(false) // the next goes through the queue, and its answer will not wait for the checkpoint
	}
	return alone[0].Err
}

// stop finishes what is queued. To be called once.
func (w *writer) stop() error {
	w.turn.Lock()
	w.closed = true
	w.turn.Unlock()
	w.queue.Close()
	<-w.stopped
	if w.checkFiles() == nil && w.reserved != w.seq {
		return classify(w.stmts.writeSequences(w.seq))
	}
	return nil
}

// close is called after stop, when no reader is left: as the last connection
// it copies the WAL into the database. Where the files are damaged that would
// spoil the database, too.
func (w *writer) close() error {
	var err error
	if w.lost != nil {
		err = keepWAL(w.conn)
	}
	return errors.Join(err, w.stmts.close(), w.conn.Close())
}

// keepWAL has a connection leave the WAL as it is when it closes.
func keepWAL(conn *sqlite3.Conn) error {
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
		w.turn.Lock()
		batch = group.Take(w.queue.More(batch))
		w.quiet.Store(len(batch) <= 1)
		w.commitAll(batch)
		w.turn.Unlock()
	}
}

func (w *writer) commitAll(batch []*operation) {
	for len(batch) > 0 {
		n := w.commit(batch)
		for _, op := range batch[:n] {
			op.Done()
		}
		batch = batch[n:]
		if w.lost == nil {
			w.checkpoint()
		}
	}
}

// commit runs the batch, or as much of it as one transaction should hold, and
// leaves each operation its outcome; done is how many that are. When the
// transaction as a whole fails, so do all of them, whatever they came to
// within it: a conflict with a neighbour that was not stored is none.
func (w *writer) commit(batch []*operation) (done int) {
	done, err := w.transact(batch)
	if err == nil {
		return done
	}
	if len(batch) > 1 && errors.Is(err, store.ErrFull) {
		// What is too large for the room that is left must not keep out its
		// neighbours that would fit.
		for i := range batch {
			w.commit(batch[i : i+1])
		}
		return len(batch)
	}
	for _, op := range batch {
		op.Err = err
	}
	return len(batch)
}

// transact runs operations in one transaction, until it holds enough. The last
// statement of an operation is the only one that must not stand alone, and
// SQLite undoes a failed statement by itself: so an operation that fails does
// so alone, and leaves at most the number of a new form. The error is that of
// the transaction, which SQLite may give up on at any statement.
func (w *writer) transact(batch []*operation) (done int, err error) {
	// A WAL that was cut short has its length again after the next write.
	if w.lost != nil || w.files.walSize() < w.wal.fileSize() {
		if err := w.checkFiles(); err != nil {
			return 0, err
		}
	}
	if err := w.stmts.begin.Exec(); err != nil {
		return 0, w.classify(err)
	}
	t := &tx{stmts: w.stmts, forms: w.forms, seq: w.seq}
	for done < len(batch) && t.bytes < maxBatchBytes {
		op := batch[done]
		op.Err = t.protect(op.Value)
		if w.conn.GetAutocommit() {
			return 0, cmp.Or(op.Err, errGivenUp)
		}
		done++
	}
	if err := w.finish(t); err != nil {
		err = w.classify(err)       // while it is known what the system said
		_ = w.stmts.rollback.Exec() // it may have happened already
		return 0, err
	}
	return done, w.checkFiles()
}

// checkFiles is called after each commit, and before its callers are answered.
func (w *writer) checkFiles() error {
	least := sizes{w.databaseSize, w.wal.fileSize()}
	database, err := w.files.check(least)
	w.databaseSize = max(w.databaseSize, database)
	switch {
	case err != nil && w.lost == nil:
		w.log.Error(err.Error())
	case err == nil && w.lost != nil:
		w.log.Info("the files of the store are back: it goes on")
	}
	w.lost = err
	return err
}

func (w *writer) classify(err error) error { return withCause(w.conn, classify(err)) }

// finish commits, with a new reservation of ids where the transaction has used
// up the last.
func (w *writer) finish(t *tx) error {
	reserved := w.reserved
	if !within(t.seq, reserved) {
		reserved = store.Sequences{Submission: t.seq.Submission + reserve.Submission, Entry: t.seq.Entry + reserve.Entry}
		if err := w.stmts.writeSequences(reserved); err != nil {
			return err
		}
	}
	if err := w.stmts.commit.Exec(); err != nil {
		return err
	}
	w.seq, w.reserved = t.seq, reserved
	for _, f := range t.seen {
		w.forms.put(f.name, f.number)
	}
	return nil
}

// tx is what an operation sees of the transaction it runs in.
type tx struct {
	stmts *writeStmts
	forms *formNumbers
	seen  []seenForm // numbers to be remembered once it is committed
	seq   store.Sequences
	bytes int // written by now, about
}

// protect keeps a panic in one operation from ending the writer, and gives
// back the ids that a failed operation took.
func (t *tx) protect(run write) error {
	before := t.seq
	err := group.Protect(func() error { return run(t) })
	if err != nil {
		t.seq = before
	}
	return withCause(t.stmts.conn, err)
}
