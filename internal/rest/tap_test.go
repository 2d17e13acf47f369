package rest

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// tap is the real store with a place to make it fail: before is asked ahead of
// every operation, and row after each row of a scan, counted from 1.
type tap struct {
	store.Store
	store.Files
	before atomic.Pointer[func(ctx context.Context, operation string) error]
	row    atomic.Pointer[func(n int) error]

	mu        sync.Mutex
	stagedIDs map[int64]bool // see staged
}

func (s *tap) failWith(f func(ctx context.Context, operation string) error) { s.before.Store(&f) }

func (s *tap) failAtRow(f func(n int) error) { s.row.Store(&f) }

func (s *tap) ask(ctx context.Context, operation string) error {
	if f := s.before.Load(); f != nil {
		return (*f)(ctx, operation)
	}
	return nil
}

func (s *tap) Create(ctx context.Context, n store.New) (forms.Submission, error) {
	if err := s.ask(ctx, "create"); err != nil {
		return forms.Submission{}, err
	}
	sub, err := s.Store.Create(ctx, n)
	s.unstage(sub.Files)
	return sub, err
}

func (s *tap) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	if err := s.ask(ctx, "get"); err != nil {
		return forms.Submission{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s *tap) ByKey(ctx context.Context, pageID int64, formID, key string) (forms.Submission, string, error) {
	if err := s.ask(ctx, "by key"); err != nil {
		return forms.Submission{}, "", err
	}
	return s.Store.ByKey(ctx, pageID, formID, key)
}

func (s *tap) Submitted(ctx context.Context, n store.New) (bool, error) {
	if err := s.ask(ctx, "submitted"); err != nil {
		return false, err
	}
	return s.Store.Submitted(ctx, n)
}

func (s *tap) Latest(ctx context.Context, username string, among []store.FormKey, limit int) ([]forms.Submission, error) {
	if err := s.ask(ctx, "latest"); err != nil {
		return nil, err
	}
	return s.Store.Latest(ctx, username, among, limit)
}

func (s *tap) Update(ctx context.Context, key store.Key, merge func(forms.Submission) (store.Change, error)) (forms.Submission, error) {
	if err := s.ask(ctx, "update"); err != nil {
		return forms.Submission{}, err
	}
	sub, err := s.Store.Update(ctx, key, merge)
	s.unstage(sub.Files)
	return sub, err
}

func (s *tap) Delete(ctx context.Context, key store.Key, check func(forms.Submission) error) error {
	if err := s.ask(ctx, "delete"); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key, check)
}

func (s *tap) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	if err := s.ask(ctx, "scan"); err != nil {
		return err
	}
	n := 0
	return s.Store.Scan(ctx, q, func(sub forms.Submission) error {
		if err := visit(sub); err != nil {
			return err
		}
		n++
		if f := s.row.Load(); f != nil {
			return (*f)(n)
		}
		return nil
	})
}

// staged are the contents that were staged, and neither dropped nor named by a
// submission.
func (s *tap) staged() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.stagedIDs))
}

func (s *tap) unstage(files []forms.StoredFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		delete(s.stagedIDs, f.ID)
	}
}

func (s *tap) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
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

func (s *tap) DropFile(ctx context.Context, id int64) error {
	err := s.Files.DropFile(ctx, id)
	if err == nil {
		s.unstage([]forms.StoredFile{{ID: id}})
	}
	return err
}

func (s *tap) OpenFile(ctx context.Context, key store.Key, id int64) (io.ReadSeekCloser, error) {
	if err := s.ask(ctx, "open"); err != nil {
		return nil, err
	}
	return s.Files.OpenFile(ctx, key, id)
}
