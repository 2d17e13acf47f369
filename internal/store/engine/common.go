package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/formulary/formulary/internal/store"
)

// Common are the methods that all engines have in common, and the statements for them where dialects differ. Those
// that are about some hooks take their names as a JSON array.
type Common struct {
	// Exec runs one statement, and returns how many rows it has changed.
	Exec func(ctx context.Context, sql string, args ...any) (changed int64, err error)

	DeleteExpired        string // sessions that have expired by a time, at most so many
	RetryFailed, Discard string // a thousand events at a time, so that others don't wait for long
	RetryDelayed         string
	AdoptEvents          string // adds queues that events lack
	RemoveFailed         string // that failed more milliseconds ago, at most so many
}

// RetryEvents implements store.Events.
func (c Common) RetryEvents(ctx context.Context, hooks []string) (failed int64, err error) {
	return c.change(ctx, c.RetryFailed, hooks)
}

// DiscardEvents implements store.Events. Queues that are due are found to be empty.
func (c Common) DiscardEvents(ctx context.Context, hooks []string) (discarded int64, err error) {
	return c.change(ctx, c.Discard, hooks)
}

// change runs a statement until it changes nothing, and makes the queues due.
func (c Common) change(ctx context.Context, sql string, hooks []string) (changed int64, err error) {
	names, err := json.Marshal(hooks)
	for n := int64(1); n > 0 && err == nil; changed += n {
		n, err = c.Exec(ctx, sql, string(names))
	}
	if err == nil {
		_, err = c.Exec(ctx, c.AdoptEvents)
	}
	if err == nil {
		_, err = c.Exec(ctx, c.RetryDelayed, string(names))
	}
	return changed, Wrap(err, "retry or discard events")
}

// TidyEvents implements store.Events.
func (c Common) TidyEvents(ctx context.Context, age time.Duration, limit int) (removed int, err error) {
	n, err := c.Exec(ctx, c.RemoveFailed, age.Milliseconds(), int64(limit))
	if err == nil {
		_, err = c.Exec(ctx, c.AdoptEvents)
	}
	return int(n), Wrap(err, "tidy events")
}

// The statements of both dialects. Parameters are numbered in the order in which they come.
const (
	SQLRenewSession  = `UPDATE sessions SET expires = CASE WHEN expires > $1 THEN expires ELSE $1 END WHERE hash = $2`
	SQLDeleteSession = `DELETE FROM sessions WHERE hash = $1`
	SQLRelease       = `DELETE FROM settings WHERE name = $1`
)

// RenewSession implements store.Sessions.
func (c Common) RenewSession(ctx context.Context, hash [32]byte, expires time.Time) error {
	changed, err := c.Exec(ctx, SQLRenewSession, expires.UnixMilli(), hash[:])
	if err == nil && changed == 0 {
		err = store.ErrNoSession
	}
	return Wrap(err, "renew session")
}

// DeleteSession implements store.Sessions.
func (c Common) DeleteSession(ctx context.Context, hash [32]byte) error {
	_, err := c.Exec(ctx, SQLDeleteSession, hash[:])
	return Wrap(err, "delete session")
}

// DeleteExpiredSessions implements store.Sessions.
func (c Common) DeleteExpiredSessions(ctx context.Context, until time.Time, limit int) (removed int, err error) {
	n, err := c.Exec(ctx, c.DeleteExpired, until.UnixMilli(), int64(limit))
	return int(n), Wrap(err, "delete expired sessions")
}

// Release implements store.Settings.
func (c Common) Release(ctx context.Context, name string) error {
	_, err := c.Exec(ctx, SQLRelease, name)
	return Wrap(err, "release setting %q", name)
}
