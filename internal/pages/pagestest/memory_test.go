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
type wiki struct {
	*pagestest.Memory
	last int64 // page id
}

func (w *wiki) Write(p pagestest.Page) int64 {
	if p.ID == 0 {
		w.last++
		p.ID = w.last
	}
	page := &pages.Page{ID: p.ID, Title: p.Title}
	for _, id := range p.Forms {
		page.Forms = append(page.Forms, &forms.Form{PageID: p.ID, ID: id})
	}
	w.Put(page, func(u pages.User) pages.Rights {
		view := p.View == nil || includes(p.View, u) || includes(p.Edit, u)
		edit := view && (p.Edit == nil || includes(p.Edit, u))
		return pages.Rights{View: view, SeeAll: edit, Edit: edit}
	})
	return p.ID
}

func includes(list []string, u pages.User) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		group, isGroup := strings.CutPrefix(entry, "@")
		return entry == u.Name || (isGroup && u.InGroup(group))
	})
}

func (w *wiki) Away(away bool) {
	if !away {
		w.Fail(nil)
		return
	}
	w.Fail(fmt.Errorf("%w: taken away", pages.ErrUnavailable))
}

func (w *wiki) User(name string) pages.User { return pagestest.FileUser(name) }

func TestMemory(t *testing.T) {
	pagestest.Run(t, func(*testing.T) (pages.Source, pagestest.Wiki) {
		w := &wiki{Memory: &pagestest.Memory{}}
		return w.Memory, w
	})
}
