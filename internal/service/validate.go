package service

import (
	"context"

	"github.com/formulary/formulary/internal/forms"
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
	return a.explain(a.service.store.Refusal(ctx, n))
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
