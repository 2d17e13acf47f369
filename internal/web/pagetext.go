package web

import (
	"github.com/maypok86/otter/v2"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/pagehtml"
)

// maxCachedText bounds the HTML of all cached texts, in bytes.
const maxCachedText = 16 << 20

// cachedText is the text of one version of a page as HTML. To render it takes longer
// than all else that a page needs.
type cachedText struct {
	text   *markup.Text // of that version
	pieces []pagehtml.Piece
}

func newTextCache() *otter.Cache[int64, cachedText] {
	return otter.Must(&otter.Options[int64, cachedText]{
		MaximumWeight: maxCachedText,
		Weigher: func(_ int64, c cachedText) (size uint32) {
			for _, p := range c.pieces {
				size += uint32(len(p.HTML)) //nolint:gosec // the text of a page is bounded
			}
			return size
		},
	})
}

// pageText returns the text of a page, with a piece for each of its forms. Texts are
// rendered on half of the cores, like large pages, and each version once.
func (c *call) pageText(page service.PageView) ([]pagehtml.Piece, error) {
	if page.Text == nil { // it takes no time, and its versions can't be told apart
		return renderText(page), nil
	}
	find := func() ([]pagehtml.Piece, bool) {
		cached, ok := c.site.texts.GetIfPresent(page.ID)
		return cached.pieces, ok && cached.text == page.Text
	}
	if pieces, ok := find(); ok {
		return pieces, nil
	}
	if err := c.takeTurn(); err != nil {
		return nil, err
	}
	defer c.endTurn()
	if pieces, ok := find(); ok { // another request has rendered it
		return pieces, nil
	}
	pieces := renderText(page)
	c.site.texts.Set(page.ID, cachedText{page.Text, pieces})
	return pieces, nil
}

func renderText(page service.PageView) []pagehtml.Piece {
	formIDs := make([]string, len(page.Forms))
	for i, access := range page.Forms {
		formIDs[i] = access.Form.ID
	}
	return pagehtml.Render(page.Title, page.Text, formIDs)
}
