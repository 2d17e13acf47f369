package service

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/query"
)

// PageList is the list of the pages with forms that a caller may view, by id.
type PageList []pages.View

// Pages lists the pages with forms that the caller may view.
func (s *Service) Pages(ctx context.Context, who auth.Identity) (PageList, error) {
	list, err := s.opts.Pages.List(ctx, userOf(who))
	return list, Explain(err)
}

// MaxSearch is the length of the longest text to search for, in bytes.
const MaxSearch = 200

// Search opens the forms of the listed pages that have every word of a text in their names. Upper and lower case are
// alike. The list is what Pages has returned for the same caller.
func (s *Service) Search(who auth.Identity, list PageList, text string) (found []*Access, err error) {
	if len(text) > MaxSearch {
		return nil, forms.InvalidRequest(forms.SayN("the text to search for is longer than {0} byte",
			"the text to search for is longer than {0} bytes", MaxSearch))
	}
	words := strings.Fields(query.Fold(text))
	for _, page := range list {
		for _, f := range page.Forms {
			if len(words) == 0 || hasAll(names(page, f), words) {
				found = append(found, s.access(page, f, who))
			}
		}
	}
	return found, nil
}

// names are the id and title of a form, in any language, and the title of its page.
func names(page pages.View, f *forms.Form) string {
	text := page.Title + "\n" + f.ID // no word has a line end
	for _, translated := range f.Languages() {
		text += "\n" + translated.Title
	}
	return text
}

// hasAll reports whether each of the folded words occurs in a text.
func hasAll(text string, words []string) bool {
	folded := query.Fold(text)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(folded, word) })
}

// PageView is one version of a page as the caller may use it.
type PageView struct {
	ID    int64
	Title string
	Text  *markup.Text // nil if the page has none to show. Each version has another one
	Lang  string       // the language tag of its texts, or ""
	Forms []*Access    // in page order

	// Diagnostics is what is wrong with the page as it is written now. It is empty
	// unless the caller may edit the page.
	Diagnostics []markup.Diagnostic
	Blocks      []string // for editors: ids of the forms as they are written now, broken ones included
	NotSaved    error    // why the caller can't save forms here; nil if they can
}

// Page returns a page that the caller may view, and opens all its forms.
func (s *Service) Page(ctx context.Context, who auth.Identity, pageID int64) (PageView, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return PageView{}, err
	}
	view := PageView{
		ID: page.ID, Title: page.Title, Text: page.Text, Lang: page.Lang, NotSaved: s.maySave(who, page),
	}
	if page.Rights.Edit {
		view.Diagnostics = page.Diagnostics
		for _, b := range page.Blocks {
			view.Blocks = append(view.Blocks, b.FormID)
		}
	}
	for _, form := range page.Forms {
		view.Forms = append(view.Forms, s.access(page, form, who))
	}
	return view, nil
}

func noSuchForm(pageID int64) error {
	return NewError(NotFound, forms.Say("There is no such form on page {0}.", strconv.FormatInt(pageID, 10)))
}

func userOf(who auth.Identity) pages.User {
	return pages.User{Name: who.Name, Groups: who.Groups, Wiki: who.Wiki()}
}

// page returns a page that the caller may view. A page that they may not view is
// answered like one that does not exist.
func (s *Service) page(ctx context.Context, who auth.Identity, pageID int64) (pages.View, error) {
	page, err := s.opts.Pages.Page(ctx, userOf(who), pageID)
	if errors.Is(err, pages.ErrNotFound) {
		return pages.View{}, NewError(NotFound, forms.Say("There is no page {0}.", strconv.FormatInt(pageID, 10)))
	}
	return page, Explain(err)
}
