package service

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// step is what the history keeps of a change by the caller. On anonymous forms it tells
// the day only: the time could tell who it was.
func (a *Access) step(now time.Time, before map[string]string) *store.Step {
	if a.anonymous { // where all may edit, the editor may be the submitter
		return &store.Step{At: forms.StartOfDay(now), Before: before}
	}
	return &store.Step{At: now, Username: a.user, Before: before}
}

// History returns the changes of a submission that was read before, the oldest first. Callers
// who are no editors don't see those of texts that only editors write.
func (a *Access) History(ctx context.Context, sub forms.Submission) ([]forms.Step, error) {
	again := func() (forms.Submission, error) { return a.Get(ctx, sub.ID) }
	_, all, err := a.service.readHistory(ctx, a.Form, sub, again)
	steps := all[:0]
	for _, step := range all {
		if a.Form.Anonymous {
			step.At, step.Username = forms.StartOfDay(step.At.In(a.conf.Zone)), ""
		}
		removed := len(step.Changes) == 0
		step.Changes = slices.DeleteFunc(step.Changes, func(c forms.ValueChange) bool { return !a.mayReadChange(c) })
		if removed || len(step.Changes) > 0 {
			steps = append(steps, step)
		}
	}
	return steps, Explain(err)
}

// readHistory returns the changes of a submission, the oldest first, by the ids that fields have now. It returns them
// with the submission that they belong to: it may have changed since it was read. get reads it again, with these ids.
func (s *Service) readHistory(
	ctx context.Context, form *forms.Form, sub forms.Submission, get func() (forms.Submission, error),
) (forms.Submission, []forms.Step, error) {
	var stored []store.Step
	for same := false; !same; {
		var err error
		again := sub
		if stored, err = s.opts.Store.History(ctx, sub.ID); err == nil {
			again, err = get()
		}
		if err != nil {
			return sub, nil, err
		}
		same = bytes.Equal(sub.Entries, again.Entries) &&
			sub.Changed.Equal(again.Changed) && sub.Changer == again.Changer && slices.Equal(sub.Files, again.Files)
		sub = again
	}
	current, err := sub.Values()
	index, steps := form.Index(), make([]forms.Step, len(stored))
	for i, step := range slices.Backward(stored) { // the value after a change is the one before the next
		before := form.CurrentStep(step.Before, current)
		steps[i] = forms.Step{At: step.At, Username: step.Username, Changes: index.Changes(before, current)}
	}
	return sub, steps, err
}

// mayReadChange reports whether the caller may know a change. A field that has left the page
// may have been one of the editors. Of what editors answer, others know choices: a text may
// have been written before the field had options.
func (a *Access) mayReadChange(c forms.ValueChange) bool {
	field := a.Form.Field(c.FieldID)
	switch {
	case a.Rights.Edit:
		return true
	case field == nil, field.ID != c.FieldID:
		return false
	}
	return !field.ByEditors || field.Offers(c.Before) && field.Offers(c.After)
}

// ClearHistory removes earlier values of a submission.
func (a *Access) ClearHistory(ctx context.Context, id int64, pre Precondition) error {
	if !a.Rights.Edit {
		if _, err := a.Get(ctx, id); err != nil {
			return err
		}
		return NewError(Forbidden, forms.Say("Only editors of this page may remove earlier values."))
	}
	_, err := a.conf.Store.Update(ctx, a.key(id), func(sub forms.Submission) (store.Change, error) {
		current, err := a.Form.Current(sub)
		if err == nil {
			err = a.check(pre, current)
		}
		if err != nil {
			return store.Change{}, err
		}
		entries, err := sub.Entries.Decode()
		return store.Change{Entries: entries, Files: sub.Files, Step: a.step(a.Now(), nil)}, err
	})
	return Explain(err)
}
