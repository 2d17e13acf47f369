package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	storeKeepsInterval = 10 * time.Second // how soon keeps are stored after their page was read
	lastKeepsTimeout   = 2 * time.Second  // for those that are stored at the end
)

// RunSweeps deletes submissions that their forms do not keep any longer: now, and whenever interval has passed, until
// ctx ends. Between sweeps it stores what pages say now: a form may be gone from its page at the next sweep. It does so
// at the end, too: another start would not know that a keep was taken back.
func (s *Service) RunSweeps(ctx context.Context, interval time.Duration, log *slog.Logger) {
	sweeps, stores := time.NewTicker(interval), time.NewTicker(storeKeepsInterval)
	defer sweeps.Stop()
	defer stores.Stop()
	err := s.sweep(ctx, log)
	for {
		if err != nil && ctx.Err() == nil {
			log.Error("submissions that forms do not keep any longer can't be deleted; it is tried again", "error", err)
		}
		select {
		case <-sweeps.C:
			err = s.sweep(ctx, log)
		case <-stores.C:
			err = s.storeKeeps(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastKeepsTimeout)
			defer cancel()
			if err = s.storeKeeps(last); err != nil {
				log.Error("what pages say of keep now can't be stored", "error", err)
			}
			return
		}
	}
}

// storeKeeps stores how long forms keep their submissions, as it was read of pages.
func (s *Service) storeKeeps(ctx context.Context) error {
	return s.opts.Pages.StoreKeeps(func(pageID int64, formID string, keep forms.Period) error {
		return s.opts.Store.SetKeep(ctx, pageID, formID, keep)
	})
}

// sweep makes one sweep of submissions and then of definitions, on one server at a time. Before that, each server
// stores keeps: a page may have a longer one now, or none.
func (s *Service) sweep(ctx context.Context, log *slog.Logger) error {
	if err := s.storeKeeps(ctx); err != nil {
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
		return errors.Join(err, s.opts.Store.SweepDefinitions(ctx))
	})
}

// sweepRows is how many submissions of a form a sweep looks at a time. It ends where none of so many is too old: ids
// are nearly in the order of time, so that the newer ones need not be read. If the clock of a server was ahead while
// more than these were created, what follows them is deleted later, by as much as the clock was ahead.
const sweepRows = 1000

// sweepForm deletes the submissions of a form that are too old, one by one: a write of somebody else waits for one of
// them at most. Nothing of the form but its id is needed, since it may have left its page.
func (s *Service) sweepForm(ctx context.Context, pageID int64, formID string) (deleted int, err error) {
	q := store.Query{PageID: pageID, FormID: formID, Limit: sweepRows}
	for {
		err := s.storeKeeps(ctx) // it may be taken back while a long sweep runs
		if err != nil {
			return deleted, err
		}
		keep, err := s.opts.Store.Keep(ctx, pageID, formID)
		if err != nil {
			return deleted, err
		}
		now := keep.Now.In(s.opts.Zone)
		oldest := keep.InForce(now).Before(now)
		due := false
		for sub, err := range s.opts.Store.Scan(ctx, q) {
			if q.After = sub.ID; err == nil && sub.Created.Before(oldest) {
				due = true
				if err = s.remove(ctx, keyOf(sub), sub.Username == "", nil); err == nil {
					deleted++
				}
			}
			if err = unlessGone(err); err != nil {
				return deleted, err
			}
		}
		if !due {
			return deleted, nil
		}
	}
}
