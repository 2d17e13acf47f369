package browsertest

import (
	"fmt"
	"iter"
	"strings"

	"github.com/chromedp/chromedp"
)

// message is an error on the console.
type message struct {
	text, source, address string
}

// mark begins what Page.ConsoleErrors writes to the console, to know that all
// before it has arrived.
const mark = "browsertest: read until here: "

// readConsole collects errors until the tab is closed. Violations of the
// Content-Security-Policy are among them, also where it only reports.
func (b *tab) readConsole(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range messages {
		if err != nil {
			return // the tab is closed
		}
		b.mu.Lock()
		switch {
		case strings.HasPrefix(m.Text, mark):
			_, _ = fmt.Sscan(m.Text[len(mark):], &b.flushed)
		case m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || strings.Contains(m.Text, "Content Security Policy"):
			b.console = append(b.console, message{m.Text, m.Source, m.URL})
		}
		b.mu.Unlock()
	}
}

// ConsoleErrors returns the errors on the console so far, and what violated the
// Content-Security-Policy. The status of a document is not an error: the browser
// reports a 422 there, but the page itself tells people.
func (p *Page) ConsoleErrors() []string {
	p.t.Helper()
	p.mu.Lock()
	p.marks++
	last := p.marks
	p.mu.Unlock()
	Eval[any](p, fmt.Sprintf("console.debug(%q), 0", fmt.Sprint(mark, last)))
	p.Wait("all of the console is read", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.flushed >= last
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, m := range p.console {
		if m.source == "network" && p.status[m.address] >= 400 {
			continue
		}
		list = append(list, strings.TrimSpace(m.text+" "+m.address))
	}
	return list
}
