package sqlite

import (
	"errors"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// change runs a write of a submission, which returns the row id. It makes the
// contents of the files follow, and stores the events.
func (t *tx) change(
	before, after []forms.StoredFile, events []store.Event, write func() (rowID int64, err error),
) (err error) {
	var rowID int64
	if slices.Equal(before, after) {
		rowID, err = write()
	} else {
		err = t.atomically(func() error {
			if rowID, err = write(); err != nil {
				return err
			}
			return t.changeFiles(before, after)
		})
	}
	if err != nil {
		return err
	}
	err = t.insertEvents(rowID>>idBits, submissionID(rowID), events)
	if err != nil { // the disk is full or faulty: a savepoint for it would cost half of a create
		_ = t.conn.run(sqlRollback)
	}
	return err
}

// changeFiles makes the contents of a submission follow its files: what is
// new becomes the submission's, and what is gone is marked to be removed. To be
// called within atomically.
func (t *tx) changeFiles(before, after []forms.StoredFile) error {
	added, removed := engine.DiffFiles(before, after)
	for _, id := range added {
		if err := t.conn.run(`DELETE FROM staged_files WHERE id = ? AND removed = 0`, id); err != nil {
			return err
		}
		if t.conn.Changes() == 0 {
			return store.ErrNoFile
		}
	}
	for _, id := range removed {
		if err := t.conn.run(`INSERT INTO staged_files VALUES (?, 0, 1)`, id); err != nil {
			return err
		}
	}
	return nil
}

// atomically runs an operation of several statements that must succeed or fail
// together.
func (t *tx) atomically(run func() error) error {
	if err := t.conn.Exec(`SAVEPOINT operation`); err != nil {
		return err
	}
	err := run()
	if err == nil {
		return t.conn.Exec(`RELEASE operation`)
	}
	if undo := t.conn.Exec(`ROLLBACK TO operation; RELEASE operation`); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}
