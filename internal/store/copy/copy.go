// Package copystore copies a store into another one, of the same engine or not,
// and makes sure that the copy is the same.
package copystore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Limits of a batch of submissions, which is stored in one transaction.
const (
	batchRows  = 1000
	batchBytes = 4 << 20
	// batchFileBytes bounds the contents of files that are staged for a batch:
	// they may be staged for an hour only.
	batchFileBytes = 64 << 20
)

// Progress is called with the number of submissions done in a stage of the
// copy, and the total that the source held when the copy began.
type Progress = func(stage, unit string, done, total int64)

const unit = "submissions"

// Errors of Copy.
var (
	ErrNotEmpty  = errors.New("the target is not empty: nothing is copied into a store that has submissions")
	ErrDifferent = errors.New("the copy differs from its source")
)

// Copy copies everything from one store to another: submissions with their
// ids, files and history, the events, the keeps, the ids that must not be given again, and the settings. It
// returns the number of submissions. What is copied is one snapshot; in the end
// the target is read and compared with it.
//
// The target must be empty. It is marked as an unfinished copy before anything
// is written to it, until the end. What an interrupted copy has left in it is
// removed, and the copy begins again.
func Copy(ctx context.Context, from, to store.Engine, progress Progress) (submissions int64, err error) {
	if err := prepare(ctx, from, to); err != nil {
		return 0, err
	}
	total, err := from.Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count submissions: %w", err)
	}
	c := &copier{to: to, source: newChecksum(), progress: func(done int64) { progress("copying", unit, done, total) }}
	err = engine.Wrap(c.run(ctx, from), "copy submissions")
	if err == nil {
		err = copySettings(ctx, from, to)
	}
	if err == nil {
		err = engine.Wrap(compare(ctx, to, c.source, progress), "compare the copy")
	}
	if err == nil {
		err = engine.Wrap(to.Release(ctx, store.SettingUnfinishedCopy), "mark the copy as complete")
	}
	if err != nil {
		return 0, err
	}
	return c.source.count, nil
}

// prepare marks the target as an unfinished copy, and empties one that is
// marked. A target that is refused is not changed.
func prepare(ctx context.Context, from, to store.Engine) error {
	source, sourceErr := from.Setting(ctx, store.SettingStoreID)
	target, targetErr := to.Setting(ctx, store.SettingStoreID)
	mark, markErr := to.Setting(ctx, store.SettingUnfinishedCopy)
	err := cmp.Or(engine.Wrap(sourceErr, "read the source's id"),
		engine.Wrap(targetErr, "read the target's id"), engine.Wrap(markErr, "look for an earlier copy"))
	switch {
	case err != nil:
		return err
	case source == target:
		return errors.New("source and target are the same store")
	case mark != "":
		return engine.Wrap(to.Clear(ctx), "remove what an interrupted copy has left")
	}
	count, err := to.Count(ctx)
	if err != nil {
		return fmt.Errorf("look for submissions in the target: %w", err)
	}
	if count > 0 {
		return ErrNotEmpty
	}
	_, err = to.Claim(ctx, store.SettingUnfinishedCopy, "of "+source)
	return engine.Wrap(err, "mark the copy as unfinished")
}

// copier stores what a dump yields.
type copier struct {
	to       store.Engine
	source   *checksum
	batch    []store.Record
	bytes    int
	staged   int64 // bytes of files, for this batch
	events   []store.Event
	progress func(done int64)
}

