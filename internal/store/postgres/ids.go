package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
)

// entryBlock is the increment of the sequence of entry ids: each nextval
// allocates a block of ids. The submissions of a batch share its blocks, and
// the rest of the last block is discarded. Ids kept for later would be out of
// order, and could collide with those of submissions loaded in the meantime.
const entryBlock = 16

// ids are allocated from both sequences for a batch.
type ids struct {
	submissions []int64
	blocks      []int64 // the first id of each block of entry ids
	used        int64   // how many ids of the first block are used
}

// idRequest is the argument of sqlTakeIDs: true for each block of entry ids,
// false for each submission id.
func idRequest(submissions, entries int) []bool {
	blocks := (entries + entryBlock - 1) / entryBlock
	all := make([]bool, submissions+blocks)
	for i := range blocks {
		all[i] = true
	}
	return all
}

// takeIDs allocates exactly the ids that are needed, right before they are
// used. So ids are in the order of time across all processes.
func takeIDs(ctx context.Context, conn *pgx.Conn, submissions, entries int) (ids, error) {
	rows, err := conn.Query(ctx, sqlTakeIDs, idRequest(submissions, entries))
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

// submission returns the id of the next submission.
func (i *ids) submission() int64 {
	id := i.submissions[0]
	i.submissions = i.submissions[1:]
	return id
}

// assign returns a copy of the entries in which those without an id have one.
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

// countWithoutID counts the entries that have no id.
func countWithoutID(entries []forms.Entry) (count int) {
	for _, e := range entries {
		if e.ID == 0 {
			count++
		}
	}
	return count
}
