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

// isNamed reports whether a name belongs to the caller, or after @ to a group of theirs.
func isNamed(who auth.Identity, name string) bool {
	if group, isGroup := strings.CutPrefix(name, "@"); isGroup {
		return slices.Contains(who.Groups, group)
	}
	return name == who.Name
}

// maySave is MaySave for a page that was read.
func (s *Service) maySave(who auth.Identity, page pages.View) error {
	err := s.MayAuthor(who)
	_, edit := page.People()
	switch {
	case err != nil:
		return err
	case edit == nil:
		return ErrUnmanaged
	case !page.Rights.Save:
		return ErrNotNamed
	}
	return nil
}

// MaySave tells why the caller can't save the forms of a page.
func (s *Service) MaySave(ctx context.Context, who auth.Identity, pageID int64) error {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return err
	}
	return s.maySave(who, page)
}

// MaySave tells why the caller can't save the form.
func (a *Access) MaySave() error {
	return a.service.maySave(a.who, pages.View{Page: a.page, Rights: a.Rights})
}

// MaySave tells why the caller can't save the form.
func (b *Block) MaySave() error { return b.service.maySave(b.who, b.page) }

// Conflict is the error of a save if the form on the page has changed since it was opened.
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

// change is saving for a page that is there.
func (s *Service) change(
	ctx context.Context, who auth.Identity, what string, pageID int64, formID string,
	change func(pages.Draft) ([]byte, error),
) error {
	if err := s.MaySave(ctx, who, pageID); err != nil {
		return err
	}
	return s.saving(who, what, formID, func(d *pages.Directory) (int64, error) {
		return pageID, d.Change(ctx, userOf(who), pageID, change)
	})
}

// formID returns the id of a text, which needs no page.
func formID(text string) string {
	block, _ := markup.ParseForm(1, "", []byte(text), nil)
	return block.FormID
}

// Save puts a text in place of the block, if the block on the page has the Tag. If not, the error is a *Conflict.
func (b *Block) Save(ctx context.Context, tag, text string) error {
	s, id := b.service, formID(text)
	if id != b.formID && b.formID != "" {
		_, stored, err := s.opts.Store.CountNamed(ctx, b.page.ID, b.formID)
		if err == nil && stored > 0 {
			err = forms.InvalidRequest(forms.Say("The form has submissions, so its id stays {0}.", b.formID))
		}
		if err != nil {
			return Explain(err)
		}
	}
	return s.change(ctx, b.who, "form saved", b.page.ID, id, func(now pages.Draft) ([]byte, error) {
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

// AddForm puts a new form at the end of a page.
func (s *Service) AddForm(ctx context.Context, who auth.Identity, pageID int64, text string) (id string, err error) {
	id = formID(text)
	return id, s.change(ctx, who, "form added", pageID, id, func(now pages.Draft) ([]byte, error) {
		return now.Add(text)
	})
}

// Removed is a form that was removed. Its submissions are still stored.
type Removed struct {
	PageID int64
	FormID string
	// The Sum of the page's source. Before has a proof that this person has removed it. After is "" if the page has gone
	// with the form.
	Before, After string
}

// proof shows that a form was removed here by this person: the former page may name other editors than the page.
func (s *Service) proof(who auth.Identity, pageID int64, before, after string) string {
	return hash(s.idempotencyKey, "removed", who.Name, strconv.FormatInt(pageID, 10), before, after)
}

// RemoveForm removes a form, if the block on the page has the Tag. If not, the error is a *Conflict.
func (s *Service) RemoveForm(
	ctx context.Context, who auth.Identity, pageID int64, formID, tag string,
) (removed Removed, err error) {
	block, err := s.Block(ctx, who, pageID, formID)
	if err != nil {
		return removed, err
	}
	removed = Removed{PageID: pageID, FormID: formID}
	err = s.change(ctx, who, "form removed", pageID, formID, func(now pages.Draft) ([]byte, error) {
		changed, err := now.Remove(now.Title, block.formID, tag)
		if changed != nil {
			removed.After = pages.Sum(changed)
		}
		removed.Before = pages.Sum(now.Bytes)
		return changed, err
	})
	removed.Before += "." + s.proof(who, pageID, removed.Before, removed.After)
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

// NewPage is a page to be made.
type NewPage struct {
	Title string
	People
	Text string // of its form
}

// NewPage makes a page with one form.
func (s *Service) NewPage(ctx context.Context, who auth.Identity, n NewPage) (pageID int64, id string, err error) {
	id = formID(n.Text)
	err = s.saving(who, "page made", id, func(d *pages.Directory) (int64, error) {
		if err := s.CheckPeople(who, n.People); err != nil {
			return 0, err
		}
		source, err := markup.NewPage(n.Title, n.View, n.Edit, n.Text, s.opts.Markup)
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
		pageID, err = d.Create(ctx, last, source)
		return pageID, err
	})
	return pageID, id, err
}

// MaxCounted is how far Counts counts.
const MaxCounted = store.MaxLimit

// Counts are how many submissions the forms of a page have, by form id, each up to MaxCounted. Forms that have
// left the page are among them.
func (s *Service) Counts(ctx context.Context, who auth.Identity, pageID int64) (map[string]int, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return nil, err
	}
	if !page.Rights.SeeAll {
		return nil, ErrNotNamed
	}
	counts := map[string]int{}
	stored, err := s.opts.Store.CountForms(ctx, pageID, MaxCounted)
	for _, f := range stored {
		counts[f.FormID] = f.Count
	}
	return counts, Explain(err)
}
