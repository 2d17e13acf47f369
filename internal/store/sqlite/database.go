package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// dialect replaces what statements of engine.Database leave open.
var dialect = strings.NewReplacer(
	"$", "?",
	"{now}", sqlNow,
	"{row}", "rowid",
	"{in}", "IN (SELECT value FROM json_each(", "{of}", "IN (SELECT * FROM (", "{end}", "))",
	"{form}", "form",
	"{queue}", "hook = ?1 AND recipient = ?2 AND form = (SELECT number FROM forms WHERE page_id = ?3 AND form_id = ?4)",
	"{queues}", "event_queues CROSS JOIN forms ON number = form",
	"{events}", "events CROSS JOIN forms ON number = form",
	"{unused}", "true", "{unsynced}", "", "{locked}", "", // there is one writer
	"{touched}", sqlNow,
	"{stale}", "touched < "+sqlNow+" - ?1",
	"{key}", "row_id = (SELECT number FROM forms WHERE page_id = ?1 AND form_id = ?2) << 40 | ?3",
	"{join}", "CROSS JOIN",
)

// sqlNow is the time in milliseconds since 1970.
const sqlNow = `CAST(round(1000 * unixepoch('subsec')) AS INTEGER)`

// database implements engine.Database with connections to read and to write.
type database struct {
	read  func(context.Context, func(*connection) error) error
	write func(context.Context, write) error
}

func (d database) Exec(ctx context.Context, sql string, args ...any) (changed int64, err error) {
	err = d.write(ctx, func(tx *tx) error {
		err := tx.conn.run(dialect.Replace(sql), args...)
		changed = tx.conn.Changes()
		return err
	})
	return changed, err
}

func (d database) Query(ctx context.Context, read func(engine.Next), sql string, args ...any) error {
	query := func(conn *connection) error { return conn.Query(ctx, read, sql, args...) }
	if strings.Contains(sql, " RETURNING ") {
		return d.write(ctx, func(tx *tx) error { return query(tx.conn) })
	}
	return d.read(ctx, query)
}

func (d database) Transact(ctx context.Context, statements ...engine.Statement) error {
	return d.write(ctx, func(tx *tx) error {
		return tx.atomically(func() error { return tx.runAll(statements...) })
	})
}

func (t *tx) runAll(statements ...engine.Statement) error {
	for _, s := range statements {
		if err := t.conn.run(dialect.Replace(s.SQL), s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Query implements engine.Querier.
func (c *connection) Query(_ context.Context, read func(engine.Next), sql string, args ...any) error {
	return c.query(dialect.Replace(sql), func(rows *sqlite3.Stmt) error {
		read(func(to ...any) bool {
			if !rows.Step() {
				return false
			}
			for i, to := range to {
				switch to := to.(type) {
				case *int:
					*to = rows.ColumnInt(i)
				case *int64:
					*to = rows.ColumnInt64(i)
				case *bool:
					*to = rows.ColumnBool(i)
				case *string:
					*to = rows.ColumnText(i)
				case *[]byte:
					*to = rows.ColumnBlob(i, (*to)[:0])
				}
			}
			return true
		})
		return nil
	}, args...)
}

// fileEngine implements engine.FileEngine.
type fileEngine struct {
	*Store
	database
}

// minRoom is the room that uploads leave for other writes.
const minRoom = 16 << 20

// CheckRoom implements engine.FileEngine. It looks for room for the database to grow: on the disk, and in its free
// pages. What is in the WAL will need room in the database, too.
func (s fileEngine) CheckRoom(ctx context.Context) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(s.writer.files[0].name), &disk); err != nil {
		return fmt.Errorf("%w: look for free space: %w", store.ErrUnavailable, err)
	}
	//nolint:gosec,unconvert // no disk is larger; types differ between systems
	room := int64(disk.Bavail)*int64(disk.Bsize) - s.writer.wal.bytes()
	if room >= minRoom {
		return nil
	}
	return s.pool.with(ctx, func(conn *connection) error {
		free, err := conn.queryInt(`PRAGMA freelist_count`)
		if err == nil && room+free*pageBytes < minRoom {
			err = fmt.Errorf("%w: the last %d MiB are left to submissions without files", store.ErrFull, minRoom>>20)
		}
		return err
	})
}

// FreeRoom implements engine.FileEngine. SQLite has free pages at once.
func (fileEngine) FreeRoom(context.Context) {}
