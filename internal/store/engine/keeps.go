package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// The statements of keeps. Page and form are $1 and $2.
const (
	sqlKeeps    = `SELECT page_id, form_id, keep, since, before, {now} FROM keeps`
	SQLAllKeeps = sqlKeeps + ` WHERE keep <> '' ORDER BY page_id, form_id`
	SQLKeep     = sqlKeeps + ` WHERE page_id = $1 AND form_id = $2`

	// SQLSetKeep changes nothing if the row is not the one that was read, which had the time $5.
	SQLSetKeep = `INSERT INTO keeps (page_id, form_id, keep, since, before) VALUES ($1, $2, $3, {now}, $4)
		ON CONFLICT (page_id, form_id) DO UPDATE SET keep = excluded.keep, since = excluded.since, before = excluded.before
			WHERE keeps.since = $5`

	sqlClearKeeps = `DELETE FROM keeps`
	sqlLoadKeep   = `INSERT INTO keeps (page_id, form_id, keep, since, before) VALUES ($1, $2, $3, $4, $5)`
)

// SetKeep implements store.Keeps. If another server has set it meanwhile, it compares again.
func (c Common) SetKeep(ctx context.Context, pageID int64, formID string, keep forms.Period) error {
	for {
		old, err := c.Keep(ctx, pageID, formID)
		if err != nil || old.Period == keep {
			return err
		}
		changed, err := c.Database.Exec(ctx, SQLSetKeep,
			pageID, formID, keep.String(), old.InForce(old.Now).String(), old.Since.UnixMilli())
		if err != nil || changed > 0 {
			return Wrap(err, "store a keep")
		}
	}
}

// Keep implements store.Keeps.
func (c Common) Keep(ctx context.Context, pageID int64, formID string) (keep store.Keep, err error) {
	found, err := ReadKeeps(ctx, c.Database, SQLKeep, pageID, formID)
	if len(found) > 0 {
		keep = found[0]
	}
	return keep, err
}

// Keeps implements store.Keeps.
func (c Common) Keeps(ctx context.Context) ([]store.Keep, error) {
	return ReadKeeps(ctx, c.Database, SQLAllKeeps)
}

// ReadKeeps reads the rows of a statement.
func ReadKeeps(ctx context.Context, db Querier, sql string, args ...any) (keeps []store.Keep, err error) {
	var parseErr error
	err = db.Query(ctx, func(next Next) {
		keeps, parseErr = nil, nil
		var k store.Keep
		var period, before string
		var since, now int64
		for parseErr == nil && next(&k.PageID, &k.FormID, &period, &since, &before, &now) {
			if k.Period, parseErr = forms.ParsePeriod(period); parseErr == nil {
				k.Before, parseErr = forms.ParsePeriod(before)
			}
			k.Since, k.Now = time.UnixMilli(since).UTC(), time.UnixMilli(now).UTC()
			keeps = append(keeps, k)
		}
	}, sql, args...)
	return keeps, Wrap(cmp.Or(err, parseErr), "read keeps")
}

// LoadKeeps implements store.Archive.
func (c Common) LoadKeeps(ctx context.Context, keeps []store.Keep) error {
	all := []Statement{NewStatement(sqlClearKeeps)}
	for _, k := range keeps {
		all = append(all, NewStatement(sqlLoadKeep,
			k.PageID, k.FormID, k.Period.String(), k.Since.UnixMilli(), k.Before.String()))
	}
	return Wrap(c.Database.Transact(ctx, all...), "load keeps")
}

// Alone implements store.Keeps for an engine that one server uses at a time.
func (Common) Alone(_ context.Context, do func() error) error { return do() }
