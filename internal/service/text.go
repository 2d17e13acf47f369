package service

import (
	"sync"
	"weak"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pagetext"
)

// maxCachedText bounds the rendered texts that are kept, in bytes.
const maxCachedText = 16 << 20

// pieceOverhead is what a piece, or an entry, takes beside its text.
const pieceOverhead = 200

// textCache keeps rendered texts of pages. Most requests are for pages that have
// not changed, and a page may be written so that rendering it is slow.
type textCache struct {
	rendering sync.Mutex // one at a time: many requests for a slow page cost no more than one

	mu    sync.Mutex
	texts map[int64]cachedText // by page id
	size  int
}

// cachedText is the text of a version of a page. It does not keep a page in
// memory that has been edited since.
type cachedText struct {
	page   weak.Pointer[pages.Page]
	pieces []pagetext.Piece
	size   int
}

// of returns the text of a page.
func (c *textCache) of(page *pages.Page) []pagetext.Piece {
	if pieces, ok := c.get(page); ok {
		return pieces
	}
	c.rendering.Lock()
	defer c.rendering.Unlock()
	if pieces, ok := c.get(page); ok {
		return pieces
	}
	formIDs := make([]string, len(page.Forms))
	for i, f := range page.Forms {
		formIDs[i] = f.ID
	}
	pieces := pagetext.Render(page.Title, page.Text, formIDs)
	c.put(page, pieces)
	return pieces
}

func (c *textCache) get(page *pages.Page) ([]pagetext.Piece, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.texts[page.ID]
	return t.pieces, ok && t.page == weak.Make(page)
}

// put keeps a text. It makes room by dropping other texts, whichever they are.
func (c *textCache) put(page *pages.Page, pieces []pagetext.Piece) {
	t := cachedText{page: weak.Make(page), pieces: pieces, size: pieceOverhead}
	for _, p := range pieces {
		t.size += pieceOverhead + len(p.HTML) + len(p.FormID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil {
		c.texts = map[int64]cachedText{}
	}
	c.drop(page.ID)
	for id := range c.texts {
		if c.size+t.size <= maxCachedText {
			break
		}
		c.drop(id)
	}
	c.texts[page.ID] = t
	c.size += t.size
}

func (c *textCache) drop(id int64) {
	c.size -= c.texts[id].size
	delete(c.texts, id)
}
