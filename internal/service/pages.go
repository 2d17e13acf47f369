package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
)

// maxListedPages bounds the list of pages.
const maxListedPages = 10_000

// PageList is the list of the pages that a caller may view.
type PageList struct {
	Pages []PageInfo // by title, upper and lower case alike, then by id
	Total int        // more than len(Pages) where the list was cut
}

// PageInfo is one page of a list.
type PageInfo struct {
	ID    int64
	Title string
	Forms []*forms.Form // in page order
}

// Pages lists the pages that the caller may view, at most 10,000 of them.
func (s *Service) Pages(ctx context.Context, who auth.Identity) (PageList, error) {
	all, err := s.pages.List(ctx)
	if err != nil {
		return PageList{}, explain(err)
	}
	rights, err := s.pages.Rights(ctx, userOf(who), all...)
	if err != nil {
		return PageList{}, explain(err)
	}
	type entry struct {
		page *pages.Page
		key  string // of the order
	}
	var visible []entry
	for i, page := range all {
		if rights[i].View {
			visible = append(visible, entry{page, strings.ToLower(page.Title)})
		}
	}
	slices.SortFunc(visible, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.page.ID, b.page.ID))
	})
	list := PageList{Total: len(visible)}
	for _, e := range visible[:min(len(visible), maxListedPages)] {
		list.Pages = append(list.Pages, PageInfo{ID: e.page.ID, Title: e.page.Title, Forms: e.page.Forms})
	}
	return list, nil
}

func userOf(who auth.Identity) pages.User { return pages.User{Name: who.Name, InGroup: who.InGroup} }

// page returns a page that the caller may view, and what they may do on it. A
// page that they may not view is answered like one that does not exist.
func (s *Service) page(ctx context.Context, who auth.Identity, pageID int64) (*pages.Page, pages.Rights, error) {
	page, err := s.pages.Page(ctx, pageID)
	var rights []pages.Rights
	if err == nil {
		rights, err = s.pages.Rights(ctx, userOf(who), page)
	}
	if errors.Is(err, pages.ErrNotFound) || (err == nil && !rights[0].View) {
		return nil, pages.Rights{}, notFound("There is no page %d.", pageID)
	}
	if err != nil {
		return nil, pages.Rights{}, explain(err)
	}
	return page, rights[0], nil
}
