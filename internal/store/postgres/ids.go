package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
)

// entryBlock is how many ids one step of the sequence of entry ids stands for.
// Most submissions have fewer entries and take one step. What they leave over
// is nobody's: ids that a process kept for later would be out of order, and
// could be those of submissions that are loaded meanwhile.
const entryBlock = 16

// idSource is what was taken of both sequences for a batch.
type idSource struct {
	submissions []int64
	blocks      []int64 // the first ids of blocks of entry ids
}

// blocksFor is how many blocks it takes for so many entries.
func blocksFor(entries int) int { return (entries + entryBlock - 1) / entryBlock }

// takeIDs takes exactly as many ids as are needed, so that ids are in the
// order of time, whoever of all processes gives them.
func takeIDs(ctx context.Context, conn *pgx.Conn, submissions, blocks int) (idSource, error) {
	batch := &pgx.Batch{}
	queueIDs(batch, submissions, blocks)
	results := conn.SendBatch(ctx, batch)
	var ids idSource
	err := ids.read(results, blocks > 0)
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return ids, fmt.Errorf("take ids: %w", err)
	}
	return ids, nil
}

func queueIDs(batch *pgx.Batch, submissions, blocks int) {
	batch.Queue(sqlSubmissionIDs, submissions)
	if blocks > 0 {
		batch.Queue(sqlEntryIDs, blocks)
	}
}

func (s *idSource) read(results pgx.BatchResults, blocks bool) error {
	err := readIDs(results, &s.submissions)
	if err == nil && blocks {
		err = readIDs(results, &s.blocks)
	}
	return err
}

// spareIDs were taken for a batch to come.
type spareIDs struct {
	ids      idSource
	taken    time.Time
	advances int64 // of the store, when they were taken
}

// spareFor is how long spare ids are good for. Ids tell the order of
// submissions, so what is kept for longer is left as a gap.
const spareFor = 50 * time.Millisecond

func (s *spareIDs) put(ids idSource, advances int64) {
	*s = spareIDs{ids, time.Now(), advances}
}

// take returns ids if there are enough and they are still good.
func (s *spareIDs) take(submissions, blocks int, advances int64) (ids idSource, ok bool) {
	if len(s.ids.submissions) < submissions || len(s.ids.blocks) < blocks || s.advances != advances || time.Since(s.taken) > spareFor {
		return idSource{}, false
	}
	ids = idSource{s.ids.submissions[:submissions], s.ids.blocks[:blocks]}
	s.ids = idSource{s.ids.submissions[submissions:], s.ids.blocks[blocks:]}
	return ids, true
}

func readIDs(results pgx.BatchResults, ids *[]int64) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	*ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	return err
}

// next returns the id of the next submission.
func (s *idSource) next() int64 {
	id := s.submissions[0]
	s.submissions = s.submissions[1:]
	return id
}

// assign returns the entries with ids given to those that have none yet. The
// caller's stay as they are.
func (s *idSource) assign(entries []forms.Entry) []forms.Entry {
	entries = slices.Clone(entries)
	used := 0
	for i := range entries {
		if entries[i].ID != 0 {
			continue
		}
		entries[i].ID = s.blocks[used/entryBlock] + int64(used%entryBlock)
		used++
	}
	s.blocks = s.blocks[blocksFor(used):]
	return entries
}

// without counts the entries that have no id.
func without(entries []forms.Entry) (count int) {
	for _, e := range entries {
		if e.ID == 0 {
			count++
		}
	}
	return count
}
