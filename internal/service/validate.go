package service

import (
	"cmp"
	"context"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// ValidateNew returns the error that Create would return now. It stores nothing.
// The files of the answers are dropped.
func (a *Access) ValidateNew(ctx context.Context, answers []forms.Answer, key string) error {
	defer a.DropFiles(ctx, StagedFiles(answers))
	if a.blocked {
		return errBlocked
	}
	release, err := a.service.largeWrites.acquire(ctx, sizeOf(answers))
	if err != nil {
		return err
	}
	defer release()
	if key != "" {
		if _, found, err := a.replay(ctx, a.repeatable(key, answers)); err != nil || found {
			return err
		}
	}
	n, err := a.newSubmission(answers)
	if err != nil {
		return err
	}
	return a.explain(a.refusal(ctx, n))
}

// refusal returns the error of a create that is due to what is stored.
func (a *Access) refusal(ctx context.Context, n store.New) error {
	if submitted, err := a.service.store.Submitted(ctx, n); err != nil || submitted {
		return cmp.Or(err, store.ErrAlreadySubmitted)
	}
	if full, err := a.service.store.AtLimit(ctx, n); err != nil || full {
		return cmp.Or(err, store.ErrLimit)
	}
	return nil
}

// ValidateMerge returns the error that Merge would return for the submission as
// it is stored now. It changes nothing. The files of the answers are dropped.
func (a *Access) ValidateMerge(ctx context.Context, id int64, answers []forms.Answer, pre Precondition) error {
	defer a.DropFiles(ctx, StagedFiles(answers))
	stored, err := a.Get(ctx, id)
	if err != nil {
		return err
	}
	release, err := a.service.largeWrites.acquire(ctx, len(stored.Entries)+sizeOf(answers))
	if err != nil {
		return err
	}
	defer release()
	_, err = a.merge(stored, answers, pre)
	return Explain(err)
}
