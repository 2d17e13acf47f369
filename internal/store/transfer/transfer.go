// Package transfer copies a store into another one, of the same engine or not,
// and makes sure that the copy is the same.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Store is what can be copied from and to. Every engine is one.
type Store interface {
	store.Archive
	store.Settings
	store.Files
}

// Limits of a batch of submissions. A batch is stored in one transaction, so that
// an interrupted copy ends between two batches.
const (
	batchRows  = 1000
	batchBytes = 4 << 20
	// batchFileBytes bounds the contents of files that are staged for a batch:
	// they may be staged for an hour only.
	batchFileBytes = 64 << 20
)

// Stages of a copy.
const (
	Copying   = "copying"
	Verifying = "verifying"
)

// Progress is called with the number of submissions done, and the total. The
// total is what the source held when the copy began.
type Progress func(stage string, done, total int64)

// Result is what was copied, or verified.
type Result struct {
	Submissions int64
	Files       int64
	Resumed     int64  // of these, stored by an earlier run that was interrupted
	Checksum    string // of all content, the same in source and target
}

// Errors of Copy.
var (
	ErrNotEmpty  = errors.New("the target is not empty")
	ErrDifferent = errors.New("the copy differs from its source")
)

// Copy copies everything from one store to another: submissions with their
// ids, the ids that must not be given again, and the settings. The target must
// be empty, or hold what an earlier run has copied from the same store before
// it was interrupted; that is kept. What is copied is one snapshot, and in the
// end the target is read again and compared with it.
func Copy(ctx context.Context, from, to Store, progress Progress) (Result, error) {
	begun, err := prepare(ctx, from, to)
	if err != nil {
		return Result{}, err
	}
	total, err := from.Count(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("count submissions: %w", err)
	}
	c := &copier{to: to, after: begun, digest: store.NewDigest(), progress: func(done int64) { progress(Copying, done, total) }}
	// Before the first batch: some engines do extra work for each batch that
	// brings higher ids than their sequence has.
	if err := copyLastID(ctx, from, to); err != nil {
		return Result{}, err
	}
	if err := c.run(ctx, from); err != nil {
		return Result{}, err
	}
	if err := copyRest(ctx, from, to); err != nil {
		return Result{}, err
	}
	result := Result{Submissions: c.digest.Count, Files: c.files, Resumed: c.resumed, Checksum: c.digest.Sum()}
	if err := compare(ctx, to, result, progress); err != nil {
		return result, err
	}
	if err := to.Release(ctx, store.SettingCopyOf); err != nil {
		return result, fmt.Errorf("mark the copy as complete: %w", err)
	}
	return result, nil
}

// prepare marks the target as an unfinished copy, and returns the last key
// that it holds already.
func prepare(ctx context.Context, from, to Store) (store.Key, error) {
	source, err := from.Setting(ctx, store.SettingStoreID)
	if err != nil {
		return store.Key{}, fmt.Errorf("read the source's id: %w", err)
	}
	target, err := to.Setting(ctx, store.SettingStoreID)
	if err != nil {
		return store.Key{}, fmt.Errorf("read the target's id: %w", err)
	}
	if source == target {
		return store.Key{}, errors.New("source and target are the same store")
	}
	copyOf, err := to.Setting(ctx, store.SettingCopyOf)
	if err != nil {
		return store.Key{}, fmt.Errorf("look for an earlier copy: %w", err)
	}
	last, err := to.Last(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return store.Key{}, fmt.Errorf("look for submissions in the target: %w", err)
	case copyOf == "":
		return store.Key{}, fmt.Errorf("%w: nothing is copied into a store that has submissions", ErrNotEmpty)
	}
	// Claimed last, so that a target that is refused is not changed.
	if copyOf, err = to.Claim(ctx, store.SettingCopyOf, source); err != nil {
		return store.Key{}, fmt.Errorf("mark the copy as unfinished: %w", err)
	}
	if copyOf != source {
		return store.Key{}, fmt.Errorf("%w: it holds an unfinished copy of another store", ErrNotEmpty)
	}
	return last, nil
}

// copier stores what a dump visits.
type copier struct {
	to       Store
	after    store.Key // submissions up to this key are in the target already
	digest   *store.Digest
	resumed  int64
	batch    []store.Record
	bytes    int
	staged   int64 // bytes of files, for this batch
	files    int64
	progress func(done int64)
}

func (c *copier) run(ctx context.Context, from Store) error {
	err := from.Dump(ctx, func(r store.Record) error {
		c.digest.Add(r)
		c.files += int64(len(r.Files))
		if !isAfter(r, c.after) {
			c.resumed++
			return nil
		}
		r.Entries = slices.Clone(r.Entries) // it is valid until visit returns
		var err error
		if r.Files, err = c.stageFiles(ctx, r); err != nil {
			return fmt.Errorf("submission %d: %w", r.ID, err)
		}
		c.batch = append(c.batch, r)
		c.bytes += len(r.Entries)
		if len(c.batch) == batchRows || c.bytes >= batchBytes || c.staged >= batchFileBytes {
			return c.store(ctx)
		}
		return nil
	})
	if err == nil {
		err = c.store(ctx)
	}
	if err != nil {
		return fmt.Errorf("copy submissions: %w", err)
	}
	return nil
}

// stageFiles copies the contents of a submission's files, and returns the files
// with the ids that they have in the target. What an interrupted copy has staged
// is removed by the target like every upload that was not finished.
func (c *copier) stageFiles(ctx context.Context, r store.Record) ([]forms.StoredFile, error) {
	files := slices.Clone(r.Files)
	for i, f := range files {
		file := r.Open(f)
		staging, cancel := context.WithCancel(ctx)
		staged, err := c.to.StageFile(staging, file)
		cancel() // it is named soon: a long copy must not remember all files
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("copy file %q: %w", f.Name, err)
		}
		if staged.Size != f.Size || staged.SHA256 != f.SHA256 {
			return nil, fmt.Errorf("copy file %q: its content is not what was stored: the source is damaged", f.Name)
		}
		files[i].ID = staged.ID
		c.staged += f.Size
	}
	return files, nil
}

func (c *copier) store(ctx context.Context) error {
	if len(c.batch) == 0 {
		return nil
	}
	if err := c.to.Load(ctx, c.batch); err != nil {
		return err
	}
	c.batch, c.bytes, c.staged = c.batch[:0], 0, 0
	c.progress(c.digest.Count)
	return nil
}

// isAfter reports whether a dump visits r after the key.
func isAfter(r store.Record, key store.Key) bool {
	if r.PageID != key.PageID {
		return r.PageID > key.PageID
	}
	if r.FormID != key.FormID {
		return r.FormID > key.FormID
	}
	return r.ID > key.ID
}

func copyLastID(ctx context.Context, from, to Store) error {
	last, err := from.LastID(ctx)
	if err == nil {
		err = to.Advance(ctx, last)
	}
	if err != nil {
		return fmt.Errorf("copy the ids that were given: %w", err)
	}
	return nil
}

// copyRest copies what is not a submission. Ids that were given during the
// copy count as given, too.
func copyRest(ctx context.Context, from, to Store) error {
	if err := copyLastID(ctx, from, to); err != nil {
		return err
	}
	key, err := from.Setting(ctx, store.SettingOnceKey)
	if err == nil && key != "" {
		// A server may have claimed another while the target was empty.
		if err = to.Release(ctx, store.SettingOnceKey); err == nil {
			_, err = to.Claim(ctx, store.SettingOnceKey, key)
		}
	}
	if err != nil {
		return fmt.Errorf("copy settings: %w", err)
	}
	return nil
}
