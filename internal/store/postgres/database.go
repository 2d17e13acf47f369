package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// dialect replaces what statements of engine.Database leave open.
var dialect = strings.NewReplacer(
	"{now}", sqlNow,
	"{row}", "ctid",
	"{in}", "= ANY ((", "{of}", "= ANY (ARRAY(", "{end}", "))",
	"{form}", "page_id, form_id",
	"{queue}", "hook = $1 AND recipient = $2 AND page_id = $3 AND form_id = $4",
	"{queues}", "event_queues",
	"{events}", "events",
	"{unused}", "pg_try_advisory_xact_lock("+sqlQueueLock+")",
	"{unsynced}", " AND set_config('synchronous_commit', 'off', true) = 'off'",
	"{touched}", "now()",
	"{stale}", "touched < now() - $1 * interval '1 millisecond'",
	"{locked}", " FOR UPDATE",
	"{key}", "page_id = $1 AND form_id = $2 AND id = $3",
	"{join}", "JOIN",
)

// database implements engine.FileEngine.
type database struct{ *Store }

func (s database) Exec(ctx context.Context, sql string, args ...any) (changed int64, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, dialect.Replace(sql), args...)
		changed = tag.RowsAffected()
		return err
	})
	return changed, err
}

func (s database) Query(ctx context.Context, read func(engine.Next), sql string, args ...any) error {
	return s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return querier{conn}.Query(ctx, read, sql, args...)
	})
}

func (s database) Transact(ctx context.Context, statements ...engine.Statement) error {
	return s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		all := append([]engine.Statement{engine.NewStatement(`BEGIN`)}, statements...)
		return send(ctx, conn, append(all, engine.NewStatement(`COMMIT`))...)
	})
}

// send runs statements in one round trip, and in one transaction.
func send(ctx context.Context, conn *pgx.Conn, statements ...engine.Statement) error {
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(dialect.Replace(s.SQL), s.Args...)
	}
	return conn.SendBatch(ctx, batch).Close()
}

// CheckRoom implements engine.FileEngine. The server does not tell how much room it has.
func (database) CheckRoom(context.Context) error { return nil }

// FreeRoom implements engine.FileEngine. Autovacuum looks once a minute: until then refused uploads could fill the
// disk. A timeout is no error: autovacuum comes later.
func (s database) FreeRoom(ctx context.Context) {
	_, _ = s.Exec(ctx, `VACUUM (TRUNCATE false) file_chunks`)
}

// querier implements engine.Querier on a connection.
type querier struct{ conn *pgx.Conn }

func (q querier) Query(ctx context.Context, read func(engine.Next), sql string, args ...any) error {
	rows, _ := q.conn.Query(ctx, dialect.Replace(sql), args...) // the rows have its error
	read(func(to ...any) bool {
		for i := range to {
			if bytes, ok := to[i].(*[]byte); ok { // its room is used
				to[i] = (*pgtype.PreallocBytes)(bytes)
			}
		}
		return rows.Next() && rows.Scan(to...) == nil
	})
	rows.Close()
	return rows.Err()
}

// claimFiles makes staged contents a submission's.
func claimFiles(ctx context.Context, conn *pgx.Conn, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	tag, err := conn.Exec(ctx, sqlClaimFiles, ids)
	if err == nil && tag.RowsAffected() < int64(len(ids)) {
		return store.ErrNoFile
	}
	return err
}
