package pagestest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
)

// wiki writes into a Memory.
type wiki struct{ *pagestest.Memory }

func (w wiki) Write(p pagestest.Page) {
	page := &pages.Page{ID: p.ID, Title: p.Title}
	for _, id := range p.Forms {
		page.Forms = append(page.Forms, &forms.Form{PageID: p.ID, ID: id})
	}
	w.Put(page, func(u pages.User) pages.Rights {
		view := p.View == nil || includes(p.View, u) || includes(p.Edit, u)
		edit := view && (p.Edit == nil || includes(p.Edit, u))
		return pages.Rights{View: view, SeeAll: edit || (view && p.ResultsForViewers), Edit: edit}
	})
}

func includes(list []string, u pages.User) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		group, isGroup := strings.CutPrefix(entry, "@")
		return entry == u.Name || (isGroup && u.InGroup(group))
	})
}

func (w wiki) Away(away bool) {
	if !away {
		w.Fail(nil)
		return
	}
	w.Fail(fmt.Errorf("%w: taken away", pages.ErrUnavailable))
}

func TestMemory(t *testing.T) {
	pagestest.Run(t, func(_ *testing.T, begin []pagestest.Page) (pages.Source, pagestest.Wiki) {
		w := wiki{&pagestest.Memory{}}
		for _, p := range begin {
			w.Write(p)
		}
		return w.Memory, w
	})
}
