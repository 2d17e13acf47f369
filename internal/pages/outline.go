package pages

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/formulary/formulary/internal/forms"
)

// Memory keeps outlines of pages over restarts. A store implements it.
type Memory interface {
	SetOutline(ctx context.Context, pageID int64, outline string) error
	Outlines(ctx context.Context) ([]string, error)
}

// outline is what a list shows of a page.
type outline struct {
	Page  int64
	Title string
	Forms [][]string // of each form its id, then language tag and title in each of its languages
}

// maxOutline bounds an outline, in bytes. A page with a longer one is not remembered.
const maxOutline = 32 << 10

// setOutline remembers a page that was read, if it has forms.
func (w *Wiki) setOutline(ctx context.Context, page *Page) error {
	o := outline{Page: page.ID, Title: page.Title}
	for _, f := range page.Forms {
		form := []string{f.ID}
		for _, in := range f.Languages() {
			form = append(form, in.Lang, in.Title)
		}
		o.Forms = append(o.Forms, form)
	}
	text, _ := json.Marshal(o) // texts are always encoded
	if len(o.Forms) == 0 || len(text) > maxOutline {
		text = nil
	}
	return w.Memory.SetOutline(ctx, page.ID, string(text))
}

// outlines returns the pages that are remembered, and not in memory.
func (w *Wiki) outlines(ctx context.Context) (list []*wikiPage, err error) {
	if w.Memory == nil {
		return nil, nil
	}
	texts, err := w.Memory.Outlines(ctx)
	for _, text := range texts {
		var o outline
		_ = json.Unmarshal([]byte(text), &o) // SetOutline got it from here
		if _, isRead := w.pages.GetIfPresent(o.Page); !isRead {
			list = append(list, &wikiPage{Page: o.page()})
		}
	}
	return list, err
}

func (o *outline) page() *Page {
	page := &Page{ID: o.Page, Title: o.Title, InWiki: true, IsOutline: true}
	for _, form := range o.Forms {
		var languages []*forms.Form
		for in := range slices.Chunk(form[1:], 2) {
			languages = append(languages, &forms.Form{PageID: page.ID, ID: form[0], Lang: in[0], Title: in[1]})
		}
		page.Forms = append(page.Forms, forms.JoinLanguages(languages))
	}
	return page
}

// readAll reads pages behind a list that has shown them.
func (w *Wiki) readAll(ctx context.Context, user User, ids []int64) error {
	for _, id := range ids {
		if _, err := w.Page(context.WithoutCancel(ctx), user, id); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
