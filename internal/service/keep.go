package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
)

// recordKeep stores how long a form keeps its submissions, once after its page was read. If that fails, the next call
// tries again: callers that open a form go on without it.
func (s *Service) recordKeep(ctx context.Context, form *forms.Form) error {
	if form.KeepStored().Load() {
		return nil
	}
	err := s.opts.Store.SetKeep(ctx, form.PageID, form.ID, form.Keep)
	if err == nil {
		form.KeepStored().Store(true)
	}
	return err
}

// RunSweeps deletes submissions that their forms do not keep any longer: now, and whenever interval has passed, until
// ctx ends.
func (s *Service) RunSweeps(ctx context.Context, interval time.Duration, log *slog.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := s.sweep(ctx, log); err != nil && ctx.Err() == nil {
			log.Error("submissions that forms do not keep any longer can't be deleted; the next sweep tries again",
				"interval", interval, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep makes one sweep, on one server at a time. Before that, each server stores the keeps of all forms in its memory:
// the page may have a longer keep now, or none.
func (s *Service) sweep(ctx context.Context, log *slog.Logger) error {
	filled, err := s.opts.Store.CountForms(ctx, 0, 1)
	for _, f := range filled {
		if page := s.opts.Pages.LastKnown(f.PageID); page != nil && page.Form(f.FormID) != nil {
			err = errors.Join(err, s.recordKeep(ctx, page.Form(f.FormID)))
		}
	}
	if err != nil {
		return err
	}
	return s.opts.Store.Alone(ctx, func() error {
		keeps, err := s.opts.Store.Keeps(ctx)
		for _, k := range keeps {
			deleted, formErr := s.sweepForm(ctx, k.PageID, k.FormID)
			if deleted > 0 {
				log.Info("submissions deleted that the form does not keep any longer",
					"page", k.PageID, "form", k.FormID, "submissions", deleted)
			}
			err = errors.Join(err, formErr)
		}
		return err
	})
}

// sweepRows is how many submissions of a form a sweep looks at a time. It ends where none of so many is too old: ids
// are nearly in the order of time, so that the newer ones need not be read. If the clock of a server was ahead while
// more than these were created, what follows them is deleted later, by as much as the clock was ahead.
const sweepRows = 1000

// sweepForm deletes the submissions of a form that are too old, one by one: a write of somebody else waits for one of
// them at most. Nothing of the form but its id is needed, since it may have left its page.
func (s *Service) sweepForm(ctx context.Context, pageID int64, formID string) (deleted int, err error) {
	a := &Access{Form: &forms.Form{PageID: pageID, ID: formID}, page: &pages.Page{}, service: s}
	q := store.Query{PageID: pageID, FormID: formID, Limit: sweepRows}
	for {
		keep, err := s.opts.Store.Keep(ctx, pageID, formID) // it may be taken back while a long sweep runs
		if err != nil {
			return deleted, err
		}
		now := keep.Now.In(s.opts.Zone)
		oldest := keep.InForce(now).Before(now)
		due := false
		err = s.opts.Store.Scan(ctx, q, func(sub forms.Submission) error {
			if q.After = sub.ID; !sub.Created.Before(oldest) {
				return nil
			}
			due, a.anonymous = true, sub.Username == ""
			told := a.events(store.SubmissionDeleted, s.opts.Now(), nil)
			err := s.opts.Store.Delete(ctx, a.key(sub.ID), nil, told...)
			a.countWrite()
			if err == nil {
				deleted++
			} else if errors.Is(err, store.ErrNotFound) { // somebody has deleted it meanwhile
				err = nil
			}
			return err
		})
		if err != nil || !due {
			return deleted, err
		}
	}
}
