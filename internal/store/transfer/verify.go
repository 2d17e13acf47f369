package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// compare reads a copy, and returns ErrDifferent if it is not what was copied.
func compare(ctx context.Context, to Store, want Result, progress Progress) error {
	d := store.NewDigest()
	err := to.Dump(ctx, store.Key{}, func(r store.Record) error {
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

// maxFaults bounds how many faults are reported.
const maxFaults = 10

// Verify reads every submission of a store, in one snapshot. Its error
// lists those that can't be decoded, or have ids that were not assigned yet, one on
// each line.
func Verify(ctx context.Context, s Store, progress Progress) (Result, error) {
	total, err := s.Count(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("count submissions: %w", err)
	}
	d, faults, highest, files := store.NewDigest(), []error(nil), int64(0), int64(0)
	err = s.Dump(ctx, store.Key{}, func(r store.Record) error {
		if d.Add(r); d.Count%batchRows == 0 {
			progress(Verifying, d.Count, total)
		}
		_, err := r.Entries.Decode()
		if err = cmp.Or(err, r.Entries.CheckIDs(r.ID)); err != nil && len(faults) < maxFaults {
			faults = append(faults, fmt.Errorf("submission %d: %w", r.ID, err))
		}
		files += int64(len(r.Files))
		for _, err := range checkFiles(r) {
			if len(faults) < maxFaults {
				faults = append(faults, fmt.Errorf("submission %d: %w", r.ID, err))
			}
		}
		highest = max(highest, r.ID)
		return nil
	})
	if err != nil {
		return Result{}, fmt.Errorf("read submissions: %w", err)
	}
	progress(Verifying, d.Count, total)
	last, err := s.LastID(ctx) // at the end: ids that were assigned meanwhile count, too
	if err != nil {
		return Result{}, fmt.Errorf("read the last id: %w", err)
	}
	if highest > last {
		faults = append(faults, fmt.Errorf("submission %d has an id that was not given yet", highest))
	}
	return Result{Submissions: d.Count, Files: files, Checksum: d.Sum()}, errors.Join(faults...)
}
