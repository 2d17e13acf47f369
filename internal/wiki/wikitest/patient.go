package wikitest

import (
	"context"
	"sync"

	"github.com/formulary/formulary/internal/wiki"
)

// patient is a wiki that reads texts together with their versions.
type patient struct {
	wiki.Wiki
	mu    sync.Mutex
	texts map[textKey]wiki.Text
}

// textKey: the wiki may refuse a text to one user that it has told to another.
type textKey struct {
	session *wiki.Session
	page    int64
}

// Patient returns a wiki whose texts are there as soon as their versions are told.
// Package pages waits a second for the text of a newer version, and serves the older
// one then. A real wiki on a busy machine can take longer.
func Patient(w wiki.Wiki) wiki.Wiki { return &patient{Wiki: w, texts: map[textKey]wiki.Text{}} }

// Pages implements wiki.Wiki.
func (p *patient) Pages(ctx context.Context, c wiki.Caller, ids ...int64) (map[int64]wiki.Page, error) {
	found, err := p.Wiki.Pages(ctx, c, ids...)
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, page := range found {
		key := textKey{c.Session, id}
		if !page.HasText || p.texts[key].Version == page.Version {
			continue
		}
		delete(p.texts, key)
		if text, err := p.Wiki.Text(ctx, c, id); err == nil {
			p.texts[key] = text
		}
	}
	return found, err
}

// Text implements wiki.Wiki.
func (p *patient) Text(ctx context.Context, c wiki.Caller, id int64) (wiki.Text, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, ok := p.texts[textKey{c.Session, id}]; ok {
		return text, nil
	}
	return p.Wiki.Text(ctx, c, id)
}
