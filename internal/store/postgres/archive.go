package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/store"
)

// dumpRows is how many rows one statement of a dump asks for. They are visited
// as they arrive, so it is not for the sake of memory: asked for all rows, the
// server would rather sort them than go by the key.
const dumpRows = 10_000

// Dump implements store.Archive.
func (s *Store) Dump(ctx context.Context, after store.Key, visit func(store.Record) error) error {
	if after == (store.Key{}) {
		after.PageID = math.MinInt64
	}
	d := dump{after: after, visit: visit}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := s.transact(ctx, snapshot, func(tx pgx.Tx) error { return d.run(ctx, tx) })
	if d.visitErr != nil {
		return d.visitErr
	}
	if err != nil {
		return fmt.Errorf("dump submissions: %w", err)
	}
	return nil
}

type dump struct {
	after    store.Key
	visit    func(store.Record) error
	visitErr error
}

func (d *dump) run(ctx context.Context, tx pgx.Tx) error {
	for {
		count, err := d.read(ctx, tx)
		if err != nil || count < dumpRows {
			return err
		}
	}
}

func (d *dump) read(ctx context.Context, tx pgx.Tx) (count int, err error) {
	rows, err := tx.Query(ctx, sqlDump, d.after.PageID, d.after.FormID, d.after.ID, dumpRows)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var r store.Record
	for rows.Next() {
		var created int64
		err := rows.Scan(&r.PageID, &r.FormID, &r.ID, &r.Username, &created, &r.Once, (*[]byte)(&r.Entries))
		if err != nil {
			return 0, err
		}
		r.Created = time.UnixMilli(created).UTC()
		if d.visitErr = d.visit(r); d.visitErr != nil {
			return 0, d.visitErr
		}
		d.after = store.Key{PageID: r.PageID, FormID: r.FormID, ID: r.ID}
		count++
	}
	return count, rows.Err()
}

// Load implements store.Archive. The sequences go first: if the rest fails,
// there is a gap of ids, and nothing else.
func (s *Store) Load(ctx context.Context, records []store.Record) error {
	if len(records) == 0 {
		return nil
	}
	b, last := &batch{}, store.Sequences{}
	for _, r := range records {
		b.addRow(r.PageID, r.FormID, r.ID, r.Username, r.Created, r.Once, r.Entries)
		last.Submission = max(last.Submission, r.ID)
		entry, err := r.Entries.HighestID()
		if err != nil {
			return fmt.Errorf("load submission %d: %w", r.ID, err)
		}
		last.Entry = max(last.Entry, entry)
	}
	if err := s.Advance(ctx, last); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is under way
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlInsert, b.columns()...)
		return existing(err)
	})
	if err != nil {
		return fmt.Errorf("load submissions: %w", err)
	}
	return nil
}

// existing tells a submission that is there already from one whose submitter
// has another.
func existing(err error) error {
	var answer *pgconn.PgError
	switch {
	case !errors.As(err, &answer) || answer.Code != codeUniqueViolation:
		return err
	case answer.ConstraintName == "submissions_once":
		return store.ErrOnce // without the detail, which is the submitter's key
	default:
		return fmt.Errorf("%w: %s", store.ErrExists, answer.Detail)
	}
}

// Last implements store.Archive.
func (s *Store) Last(ctx context.Context) (key store.Key, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
		return conn.QueryRow(ctx, sqlLast).Scan(&key.PageID, &key.FormID, &key.ID)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Key{}, store.ErrNotFound
	}
	if err != nil {
		return store.Key{}, fmt.Errorf("find the last submission: %w", err)
	}
	return key, nil
}

// Count implements store.Archive.
func (s *Store) Count(ctx context.Context) (count int64, err error) {
	err = s.transact(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlCount).Scan(&count)
	})
	if err != nil {
		return 0, fmt.Errorf("count submissions: %w", err)
	}
	return count, nil
}
