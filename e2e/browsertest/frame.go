package browsertest

import (
	"strings"

	"github.com/chromedp/chromedp"
)

// Frame waits for the frame of another site whose address has this prefix, and
// returns it as a page. chromium runs it in a process of its own. (Frames of the
// same site are not found: see InnerFrame.)
func (p *Page) Frame(address string) *Page {
	p.t.Helper()
	var frame chromedp.ContextOption
	p.Wait("there is a frame of "+address, func() bool {
		ctx, cancel := p.limited()
		defer cancel()
		targets, err := chromedp.Targets(ctx)
		p.must("list frames", err)
		own := chromedp.FromContext(p.ctx).BrowserContextID
		for _, info := range targets {
			if info.Type == "iframe" && info.BrowserContextID == own && strings.HasPrefix(info.URL, address) {
				frame = chromedp.WithTargetID(info.TargetID)
			}
		}
		return frame != nil
	})
	// Otherwise the end of the test would close the frame before the page.
	return newPage(p.ctx, p.t, p.options, frame, chromedp.WithDetachOnCancel())
}

// InnerFrame returns the page with a view on its first frame, which must be of the same
// origin. Its methods read and find what is there, whatever is loaded into it.
func (p *Page) InnerFrame() *Page { return &Page{tab: p.tab, t: p.t, inner: true} }

// document is a JavaScript expression.
func (p *Page) document() string {
	if p.inner {
		return `document.querySelector("iframe")?.contentDocument`
	}
	return "document"
}
