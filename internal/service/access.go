package service

import (
	"cmp"
	"context"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
)

// Access is one form as one caller may use it.
type Access struct {
	Form      *forms.Form  // in the language of the caller
	PageTitle string       // of the form's page
	Rights    pages.Rights // of the caller

	service   *Service
	conf      *Options // of the service
	page      *pages.Page
	who       auth.Identity
	user      string // the name of the caller
	anonymous bool   // submissions are stored without a name
}

// MaySet reports whether the caller may set a field of the form.
func (a *Access) MaySet(field *forms.Field) bool { return a.Rights.Edit || !field.ByEditors }

// Now is the current time, in the zone in which days begin.
func (a *Access) Now() time.Time { return a.service.Now() }

// writer is the caller as the rules of the form see them.
func (a *Access) writer(now time.Time) forms.Writer {
	return forms.Writer{Editor: a.Rights.Edit, Now: now}
}

// Readers is who may read every submission of the form; nil for everybody who may
// view its page, or who may edit it if InWiki.
func (a *Access) Readers() *markup.Principals { return a.page.Readers }

// InWiki reports whether the rights are those of a live wiki.
func (a *Access) InWiki() bool { return a.page.InWiki }

// Lang is the language tag of the form's texts, or "".
func (a *Access) Lang() string { return cmp.Or(a.Form.Lang, a.page.Lang) }

// PageLang is the language tag of the page's texts, or "".
func (a *Access) PageLang() string { return a.page.Lang }

// Diagnostics is what is wrong with the form's page as it is written now. It is
// empty unless the caller may edit the page.
func (a *Access) Diagnostics() []markup.Diagnostic {
	if !a.Rights.Edit {
		return nil
	}
	return a.page.Diagnostics
}

// Anonymize has submissions stored as on an anonymous form. It is for a form
// that was anonymous when the caller decided to submit, but is no longer.
func (a *Access) Anonymize() { a.anonymous = true }

// Covers reports whether all that other may list can be listed by a, too. Both
// are of the same caller and form, opened at different times.
func (a *Access) Covers(other *Access) bool { return a.Rights.SeeAll || !other.Rights.SeeAll }

func (a *Access) key(id int64) store.Key {
	return store.Key{PageID: a.Form.PageID, FormID: a.Form.ID, ID: id}
}

// owns is false for every anonymous submission: its sender is not stored.
func (a *Access) owns(s forms.Submission) bool {
	return s.Username != "" && s.Username == a.user
}

// Create stores a submission of the caller. With the key of a submission that
// the caller has sent before, and the same answers, it stores nothing and
// returns that one as it is now: replayed is true then. An empty key is
// none. The files of the answers belong to the new submission from then on;
// those that don't are dropped, whatever it returns.
func (a *Access) Create(
	ctx context.Context, answers []forms.Answer, key string,
) (sub forms.Submission, replayed bool, err error) {
	if staged := StagedFiles(answers); len(staged) > 0 {
		defer func() { a.dropUnused(staged, sub, err) }()
	}
	if a.Rights.Blocked {
		return sub, false, errBlocked
	}
	release, err := a.service.largeWrites.acquire(ctx, sizeOf(answers))
	if err != nil {
		return sub, false, err
	}
	defer release()
	n, invalid := a.newSubmission(answers)
	if key != "" {
		return a.createOnce(ctx, n, invalid, a.repeatable(key, answers))
	}
	if invalid != nil {
		return sub, false, invalid
	}
	sub, err = a.conf.Store.Create(ctx, n)
	a.countWrite()
	return sub, false, a.explain(err)
}

// newSubmission checks the answers and returns what is to be stored.
func (a *Access) newSubmission(answers []forms.Answer) (n store.New, err error) {
	now := a.Now()
	if err := a.mayWrite(now); err != nil {
		return n, err
	}
	entries, files, err := a.Form.NewEntries(answers, a.writer(now))
	if err != nil {
		return n, err
	}
	if err := cmp.Or(a.service.checkSize(entries, nil), checkFiles(files, nil)); err != nil {
		return n, err
	}
	n = a.unfilled()
	n.Created, n.Entries, n.Files, n.Definition = now, entries, files, a.Form.Definition()
	n.Events = a.events(store.SubmissionCreated, n.Created, nil)
	return n, nil
}

