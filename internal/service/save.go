package service

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
)

// Why a caller can't save forms on a page.
var (
	ErrSavingInWiki = NewError(Forbidden, forms.Say("Forms in a live wiki can't be saved from here yet."))
	ErrSavingOff    = NewError(Forbidden, forms.Say("Saving is off on this server. "+
		"Ask its operator to start it with --authors."))
	ErrNoAuthor = NewError(Forbidden, forms.Say("You may not save forms on this server. "+
		"Ask its operator to add you to --authors."))
	ErrUnmanaged = NewError(Forbidden, forms.Say("This page names nobody who manages it."))
	ErrNotNamed  = NewError(Forbidden, forms.Say("Only people who manage this page may save its forms. "+
		"It does not name you."))
)

// Everybody as one of Options.Authors means all users.
const Everybody = "*"

// MayAuthor tells why the caller can't make new pages, or save any form.
func (s *Service) MayAuthor(who auth.Identity) error {
	_, isDirectory := s.opts.Pages.(*pages.Directory)
	isCaller := func(name string) bool { return name == Everybody || isNamed(who, name) }
	switch {
	case !isDirectory:
		return ErrSavingInWiki
	case len(s.opts.Authors) == 0:
		return ErrSavingOff
	case !slices.ContainsFunc(s.opts.Authors, isCaller):
		return ErrNoAuthor
	}
	return nil
}

// Authors returns the names that may be authors: a user may be in a group that is.
func (s *Service) Authors(names []string) []string {
	isGroup := func(name string) bool { return name == Everybody || strings.HasPrefix(name, "@") }
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.Contains(s.opts.Authors, name) && !slices.ContainsFunc(s.opts.Authors, isGroup)
	})
}

// isNamed reports whether a name belongs to the caller, or after @ to a group of theirs.
func isNamed(who auth.Identity, name string) bool {
	if group, isGroup := strings.CutPrefix(name, "@"); isGroup {
		return slices.Contains(who.Groups, group)
	}
	return name == who.Name
}

// maySave tells why the caller can't save the forms of a page.
func (s *Service) maySave(who auth.Identity, page pages.View) error {
	err := s.MayAuthor(who)
	switch {
	case err != nil:
		return err
	case page.People().Edit == nil:
		return ErrUnmanaged
	case !page.Rights.Save:
		return ErrNotNamed
	}
	return nil
}

// MaySave tells why the caller can't save the form.
func (b *Block) MaySave() error { return b.service.maySave(b.who, b.page) }

// Conflict is the error of a save if the form on the page, or its people, have changed since the page was opened.
type Conflict = markup.Conflict

// saving runs a write for an author, one at a time for each, and logs it.
func (s *Service) saving(
	who auth.Identity, what, formID string, write func(*pages.Directory) (pageID int64, err error),
) error {
	if err := s.MayAuthor(who); err != nil {
		return err
	}
	if _, busy := s.savers.LoadOrStore(who.Name, true); busy {
		return NewError(TooMany, forms.Say("Another change of yours is being saved. Wait until it is done."))
	}
	defer s.savers.Delete(who.Name)
	pageID, err := write(s.opts.Pages.(*pages.Directory))
	if err == nil {
		s.opts.Log.Info(what, "user", who.Name, "page", pageID, "form", formID)
	}
	return Explain(err)
}

// change is saving for the block's page.
func (b *Block) change(
	ctx context.Context, what, formID string, change func(pages.Draft) ([]byte, error),
) error {
	if err := b.MaySave(); err != nil {
		return err
	}
	return b.service.saving(b.who, what, formID, func(d *pages.Directory) (int64, error) {
		return b.page.ID, d.Change(ctx, userOf(b.who), b.page.ID, change)
	})
}

// FormID returns the id of the form that a text makes.
func FormID(text string) string {
	block, _ := markup.ParseForm(1, "", []byte(text), nil) // it needs no page
	return block.FormID
}

// Save puts a text in place of the block, if the block on the page has the Tag. If not, the error is a *Conflict. A new
// block comes to the end of the page.
func (b *Block) Save(ctx context.Context, tag, text string) error {
	id := FormID(text)
	if id != b.formID && b.formID != "" {
		_, stored, err := b.service.opts.Store.CountNamed(ctx, b.page.ID, b.formID)
		if err == nil && stored > 0 {
			err = forms.InvalidRequest(forms.Say("The form has submissions, so its id stays {0}.", b.formID))
		}
		if err != nil {
			return Explain(err)
		}
	}
	return b.change(ctx, "form saved", id, func(now pages.Draft) ([]byte, error) {
		if b.Text == "" {
			return now.Add(text)
		}
		return now.Replace(b.formID, tag, text)
	})
}

