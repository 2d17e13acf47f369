package engine

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Database runs the statements that engines share. Their parameters are $1, $2 and so on; a slice is compared by {in}.
// Where dialects differ, a statement has a word in braces, which the engine replaces:
//
//	{now}      the time in milliseconds since 1970
//	{row}      the column that addresses a row of events
//	{in} {end} an element of a parameter: id {in}$1{end}
//	{of} {end} an element of a query: id {of}SELECT …{end}
//	{form}     the columns that tell the form of an event or a queue
//	{queue}    the condition that an event or a queue is of $1 to $4: hook, recipient, page and form
//	{queues}   the table of queues, with page_id and form_id
//	{events}   the table of events, with page_id and form_id
//	{unused}   the condition that no open transaction adds to the queue of the row
//	{unsynced} what follows a condition, so that the transaction does not wait for the disk
//	{touched}  the time as staged files have it
//	{stale}    the condition that a staged file was touched more than $1 milliseconds ago
//	{locked}   what follows a query whose rows must not change until the transaction ends
//	{key}      the condition that a submission is that of $1 to $3: page, form and id
//	{join}     a join that reads the first table first
type Database interface {
	Querier
	// Exec runs a statement, and returns how many rows it has changed.
	Exec(ctx context.Context, sql string, args ...any) (changed int64, err error)
	// Transact runs statements in one transaction: again if the connection was lost.
	Transact(ctx context.Context, statements ...Statement) error
}

// Querier is a database, or a snapshot of one.
type Querier interface {
	// Query runs a statement, and calls read for its rows: again if the connection was lost.
	Query(ctx context.Context, read func(next Next), sql string, args ...any) error
}

// Next copies the columns of the next row. It returns false if there is none.
type Next func(to ...any) bool

// Statement is SQL with its parameters.
type Statement struct {
	SQL  string
	Args []any
}

// NewStatement makes a Statement.
func NewStatement(sql string, args ...any) Statement { return Statement{sql, args} }

// Common implements what engines have in common.
type Common struct {
	Database Database
	// SQLLatest selects page, form, id and time of the store.MaxLatest latest submissions of user $1.
	SQLLatest string
	// SQLCountNamed counts the names in the oldest store.MaxLimit submissions of page $1 and form $2, and these.
	SQLCountNamed string
	// SQLCountForms selects page, form and number of submissions, up to $3, of forms on the pages $1 to $2.
	SQLCountForms string
}

// Sequence yields what run yields, and then its error. run ends when yield returns false.
func Sequence[T any](run func(yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		goesOn := true
		err := run(func(v T) bool {
			goesOn = yield(v, nil)
			return goesOn
		})
		if err != nil && goesOn {
			yield(*new(T), err)
		}
	}
}

// QueryRow copies the first row of a statement. No row is ErrNotFound.
func QueryRow(ctx context.Context, db Querier, to []any, sql string, args ...any) error {
	found := false
	err := db.Query(ctx, func(next Next) { found = next(to...) }, sql, args...)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return err
}

// Latest implements store.Store.
func (c Common) Latest(ctx context.Context, username string) (found []forms.Submission, err error) {
	err = c.Database.Query(ctx, func(next Next) {
		found = nil
		sub, created := forms.Submission{Username: username}, int64(0)
		for next(&sub.PageID, &sub.FormID, &sub.ID, &created) {
			sub.Created = time.UnixMilli(created).UTC()
			found = append(found, sub)
		}
	}, c.SQLLatest, username)
	return found, Wrap(err, "read the latest submissions")
}

// CountNamed implements store.Store.
func (c Common) CountNamed(ctx context.Context, pageID int64, formID string) (named, all int, err error) {
	err = QueryRow(ctx, c.Database, []any{&named, &all}, c.SQLCountNamed, pageID, formID)
	return named, all, Wrap(err, "count names")
}

// CountForms implements store.Store.
func (c Common) CountForms(ctx context.Context, pageID int64, limit int) (found []store.FormCount, err error) {
	last := pageID
	if pageID == 0 {
		last = math.MaxInt64
	}
	err = c.Database.Query(ctx, func(next Next) {
		found = nil
		for form := (store.FormCount{}); next(&form.PageID, &form.FormID, &form.Count); {
			if form.Count > 0 {
				found = append(found, form)
			}
		}
	}, c.SQLCountForms, pageID, last, int64(limit))
	return found, Wrap(err, "count the submissions of forms")
}

