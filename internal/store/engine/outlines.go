package engine

import (
	"context"

	"github.com/formulary/formulary/internal/store"
)

// The statements of outlines.
const (
	SQLOutlines   = `SELECT outline FROM outlines ORDER BY set_at DESC, page_id`
	SQLSetOutline = `INSERT INTO outlines (page_id, outline, set_at) VALUES ($1, $2, {now})
		ON CONFLICT (page_id) DO UPDATE SET outline = excluded.outline, set_at = excluded.set_at`
	// SQLTrimOutlines keeps the $1 that were set last, and no empty one.
	SQLTrimOutlines = `DELETE FROM outlines
		WHERE outline = '' OR page_id {of}SELECT page_id FROM outlines ORDER BY set_at DESC, page_id LIMIT 1000000 OFFSET $1{end}`
)

// SetOutline implements store.Outlines.
func (c Common) SetOutline(ctx context.Context, pageID int64, outline string) error {
	err := c.Database.Transact(ctx,
		NewStatement(SQLSetOutline, pageID, outline),
		NewStatement(SQLTrimOutlines, int64(store.MaxOutlines)))
	return Wrap(err, "store the outline of page %d", pageID)
}

// Outlines implements store.Outlines.
func (c Common) Outlines(ctx context.Context) (all []string, err error) {
	err = c.Database.Query(ctx, func(next Next) {
		all = nil
		for outline := ""; next(&outline); {
			all = append(all, outline)
		}
	}, SQLOutlines)
	return all, Wrap(err, "read outlines of pages")
}
