// Package pages is where wiki pages come from, and what is known of each: its
// title, its forms and who may see and edit it.
package pages

import (
	"context"
	"errors"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/wiki"
)

// What can go wrong when a source is asked.
var (
	// ErrNotFound: there is no such page.
	ErrNotFound = errors.New("page not found")
	// ErrUnavailable: the source can't answer now. The call may be repeated later.
	ErrUnavailable = errors.New("page source is unavailable")
	// ErrBusy: the user has too many other calls under way.
	ErrBusy = errors.New("too many pages at one time")
	// ErrSignedOut: the user is not signed in to the wiki any more.
	ErrSignedOut = wiki.ErrRefused
)

// Source is where pages come from. All methods are safe for concurrent use.
// Package pagestest holds a suite that every source must pass.
type Source interface {
	// Page returns the current page, as the user may use it. It is quick,
	// every request calls it. A right that the source is not sure of is not granted.
	// Errors: ErrNotFound, also for a page that the user may not view;
	// ErrUnavailable; ErrBusy; ErrSignedOut.
	Page(ctx context.Context, user User, id int64) (View, error)

	// List returns the pages with forms that the source knows of and the user may view,
	// by ascending id. A directory knows of all; a live wiki has too many, so it lists
	// those that were asked for before. The caller may change the slice.
	// Errors: as for Page, without ErrNotFound.
	List(ctx context.Context, user User) ([]View, error)

	// LastKnown returns the cached page, without a check of rights, or nil if it is not cached.
	// It does not call a live wiki.
	LastKnown(id int64) *Page

	// StoreKeeps calls store with the keeps of all forms that were read since this was done, each form's in their order.
	// After an error of store, which it returns, the next call begins again. It is called by one goroutine at a time.
	StoreKeeps(store func(pageID int64, formID string, keep forms.Period) error) error

	// Ready returns an error if the source can't be reached. Error:
	// ErrUnavailable.
	Ready(ctx context.Context) error

	// Reload reads all pages now, whether or not they seem to have changed. It
	// returns when they are in force, or when ctx ends. What goes wrong is
	// logged, and the last known pages stay in force.
	Reload(ctx context.Context)

	// Run keeps the pages up to date until ctx ends: an edit is in force
	// within two seconds. It is called once. A source answers before Run is
	// called, with the pages as they were when it was opened.
	Run(ctx context.Context)
}

// User is whom rights are asked for.
type User struct {
	Name   string
	Groups []string    // known to a Directory only
	Wiki   wiki.Caller // zero unless the user is one of a live wiki
}

// InGroup compares group names byte for byte.
func (u User) InGroup(group string) bool { return slices.Contains(u.Groups, group) }

// Rights are what a user may do on a page. Edit implies SeeAll, and SeeAll
// implies View.
type Rights struct {
	View   bool // read the forms, submit, read and change one's own submissions that are not anonymous
	SeeAll bool // read every submission
	Edit   bool // change and delete every submission
	Save   bool // write the page: its front matter names the user as an editor

	// Blocked: the wiki has blocked the user, who may read, and write nothing. It
	// excludes Edit.
	Blocked bool
}

// View is a page as one user may use it.
type View struct {
	*Page
	Rights Rights // with View
}

// rightsOf returns what the front matter of a page grants a user. Who may edit a
// page may view it, too, but a page that names only its viewers is not opened to
// all by the default of its editors.
func rightsOf(meta *markup.Meta, user User) Rights {
	editor := meta.Edit != nil && includes(meta.Edit, user)
	view := editor || meta.View == nil || includes(meta.View, user)
	edit := editor || (view && meta.Edit == nil)
	return Rights{View: view, SeeAll: edit || (view && meta.ResultsForViewers), Edit: edit, Save: editor}
}

func includes(p *markup.Principals, user User) bool {
	return slices.Contains(p.Users, user.Name) || slices.ContainsFunc(p.Groups, user.InGroup)
}

// Counts is how much a Directory serves.
type Counts struct {
	Pages, Forms int
	Broken       int // forms, or whole pages, that can't be read as they are written now
}

// Page is one page. It is never changed after it was handed out.
type Page struct {
	ID    int64
	Title string        // never empty
	Forms []*forms.Form // in page order

	// Text is what people read on the page, or what is plain of it if the page is
	// not Markdown. It is nil where there is nothing to show beside the forms.
	Text *markup.Text

	// Lang is the language tag of the page's text and labels, "" if it is not known.
	Lang string

	// Readers is who may read every submission, for people who are about to submit;
	// nil for everybody who may view the page, or who may edit it if InWiki.
	Readers *markup.Principals

	// InWiki: the page is one of a live wiki, which decides about rights.
	InWiki bool

	// IsOutline: the page was not read yet. Nothing else is known but ids and titles.
	IsOutline bool

	// Diagnostics is what is wrong with the page as it is written now, also while
	// earlier definitions are in force. Only editors may see it. It is cut where
	// it is long.
	Diagnostics []markup.Diagnostic

	// Blocks are the forms as they are written now, broken ones included. Only editors may
	// see them.
	Blocks []markup.Block

	meta markup.Meta // known to a Directory only
}

// People are who the front matter of a Directory's page names.
func (p *Page) People() markup.People { return p.meta.People() }

// Form returns the form with the given id, or nil.
func (p *Page) Form(id string) *forms.Form {
	i := slices.IndexFunc(p.Forms, func(f *forms.Form) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return p.Forms[i]
}
