package testsite

import (
	"context"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Store is a real store that can be made to fail.
type Store struct {
	store.Store
	store.Files
	before atomic.Pointer[func(ctx context.Context, operation string) error]
	row    atomic.Pointer[func(n int) error]

	mu        sync.Mutex
	stagedIDs map[int64]bool // see Staged
}

// NewStore returns a store that does what the engine does.
func NewStore(engine store.Engine) *Store {
	return &Store{Store: engine, Files: engine, stagedIDs: map[int64]bool{}}
}

// FailWith has a function asked before every operation, by its name. Its error is
// that of the operation.
func (s *Store) FailWith(f func(ctx context.Context, operation string) error) { s.before.Store(&f) }

// FailAtRow has a function asked after each row of a scan, counted from 1.
func (s *Store) FailAtRow(f func(n int) error) { s.row.Store(&f) }

func (s *Store) ask(ctx context.Context, operation string) error {
	if f := s.before.Load(); f != nil {
		return (*f)(ctx, operation)
	}
	return nil
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, n store.New) (forms.Submission, error) {
	if err := s.ask(ctx, "create"); err != nil {
		return forms.Submission{}, err
	}
	sub, err := s.Store.Create(ctx, n)
	s.unstage(sub.Files)
	return sub, err
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	if err := s.ask(ctx, "get"); err != nil {
		return forms.Submission{}, err
	}
	return s.Store.Get(ctx, key)
}

// ByKey implements store.Store.
func (s *Store) ByKey(ctx context.Context, pageID int64, formID, key string) (forms.Submission, string, error) {
	if err := s.ask(ctx, "by key"); err != nil {
		return forms.Submission{}, "", err
	}
	return s.Store.ByKey(ctx, pageID, formID, key)
}

// Tallies implements store.Store.
func (s *Store) Tallies(ctx context.Context, list []store.New) ([]store.Tally, error) {
	if err := s.ask(ctx, "tallies"); err != nil {
		return nil, err
	}
	return s.Store.Tallies(ctx, list)
}

// Latest implements store.Store.
func (s *Store) Latest(ctx context.Context, username string) ([]forms.Submission, error) {
	if err := s.ask(ctx, "latest"); err != nil {
		return nil, err
	}
	return s.Store.Latest(ctx, username)
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, key store.Key, merge func(forms.Submission) (store.Change, error)) (forms.Submission, error) {
	if err := s.ask(ctx, "update"); err != nil {
		return forms.Submission{}, err
	}
	sub, err := s.Store.Update(ctx, key, merge)
	s.unstage(sub.Files)
	return sub, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key store.Key, check func(forms.Submission) error, events ...store.Event) error {
	if err := s.ask(ctx, "delete"); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key, check, events...)
}

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query) iter.Seq2[forms.Submission, error] {
	return func(yield func(forms.Submission, error) bool) {
		if err := s.ask(ctx, "scan"); err != nil {
			yield(forms.Submission{}, err)
			return
		}
		n := 0
		for sub, err := range s.Store.Scan(ctx, q) {
			if !yield(sub, err) || err != nil {
				return
			}
			n++
			f := s.row.Load()
			if f == nil {
				continue
			}
			if err := (*f)(n); err != nil {
				yield(forms.Submission{}, err)
				return
			}
		}
	}
}

// Staged are the contents that were staged, and neither dropped nor named by a
// submission.
func (s *Store) Staged() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.stagedIDs))
}

func (s *Store) unstage(files []forms.StoredFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		delete(s.stagedIDs, f.ID)
	}
}

// StageFile implements store.Files.
func (s *Store) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	if err := s.ask(ctx, "stage"); err != nil {
		return forms.StoredFile{}, err
	}
	f, err := s.Files.StageFile(ctx, r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stagedIDs[f.ID] = true
	}
	return f, err
}

// DropFile implements store.Files.
func (s *Store) DropFile(id int64) {
	s.Files.DropFile(id)
	s.unstage([]forms.StoredFile{{ID: id}})
}

// OpenFile implements store.Files.
func (s *Store) OpenFile(ctx context.Context, key store.Key, id int64) (io.ReadSeekCloser, error) {
	if err := s.ask(ctx, "open"); err != nil {
		return nil, err
	}
	return s.Files.OpenFile(ctx, key, id)
}