func (c *copier) run(ctx context.Context, from store.Engine) error {
	for d, err := range from.Dump(ctx) {
		switch {
		case err != nil:
		case d.Event != nil:
			c.source.addEvent(*d.Event)
			c.events = append(c.events, *d.Event)
		default:
			err = c.add(ctx, d.Record)
		}
		isFull := max(len(c.batch), len(c.events)) == batchRows || c.bytes >= batchBytes || c.staged >= batchFileBytes
		if err == nil && isFull {
			err = c.load(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err := c.load(ctx); err != nil {
		return err
	}
	keeps, err := from.Keeps(ctx)
	if err == nil {
		c.source.addKeeps(keeps)
		err = c.to.LoadKeeps(ctx, keeps)
	}
	return err
}

func (c *copier) add(ctx context.Context, r store.Record) (err error) {
	c.source.add(r)
	r.Entries = slices.Clone(r.Entries) // it is valid as long as the loop is at this record
	if r.Files, err = c.stageFiles(ctx, r); err != nil {
		return fmt.Errorf("submission %d: %w", r.ID, err)
	}
	if n := len(c.batch); n == 0 || c.batch[n-1].Definition != r.Definition { // else it is one text in memory
		c.bytes += len(r.Definition.Text)
	}
	c.batch = append(c.batch, r)
	c.bytes += len(r.Entries)
	for _, step := range r.History {
		c.bytes += 500 // about what a step takes in memory
		for id, value := range step.Before {
			c.bytes += len(id) + len(value)
		}
	}
	return nil
}

// stageFiles copies the contents of a submission's files, and returns the files
// with the ids that they have in the target.
func (c *copier) stageFiles(ctx context.Context, r store.Record) ([]forms.StoredFile, error) {
	files := slices.Clone(r.Files)
	for i, f := range files {
		file := r.Open(f)
		staging, cancel := context.WithCancel(ctx)
		staged, err := c.to.StageFile(staging, file)
		cancel() // Load names it soon: a long copy must not keep a context for each file
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

// load stores the batch and the events.
func (c *copier) load(ctx context.Context) error {
	if len(c.batch) > 0 {
		if err := c.to.Load(ctx, c.batch); err != nil {
			return err
		}
		c.progress(c.source.count)
	}
	if len(c.events) > 0 {
		if err := c.to.LoadEvents(ctx, c.events); err != nil {
			return err
		}
	}
	c.batch, c.events, c.bytes, c.staged = c.batch[:0], c.events[:0], 0, 0
	return nil
}

// copySettings copies the last id and the fingerprint of the key of anonymous submissions: a server may have claimed
// another one while the target was empty.
func copySettings(ctx context.Context, from, to store.Engine) error {
	last, err := from.LastID(ctx)
	if err == nil {
		err = to.Advance(ctx, last)
	}
	if err != nil {
		return fmt.Errorf("copy the last id: %w", err)
	}
	key, err := from.Setting(ctx, store.SettingAnonymousKey)
	if err == nil {
		err = to.Release(ctx, store.SettingAnonymousKey)
	}
	if err == nil && key != "" {
		_, err = to.Claim(ctx, store.SettingAnonymousKey, key)
	}
	return engine.Wrap(err, "copy settings")
}

// compare reads a copy, and returns ErrDifferent if it is not what was copied.
func compare(ctx context.Context, to store.Engine, want *checksum, progress Progress) error {
	found := newChecksum()
	for d, err := range to.Dump(ctx) {
		if err != nil {
			return err
		}
		if d.Event != nil {
			found.addEvent(*d.Event)
			continue
		}
		r := d.Record
		found.add(r)
		if found.count%batchRows == 0 {
			progress("comparing", unit, found.count, want.count)
		}
		for _, f := range r.Files {
			file := r.Open(f)
			if err := errors.Join(engine.CheckFile(f, file), file.Close()); err != nil {
				return fmt.Errorf("%w: submission %d: %w", ErrDifferent, r.ID, err)
			}
		}
	}
	keeps, err := to.Keeps(ctx)
	if err != nil {
		return err
	}
	found.addKeeps(keeps)
	progress("comparing", unit, found.count, want.count)
	if found.count != want.count || !bytes.Equal(found.hash.Sum(nil), want.hash.Sum(nil)) {
		return fmt.Errorf("%w: %d submissions were copied, and %d are there. "+
			"Is a server using the target? Stop it, and copy again",
			ErrDifferent, want.count, found.count)
	}
	return nil
}

// checksum is a running hash of submissions in the order of a dump. It is the
// same for every engine that holds them.
type checksum struct {
	count int64
	hash  hash.Hash
}

func newChecksum() *checksum { return &checksum{hash: sha256.New()} }

// add hashes a submission. Texts are quoted, so that "ab"+"c" and "a"+"bc" differ.
// The ids of files are left out: a copy has other ones.
func (c *checksum) add(r store.Record) {
	c.count++
	files := slices.Clone(r.Files)
	for i := range files {
		files[i].ID = 0
	}
	_, _ = fmt.Fprintf(c.hash, "%d %q %d %d %q %q %q %q %q %q %d %q %x %#v\n",
		r.PageID, r.FormID, r.ID, r.Created.UnixMilli(), r.Username, r.SubmitterKey, r.Key, r.Body, r.Entries,
		forms.EncodeFiles(files), r.Changed.UnixMilli(), r.Changer, r.Definition.Hash, r.History) // a hash takes everything
}

// addEvent hashes an event without its id: a copy has another one.
func (c *checksum) addEvent(e store.Event) {
	e.ID = 0
	_, _ = fmt.Fprintf(c.hash, "%#v\n", e) // a hash takes everything
}

func (c *checksum) addKeeps(keeps []store.Keep) {
	for _, k := range keeps {
		k.Now = time.Time{}
		_, _ = fmt.Fprintf(c.hash, "%#v\n", k) // a hash takes everything
	}
}
