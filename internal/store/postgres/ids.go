package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// entryBlock is how many ids one step of the sequence of entry ids stands for.
// The submissions of a batch share its blocks. What they leave over is
// nobody's: ids that a process kept for later would be out of order, and could
// be those of submissions that are loaded meanwhile.
const entryBlock = 16

// ids is what was taken of both sequences for a batch.
type ids struct {
	submissions []int64
	blocks      []int64 // the first ids of blocks of entry ids
	used        int64   // of the first block
}

// steps are those of both sequences that give so many ids: true for a block of
// entry ids, false for a submission's.
func steps(submissions, entries int) []bool {
	blocks := (entries + entryBlock - 1) / entryBlock
	all := make([]bool, submissions+blocks)
	for i := range blocks {
		all[i] = true
	}
	return all
}

// takeIDs takes as many ids as are needed, right before they are, so that ids
// are in the order of time, whoever of all processes gives them.
func takeIDs(ctx context.Context, conn *pgx.Conn, submissions, entries int) (ids, error) {
	rows, err := conn.Query(ctx, sqlTakeIDs, steps(submissions, entries))
	if err != nil {
		return ids{}, fmt.Errorf("take ids: %w", err)
	}
	return readIDs(rows)
}

func readIDs(rows pgx.Rows) (taken ids, err error) {
	var block bool
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&block, &id}, func() error {
		if block {
			taken.blocks = append(taken.blocks, id)
		} else {
			taken.submissions = append(taken.submissions, id)
		}
		return nil
	})
	if err != nil {
		return ids{}, fmt.Errorf("take ids: %w", err)
	}
	return taken, nil
}

// last is the highest of them.
func (i *ids) last() (last store.Sequences) {
	if len(i.submissions) > 0 {
		last.Submission = slices.Max(i.submissions)
	}
	if len(i.blocks) > 0 {
		last.Entry = slices.Max(i.blocks) + entryBlock - 1
	}
	return last
}

// submission returns the id of the next submission.
func (i *ids) submission() int64 {
	id := i.submissions[0]
	i.submissions = i.submissions[1:]
	return id
}

// assign returns the entries with ids given to those that have none yet. The
// caller's stay as they are.
func (i *ids) assign(entries []forms.Entry) []forms.Entry {
	entries = slices.Clone(entries)
	for n := range entries {
		if entries[n].ID == 0 {
			entries[n].ID = i.entry()
		}
	}
	return entries
}

func (i *ids) entry() int64 {
	id := i.blocks[0] + i.used
	if i.used++; i.used == entryBlock {
		i.blocks, i.used = i.blocks[1:], 0
	}
	return id
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
