package postgres

import (
	"context"
	"fmt"
	"slices"

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
	batch.Queue(sqlSubmissionIDs, submissions)
	if blocks > 0 {
		batch.Queue(sqlEntryIDs, blocks)
	}
	results := conn.SendBatch(ctx, batch)
	var ids idSource
	err := readIDs(results, &ids.submissions)
	if err == nil && blocks > 0 {
		err = readIDs(results, &ids.blocks)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return ids, fmt.Errorf("take ids: %w", err)
	}
	return ids, nil
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