// events returns what is stored with a change for those who listen.
func (a *Access) events(eventType string, at time.Time, before map[string]string) []store.Event {
	if a.conf.Events == nil {
		return nil
	}
	return a.conf.Events(a.Form.In(""), a.page.Lang, a.anonymous, eventType, at, before)
}

// unfilled is a submission of the caller without what they filled in.
func (a *Access) unfilled() store.New {
	n := store.New{PageID: a.Form.PageID, FormID: a.Form.ID, Username: a.user, Limit: a.Form.Limit}
	if a.anonymous {
		n.Username = ""
	}
	if a.Form.OneSubmission {
		counted := &forms.Form{PageID: a.Form.PageID, ID: a.Form.ID, Anonymous: a.anonymous}
		n.SubmitterKey = a.service.submitterKey(counted, a.user)
	}
	return n
}

// Get returns one submission.
func (a *Access) Get(ctx context.Context, id int64) (forms.Submission, error) {
	sub, err := a.conf.Store.Get(ctx, a.key(id))
	if err == nil && !a.Rights.SeeAll && !a.owns(sub) {
		err = store.ErrNotFound
	}
	if err != nil {
		return forms.Submission{}, Explain(err)
	}
	return a.Form.Current(sub)
}

// MayMerge tells what keeps the caller from changing a submission, whatever
// the change is.
func (a *Access) MayMerge(ctx context.Context, id int64, pre Precondition) error {
	sub, err := a.Get(ctx, id)
	if err == nil {
		err = a.mayMerge(sub, pre)
	}
	return err
}

// mayMerge decides which of several answers counts: 404 and 403, then 412, then 400.
func (a *Access) mayMerge(sub forms.Submission, pre Precondition) error {
	return cmp.Or(a.MayChange(sub, sub.Values), a.check(pre, sub), a.MayUpdate())
}

// MayChange is MayMerge for a submission that the caller has read, without a
// precondition and whether the form is open or not. values are those of the submission.
func (a *Access) MayChange(sub forms.Submission, values func() (map[string]string, error)) error {
	switch {
	case a.Rights.Edit:
		return nil
	case a.owns(sub):
		return a.locked(values)
	case a.Rights.SeeAll:
		return NewError(Forbidden, forms.Say("Only editors of this page may change other people's submissions."))
	default:
		return Explain(store.ErrNotFound)
	}
}

// ErrLocked tells that only editors may change or delete a submission, by the rules of its form.
var ErrLocked = NewError(Forbidden, forms.Say("Only editors can change it now."))

// locked is ErrLocked if a submission with these values is locked.
func (a *Access) locked(values func() (map[string]string, error)) error {
	locked, err := a.Form.IsLocked(values)
	if err == nil && locked {
		err = ErrLocked
	}
	return err
}

// MayDelete tells what keeps the caller from deleting a submission that they have read. values
// are those of the submission.
func (a *Access) MayDelete(sub forms.Submission, values func() (map[string]string, error)) error {
	switch {
	case a.Rights.Edit:
		return nil
	case a.Form.Withdraw && a.owns(sub) && a.Rights.Blocked:
		return errBlocked
	case a.Form.Withdraw && a.owns(sub):
		return a.locked(values)
	case a.Rights.SeeAll, a.owns(sub):
		return NewError(Forbidden, forms.Say("Only editors of this page may delete submissions."))
	default:
		return Explain(store.ErrNotFound)
	}
}

// Merge updates a submission with the answers. Before anything is changed, admit
// is called with the approximate size of the merged submission in bytes. If it
// returns an error, nothing is changed and Merge returns that error. The files
// of the answers are treated as by Create.
func (a *Access) Merge(
	ctx context.Context, id int64, answers []forms.Answer, pre Precondition, admit func(size int) error,
) (merged forms.Submission, err error) {
	if staged := StagedFiles(answers); len(staged) > 0 {
		defer func() { a.dropUnused(staged, merged, err) }()
	}
	// Only what is stored tells how large the merged submission is.
	stored, err := a.Get(ctx, id)
	if err != nil {
		return merged, err
	}
	size := len(stored.Entries) + sizeOf(answers)
	if err := admit(size); err != nil {
		return merged, err
	}
	release, err := a.service.largeWrites.acquire(ctx, size)
	if err != nil {
		return merged, err
	}
	defer release()
	merged, err = a.conf.Store.Update(ctx, a.key(id), func(old forms.Submission) (store.Change, error) {
		return a.merge(old, answers, pre)
	})
	a.countWrite()
	if err == nil {
		merged, err = a.Form.Current(merged)
	}
	return merged, Explain(err)
}