// Former returns the text of the form before the page was last saved here, and when that was. It is "" if it is the
// same, or not known.
func (b *Block) Former() (text string, at time.Time) {
	if directory, ok := b.service.opts.Pages.(*pages.Directory); ok {
		text, at = directory.Former(b.page.ID, b.formID)
	}
	if text == b.Text {
		text = ""
	}
	return text, at
}

// StoredIDs returns the ids of fields that submissions of the form may have.
func (b *Block) StoredIDs(ctx context.Context) (ids []string, err error) {
	stored, err := b.service.opts.Store.FormDefinitions(ctx, b.page.ID, b.formID)
	for _, definition := range stored {
		form, err := definition.Form()
		if err != nil {
			return nil, err
		}
		for _, field := range form.Fields {
			ids = append(ids, field.IDs()...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), Explain(err)
}

// Removed is a form that was removed. Its submissions are still stored.
type Removed struct {
	PageID int64
	FormID string
	// Tags of the page's source. Before has a proof that this person has removed it. After is "" if the page has gone
	// with the form.
	Before, After string
}

// proof shows that a form was removed here by this person: the former page may name other editors than the page.
func (s *Service) proof(who auth.Identity, pageID int64, before, after string) string {
	return hash(s.idempotencyKey, "removed", who.Name, strconv.FormatInt(pageID, 10), before, after)
}

// Remove takes the form off its page, if the block on the page has the Tag. If not, the error is a *Conflict.
func (b *Block) Remove(ctx context.Context, tag string) (Removed, error) {
	removed := Removed{PageID: b.page.ID, FormID: b.formID}
	err := b.change(ctx, "form removed", b.formID, func(now pages.Draft) ([]byte, error) {
		changed, err := now.Remove(now.Title, b.formID, tag)
		if changed != nil {
			removed.After = markup.Tag(string(changed))
		}
		removed.Before = markup.Tag(string(now.Bytes))
		return changed, err
	})
	removed.Before += "." + b.service.proof(b.who, b.page.ID, removed.Before, removed.After)
	return removed, err
}

// Undo puts a removed form back, with its page if that has gone. If the page has changed since, nothing is written.
func (s *Service) Undo(ctx context.Context, who auth.Identity, removed Removed) error {
	before, proof, _ := strings.Cut(removed.Before, ".")
	return s.saving(who, "form put back", removed.FormID, func(d *pages.Directory) (int64, error) {
		err := pages.ErrConflict
		if proof == s.proof(who, removed.PageID, before, removed.After) {
			err = d.Restore(ctx, userOf(who), removed.PageID, before, removed.After)
		}
		return removed.PageID, err
	})
}

// NewPage makes a page with one form. If it was called before with the same page, that one stays: its id is above
// after.
func (s *Service) NewPage(
	ctx context.Context, who auth.Identity, n markup.NewPage, after int64,
) (pageID int64, err error) {
	err = s.saving(who, "page made", FormID(n.Text), func(d *pages.Directory) (int64, error) {
		if err := s.CheckPeople(who, n.People); err != nil {
			return 0, err
		}
		source, err := n.Source(s.opts.Markup)
		if err != nil {
			return 0, err
		}
		stored, err := s.opts.Store.CountForms(ctx, 0, 1)
		if err != nil {
			return 0, err
		}
		last := int64(0)
		for _, f := range stored {
			last = max(last, f.PageID)
		}
		pageID, err = d.Create(ctx, last, after, source)
		return pageID, err
	})
	return pageID, err
}

// MaxCounted is how far Counts counts.
const MaxCounted = store.MaxLimit

// Counts are how many submissions the forms of the page have, by form id, each up to MaxCounted. Forms that have
// left the page are among them.
func (b *Block) Counts(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	for _, block := range b.page.Blocks {
		counts[block.FormID] = 0
	}
	stored, err := b.service.opts.Store.CountForms(ctx, b.page.ID, MaxCounted)
	for _, f := range stored {
		counts[f.FormID] = f.Count
	}
	delete(counts, "")
	return counts, Explain(err)
}