// The statements of settings and sessions.
const (
	SQLClaim   = `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	SQLSetting = `SELECT value FROM settings WHERE name = $1`
	SQLRelease = `DELETE FROM settings WHERE name = $1`

	SQLSession       = `SELECT owner, expires, sealed FROM sessions WHERE hash = $1`
	SQLInsertSession = `INSERT INTO sessions (hash, owner, expires, sealed) VALUES ($1, $2, $3, $4)`
	// SQLTrimSessions keeps the $2 sessions of an owner that expire last.
	SQLTrimSessions = `DELETE FROM sessions
		WHERE hash {of}SELECT hash FROM sessions WHERE owner = $1 ORDER BY expires DESC LIMIT 1000000 OFFSET $2{end}`
	SQLRenewSession  = `UPDATE sessions SET expires = CASE WHEN expires > $1 THEN expires ELSE $1 END WHERE hash = $2`
	SQLDeleteSession = `DELETE FROM sessions WHERE hash = $1`
	SQLCountSessions = `SELECT count(*) FROM sessions WHERE owner = $1`
	SQLDeleteExpired = `DELETE FROM sessions
		WHERE hash {of}SELECT hash FROM sessions WHERE expires <= $1 ORDER BY expires LIMIT $2{end}`
)

// Claim implements store.Settings.
func (c Common) Claim(ctx context.Context, name, value string) (current string, err error) {
	if _, err = c.Database.Exec(ctx, SQLClaim, name, value); err != nil {
		return "", Wrap(err, "claim setting %q", name)
	}
	return c.Setting(ctx, name)
}

// Setting implements store.Settings.
func (c Common) Setting(ctx context.Context, name string) (value string, err error) {
	err = QueryRow(ctx, c.Database, []any{&value}, SQLSetting, name)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return value, Wrap(err, "read setting %q", name)
}

// Release implements store.Settings.
func (c Common) Release(ctx context.Context, name string) error {
	_, err := c.Database.Exec(ctx, SQLRelease, name)
	return Wrap(err, "release setting %q", name)
}

// CreateSession implements store.Sessions.
func (c Common) CreateSession(ctx context.Context, n store.Session) error {
	err := c.Database.Transact(ctx,
		NewStatement(SQLTrimSessions, n.Owner[:], int64(store.MaxSessions-1)),
		NewStatement(SQLInsertSession, n.Hash[:], n.Owner[:], n.Expires.UnixMilli(), n.Sealed))
	return Wrap(err, "create session")
}

// Session implements store.Sessions.
func (c Common) Session(ctx context.Context, hash [32]byte) (store.Session, error) {
	found, owner, expires := store.Session{Hash: hash}, []byte(nil), int64(0)
	err := QueryRow(ctx, c.Database, []any{&owner, &expires, &found.Sealed}, SQLSession, hash[:])
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrNoSession
	}
	if err != nil {
		return store.Session{}, Wrap(err, "read session")
	}
	copy(found.Owner[:], owner)
	found.Expires = time.UnixMilli(expires).UTC()
	return found, nil
}

// RenewSession implements store.Sessions.
func (c Common) RenewSession(ctx context.Context, hash [32]byte, expires time.Time) error {
	changed, err := c.Database.Exec(ctx, SQLRenewSession, expires.UnixMilli(), hash[:])
	if err == nil && changed == 0 {
		err = store.ErrNoSession
	}
	return Wrap(err, "renew session")
}

// DeleteSession implements store.Sessions.
func (c Common) DeleteSession(ctx context.Context, hash [32]byte) error {
	_, err := c.Database.Exec(ctx, SQLDeleteSession, hash[:])
	return Wrap(err, "delete session")
}

// CountSessions implements store.Sessions.
func (c Common) CountSessions(ctx context.Context, owner [32]byte) (n int, err error) {
	err = QueryRow(ctx, c.Database, []any{&n}, SQLCountSessions, owner[:])
	return n, Wrap(err, "count sessions")
}

// DeleteSessions implements store.Sessions.
func (c Common) DeleteSessions(ctx context.Context, owner [32]byte) error {
	_, err := c.Database.Exec(ctx, SQLTrimSessions, owner[:], int64(0))
	return Wrap(err, "delete sessions")
}

// DeleteExpiredSessions implements store.Sessions.
func (c Common) DeleteExpiredSessions(ctx context.Context, until time.Time, limit int) (removed int, err error) {
	n, err := c.Database.Exec(ctx, SQLDeleteExpired, until.UnixMilli(), int64(limit))
	return int(n), Wrap(err, "delete expired sessions")
}
