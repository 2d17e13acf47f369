// Package pagestest holds the suite that every source of pages must pass, and a
// source in memory for the tests of other packages.
package pagestest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/formulary/formulary/internal/pages"
)

// Memory is a pages.Source in memory. The zero value has no pages.
type Memory struct {
	pages.KeepQueue

	mu     sync.Mutex
	pages  map[int64]*pages.Page
	rights map[int64]func(pages.User) pages.Rights
	err    error
}

var _ pages.Source = (*Memory)(nil)

// Everything are the rights of a page that says nothing about them.
func Everything(pages.User) pages.Rights { return pages.Rights{View: true, SeeAll: true, Edit: true} }

// FileUser returns a user of the suite as a source knows them that reads files.
func FileUser(name string) pages.User {
	if name == "sara" {
		return pages.User{Name: name, Groups: []string{"staff"}}
	}
	return pages.User{Name: name}
}

// Put adds a page, or replaces the one with its id.
func (m *Memory) Put(page *pages.Page, rights func(pages.User) pages.Rights) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pages == nil {
		m.pages, m.rights = map[int64]*pages.Page{}, map[int64]func(pages.User) pages.Rights{}
	}
	m.AddKeeps(m.pages[page.ID], page)
	m.pages[page.ID], m.rights[page.ID] = page, rights
}

// Remove removes a page.
func (m *Memory) Remove(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pages, id)
}

// Fail has every call that can fail return err, until Fail is called with nil.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// Page implements pages.Source.
func (m *Memory) Page(_ context.Context, user pages.User, id int64) (pages.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return pages.View{}, m.err
	}
	if page := m.pages[id]; page != nil {
		if rights := m.rights[id](user); rights.View {
			return pages.View{Page: page, Rights: rights}, nil
		}
	}
	return pages.View{}, pages.ErrNotFound
}

// List implements pages.Source.
func (m *Memory) List(_ context.Context, user pages.User) ([]pages.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	var list []pages.View
	for id, page := range m.pages {
		if rights := m.rights[id](user); rights.View && len(page.Forms) > 0 {
			list = append(list, pages.View{Page: page, Rights: rights})
		}
	}
	slices.SortFunc(list, func(a, b pages.View) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// LastKnown implements pages.Source.
func (m *Memory) LastKnown(id int64) *pages.Page {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pages[id]
}

// Ready implements pages.Source.
func (m *Memory) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Reload implements pages.Source. There is nothing to read.
func (m *Memory) Reload(context.Context) {}

// Run implements pages.Source. There is nothing to do.
func (m *Memory) Run(ctx context.Context) { <-ctx.Done() }