// merge returns what an update makes of a submission as it is stored, or why the caller may
// not make it.
func (a *Access) merge(
	old forms.Submission, answers []forms.Answer, pre Precondition,
) (change store.Change, err error) {
	current, err := a.Form.Current(old)
	if err == nil {
		err = a.mayMerge(current, pre)
	}
	if err != nil {
		return change, err
	}
	stored, err := old.Entries.Decode()
	if err != nil {
		return change, err
	}
	now := a.Now()
	entries, files, err := a.Form.Merge(stored, old.Files, answers, a.writer(now))
	if err != nil {
		return change, err
	}
	change.Entries, change.Files = entries, files
	if before := a.Form.ValuesBefore(stored, entries, old.Files, files); len(before) > 0 {
		change.Step = a.step(now, before)
		change.Changed, change.Changer = change.Step.At, change.Step.Username
		change.Events = a.events(store.SubmissionUpdated, now, before)
	}
	return change, cmp.Or(a.service.checkSize(entries, stored), checkFiles(files, old.Files))
}

// checkSize refuses entries beyond the limit of a submission, so that merges
// do not make it grow for ever. One that was larger before may stay so, and
// shrink.
func (s *Service) checkSize(entries, stored []forms.Entry) error {
	if len(entries) > forms.MaxEntries { // fields that have left the page count, too
		return NewError(TooLarge, forms.SayN("The submission would have answers to more than {0} field. Nothing was changed.",
			"The submission would have answers to more than {0} fields. Nothing was changed.", forms.MaxEntries))
	}
	if n := size(entries); n <= s.opts.MaxSubmission || n <= size(stored) {
		return nil
	}
	return NewError(TooLarge, forms.SayN("The submission as a whole would be larger than {0} byte. Nothing was changed.",
		"The submission as a whole would be larger than {0} bytes. Nothing was changed.", int(s.opts.MaxSubmission)))
}

// size counts what callers choose, so that no submission is larger than the
// body that it came in.
func size(entries []forms.Entry) (n int64) {
	for _, e := range entries {
		n += int64(len(e.FieldID) + len(e.Value))
	}
	return n
}

// ValidateNew returns the error that Create would return now. It stores nothing.
// The files of the answers are dropped.
func (a *Access) ValidateNew(ctx context.Context, answers []forms.Answer, key string) error {
	defer a.DropFiles(StagedFiles(answers))
	if a.Rights.Blocked {
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
	tallies, err := a.conf.Store.Tallies(ctx, []store.New{n})
	if err == nil {
		err = tallies[0].Refusal(n)
	}
	return a.explain(err)
}

// ValidateMerge returns the error that Merge would return for the submission as
// it is stored now. It changes nothing. The files of the answers are dropped.
func (a *Access) ValidateMerge(ctx context.Context, id int64, answers []forms.Answer, pre Precondition) error {
	defer a.DropFiles(StagedFiles(answers))
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

// Delete removes a submission for good.
func (a *Access) Delete(ctx context.Context, id int64, pre Precondition) error {
	if !a.Rights.Edit { // most callers may not, and need no write to be told
		sub, err := a.Get(ctx, id)
		if err == nil {
			err = a.MayDelete(sub, sub.Values)
		}
		if err != nil {
			return err
		}
	}
	check := func(sub forms.Submission) error {
		sub, err := a.Form.Current(sub)
		if err != nil {
			return err
		}
		return cmp.Or(a.MayDelete(sub, sub.Values), a.check(pre, sub))
	}
	return Explain(a.service.remove(ctx, a.key(id), a.anonymous, check))
}

// remove deletes a submission for good, and tells listeners. Its form may have left the page.
func (s *Service) remove(ctx context.Context, key store.Key, anonymous bool, check func(forms.Submission) error) error {
	var told []store.Event
	if s.opts.Events != nil {
		form := &forms.Form{PageID: key.PageID, ID: key.FormID}
		told = s.opts.Events(form, "", anonymous, store.SubmissionDeleted, s.opts.Now(), nil)
	}
	defer s.writeCount(key).Add(1)
	return s.opts.Store.Delete(ctx, key, check, told...)
}

func keyOf(s forms.Submission) store.Key {
	return store.Key{PageID: s.PageID, FormID: s.FormID, ID: s.ID}
}
