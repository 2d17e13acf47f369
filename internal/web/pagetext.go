package web

import (
	"sync"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/pagehtml"
)

// maxCachedText bounds the HTML of all cached texts, in bytes.
const maxCachedText = 16 << 20

// textCache caches the texts of pages as HTML: to render one takes longer than all
// else that a page needs.
type textCache struct {
	mu    sync.Mutex
	texts map[int64]cachedText // by page id
	size  int
}

// cachedText is the text of one version of a page.
type cachedText struct {
	text   *markup.Text // of that version
	pieces []pagehtml.Piece
}

func (c *textCache) get(page service.PageView) ([]pagehtml.Piece, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.texts[page.ID]
	return cached.pieces, ok && cached.text == page.Text
}

// put caches a text. If there is no room for it, the cache begins anew.
func (c *textCache) put(page service.PageView, pieces []pagehtml.Piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, p := range pieces {
		size += len(p.HTML)
	}
	for _, p := range c.texts[page.ID].pieces {
		c.size -= len(p.HTML)
	}
	if c.texts == nil || c.size+size > maxCachedText {
		c.texts, c.size = map[int64]cachedText{}, 0
	}
	c.texts[page.ID] = cachedText{page.Text, pieces}
	c.size += size
}

// pageText returns the text of a page, with a piece for each of its forms. Texts are
// rendered on half of the cores, like large pages, and each version once.
func (c *call) pageText(page service.PageView) ([]pagehtml.Piece, error) {
	texts := &c.site.texts
	if page.Text == nil { // it takes no time, and its versions can't be told apart
		return renderText(page), nil
	}
	if pieces, ok := texts.get(page); ok {
		return pieces, nil
	}
	if err := c.takeTurn(); err != nil {
		return nil, err
	}
	defer c.endTurn()
	if pieces, ok := texts.get(page); ok { // another request has rendered it
		return pieces, nil
	}
	pieces := renderText(page)
	texts.put(page, pieces)
	return pieces, nil
}

func renderText(page service.PageView) []pagehtml.Piece {
	formIDs := make([]string, len(page.Forms))
	for i, access := range page.Forms {
		formIDs[i] = access.Form.ID
	}
	return pagehtml.Render(page.Title, page.Text, formIDs)
}
