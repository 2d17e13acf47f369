// Package sqlite is the embedded engine of the store contract.
//
// One connection writes, on one goroutine that commits whatever is queued as
// one transaction; a small pool of connections reads beside it. The file is in
// WAL mode with synchronous=FULL: a commit is on the disk before it is
// answered.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/store/engine"
)

// FileName is the name of the database within the data directory.
const FileName = "formulary.db"

// busyTimeout is how long a connection waits for a lock of another process,
// such as a database shell.
const busyTimeout = 5 * time.Second

// Store implements store.Engine.
type Store struct {
	*engine.Files
	engine.Common
	engine.Definitions

	writer *writer
	pool   *readPool
	forms  *formNumbers
	close  func() error
	dumps  sync.RWMutex // each Dump holds it for reading, close for writing
}

// Options say how to treat the store.
type Options struct {
	// MustExist makes Open fail if the directory holds no store, or one that
	// needs a migration.
	MustExist bool
	// ReadOnly opens a store that must exist in order to read it, also one that a server has
	// open, or in a directory that can't be written. Methods that write fail.
	ReadOnly bool
	// Shared opens a store that must exist beside a server, or for a server that starts meanwhile. It must not be used to
	// store new submissions.
	Shared bool
	Log    *slog.Logger // nil discards
}

// Open opens the store in directory dir, which it creates and migrates where
// needed. Only one process at a time can have a directory open, unless Shared.
func Open(ctx context.Context, dir string, options Options) (*Store, error) {
	return open(ctx, dir, vfsName, options)
}

// open is Open through another VFS, for tests.
func open(ctx context.Context, dir, vfs string, options Options) (*Store, error) {
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.MustExist = options.MustExist || options.ReadOnly || options.Shared
	if options.MustExist {
		if err := Exists(dir); err != nil {
			return nil, err
		}
	}
	if options.ReadOnly {
		return openReader(ctx, filepath.Join(dir, FileName), vfs, options.Log)
	}
	flock := syscall.Flock
	if options.Shared {
		flock = func(int, int) error { return nil } // the server has the lock
	}
	lock, err := lockDir(dir, flock)
	if err != nil {
		return nil, err
	}
	if err := refuseUnfinishedRestore(dir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	path := filepath.Join(dir, FileName)
	s, err := openFile(ctx, path, fileURI(path, vfs), options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, classify(err)), lock.Close())
	}
	// The writer stops before the pool closes, because its checkpoint pauses the
	// pool. Its connection is the last to close. A second caller waits for the
	// first.
	running, stop := context.WithCancel(context.Background())
	s.close = sync.OnceValue(func() error {
		stop()
		s.StopSweeping()
		err := errors.Join(s.writer.stop(), s.pool.close())
		s.dumps.Lock()
		defer s.dumps.Unlock()
		return errors.Join(err, s.writer.close(), lock.Close())
	})
	go s.writer.run()
	go s.pool.run(running) //nolint:contextcheck // it outlives the call of Open
	s.StartSweeping()      //nolint:contextcheck // it outlives the call of Open
	return s, nil
}

// openFile opens the store in a file.
func openFile(ctx context.Context, path, uri string, options Options) (*Store, error) {
	conn, err := openWriter(ctx, path, uri, options)
	if err != nil {
		return nil, err
	}
	pool := newReadPool(uri, runtime.GOMAXPROCS(0)+2)
	forms := &formNumbers{}
	w, err := newWriter(conn, pool, forms, options.Log)
	if err == nil {
		err = fixWALFiles(path)
	}
	if err == nil {
		w.files, err = identify(path)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	pool.files = w.files
	s := newStore(w, pool, options.Log)
	if options.Shared { // it makes SQLite's own checkpoints
		return s, nil
	}
	// Only the server knows how long the WAL must be, so only the server cuts it.
	conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.wal.grown(int64(pages))
		return nil
	})
	if err := conn.Exec(`PRAGMA journal_size_limit = 16777216`); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	// Leases are those of a server that was killed, and the uploads of staged files have
	// ended. Without room to write, leases run out, and files are removed in an hour.
	_ = conn.Exec(`UPDATE event_queues SET leased = 0, due = 0 WHERE leased = 1`)
	if conn.Exec(`UPDATE staged_files SET removed = 1`) == nil && conn.Changes() > 0 {
		s.SweepSoon()
	}
	return s, nil
}

func newStore(w *writer, pool *readPool, log *slog.Logger) *Store {
	s := &Store{writer: w, pool: pool, forms: w.forms}
	db := database{pool.with, w.do}
	s.Common = engine.Common{
		Database: db, SQLLatest: sqlLatest, SQLCountNamed: sqlCountNamed,
		SQLCountForms: sqlCountForms,
	}
	s.Definitions = engine.Definitions{DB: db, SQLOfSubmission: sqlDefinition, SQLUnused: sqlUnused}
	s.Files = engine.NewFiles(fileEngine{s, db}, log)
	return s
}

// fixWALFiles does for the files beside the database what SQLite's own Unix
// layer does and the one in use does not: it gives them the database's mode, and
// syncs the directory. Without that a crash could lose the WAL with all its
// content.
func fixWALFiles(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(path+suffix, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return durable.Sync(filepath.Dir(path))
}

func openWriter(ctx context.Context, path, uri string, options Options) (*connection, error) {
	if size(path) == 0 {
		if err := refuseTraces(path); err != nil {
			return nil, err
		}
	}
	// SQLite would create the file with mode 0644.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	conn, err := openConn(ctx, uri)
	if err != nil {
		return nil, err
	}
	version, err := 0, requestChecksums(conn)
	if err == nil {
		version, err = readVersion(conn) // before the journal mode, which is a write
	}
	if err == nil {
		err = migrations.Require(version, !options.MustExist)
	}
	switch {
	case err != nil:
	case version == migrations.Version():
		err = checkSchema(conn)
	case version == 0:
		err = refuseTraces(path)
	}
	if err == nil {
		err = conn.Exec(`
			PRAGMA journal_mode = WAL;
			PRAGMA synchronous = FULL;
			PRAGMA secure_delete = ON; -- what is deleted is overwritten
			PRAGMA cache_size = -8192;
			PRAGMA max_page_count = ` + strconv.Itoa(maxPages))
	}
	if err == nil {
		err = migrate(conn, version)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if version == 0 {
		options.Log.Info("made a new store", "directory", filepath.Dir(path))
	}
	return conn, nil
}

func openConn(ctx context.Context, uri string) (*connection, error) {
	conn, err := connect(ctx, uri)
	if err != nil {
		return nil, err
	}
	conn.SetInterrupt(context.Background()) // ctx was for opening only
	return conn.orClose(errors.Join(conn.BusyTimeout(busyTimeout), conn.Exec(`PRAGMA temp_store = MEMORY`)))
}

// fileURI keeps a path with "?", "#" or "%" in it from being read as more than a path.
func fileURI(path, vfs string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?vfs=" + vfs
}

// Close implements store.Store.
func (s *Store) Close() error { return s.close() }
