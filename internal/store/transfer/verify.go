package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// compare reads a copy, and returns ErrDifferent if it is not what was copied.
func compare(ctx context.Context, to Store, want Result, progress Progress) error {
	d := store.NewDigest()
	err := to.Dump(ctx, func(r store.Record) error {
		if d.Add(r); d.Count%batchRows == 0 {
			progress(Verifying, d.Count, want.Submissions)
		}
		for _, err := range checkFiles(r) {
			return fmt.Errorf("%w: submission %d: %w", ErrDifferent, r.ID, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the copy again: %w", err)
	}
	progress(Verifying, d.Count, want.Submissions)
	if d.Count != want.Submissions || d.Sum() != want.Checksum {
		return fmt.Errorf("%w: source %d submissions, checksum %s; copy %d submissions, checksum %s. "+
			"Either one of them was written to, or what an interrupted run had copied has changed in the source since: "+
			"empty the target and start over", ErrDifferent, want.Submissions, want.Checksum, d.Count, d.Sum())
	}
	return nil
}

// checkFiles reads the contents of a submission's files, and returns what is
// wrong with them.
func checkFiles(r store.Record) (faults []error) {
	for _, f := range r.Files {
		file := r.Open(f)
		if err := errors.Join(engine.CheckFile(f, file), file.Close()); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}
