// Package wikitest is a wiki in memory, for the tests of what asks a wiki.
package wikitest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/formulary/formulary/internal/wiki"
)

// Page is a page of a Fake.
type Page struct {
	Title, Text string
	// View and Edit are names of users, or "@" and the name of a group; nil is every
	// user. Who may edit the page may view it.
	View, Edit []string
	NoText     bool // it is in another format
	Deleted    bool
	version    int64
}

// User is an account of a Fake.
type User struct {
	Password string
	Groups   []string
	Blocked  bool
}

// Fake is a wiki in memory. The cookie "session" has the name of a user.
type Fake struct {
	mu    sync.Mutex
	users map[string]User
	pages map[int64]*Page
	last  int64 // page id, and version
	calls map[string]int
	err   error
	hold  chan struct{}
}

var _ wiki.Wiki = (*Fake)(nil)

// New returns a wiki without pages.
func New(users map[string]User) *Fake {
	return &Fake{users: users, pages: map[int64]*Page{}, calls: map[string]int{}}
}

// Write writes a page, a new one if id is 0, and returns its id.
func (f *Fake) Write(id int64, p Page) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	if id == 0 {
		id = f.last
	}
	p.version = f.last
	f.pages[id] = &p
	return id
}

// Change changes a page, or who may do what with it, without a new version.
func (f *Fake) Change(id int64, change func(*Page)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.pages[id])
}

// SetUser adds or changes a user.
func (f *Fake) SetUser(name string, u User) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users[name] = u
}

// RemoveUser removes a user, and ends their sessions.
func (f *Fake) RemoveUser(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.users, name)
}

// Fail has all calls fail, until it is called with nil.
func (f *Fake) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Hold has calls that begin from now on wait, until release is called.
func (f *Fake) Hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = make(chan struct{})
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(f.hold)
		f.hold = nil
	})
}

// Calls returns how many calls there were, by the name of the method.
func (f *Fake) Calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// begin counts a call, and returns the error that it is to fail with.
func (f *Fake) begin(ctx context.Context, method string) error {
	f.mu.Lock()
	f.calls[method]++
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Login implements wiki.Wiki. The wiki writes names with a capital. A token is the
// name and the password with a dot between them.
func (f *Fake) Login(ctx context.Context, c wiki.Credential, _ string) (*wiki.Session, error) {
	if err := f.begin(ctx, "Login"); err != nil {
		return nil, err
	}
	if c.Token != "" {
		c.User, c.Password, _ = strings.Cut(c.Token, ".")
	}
	name := strings.ToUpper(c.User[:1]) + c.User[1:]
	f.mu.Lock()
	defer f.mu.Unlock()
	if u, ok := f.users[name]; !ok || u.Password != c.Password {
		return nil, wiki.ErrRefused
	}
	name, _, _ = strings.Cut(name, "@")
	return NewSession(name), nil
}

var lastSession atomic.Uint64

// NewSession returns a session of a user.
func NewSession(name string) *wiki.Session {
	return &wiki.Session{Name: name, ID: lastSession.Add(1)}
}

// SessionCookies implements wiki.Wiki.
func (f *Fake) SessionCookies(_ context.Context, cookies []*http.Cookie) ([]*http.Cookie, error) {
	return slices.DeleteFunc(slices.Clone(cookies), func(c *http.Cookie) bool { return c.Name != "session" }), nil
}

// Resume implements wiki.Wiki.
func (f *Fake) Resume(ctx context.Context, cookies []*http.Cookie, _ string, _ bool) (*wiki.Session, error) {
	if err := f.begin(ctx, "Resume"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.users[cookies[0].Value]; !ok {
		return nil, wiki.ErrRefused
	}
	return NewSession(cookies[0].Value), nil
}

// Pages implements wiki.Wiki.
func (f *Fake) Pages(ctx context.Context, c wiki.Caller, ids ...int64) (map[int64]wiki.Page, error) {
	if err := f.begin(ctx, "Pages"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Ended() {
		return nil, wiki.ErrRefused
	}
	user := f.users[c.Name]
	found := map[int64]wiki.Page{}
	for _, id := range ids {
		p := f.pages[id]
		if p == nil || p.Deleted || !p.readable(c.Name, user) {
			continue
		}
		found[id] = wiki.Page{
			ID: id, Title: p.Title, Version: p.version, HasText: !p.NoText, Blocked: user.Blocked,
			Edit: p.Edit == nil || includes(p.Edit, c.Name, user),
		}
	}
	return found, nil
}

func (p *Page) readable(name string, u User) bool {
	return p.View == nil || includes(p.View, name, u) || includes(p.Edit, name, u)
}

func includes(list []string, name string, u User) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		group, isGroup := strings.CutPrefix(entry, "@")
		return entry == name || isGroup && slices.Contains(u.Groups, group)
	})
}

// Text implements wiki.Wiki.
func (f *Fake) Text(ctx context.Context, c wiki.Caller, id int64) (wiki.Text, error) {
	if err := f.begin(ctx, "Text"); err != nil {
		return wiki.Text{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pages[id]
	if p == nil || p.Deleted || !p.readable(c.Name, f.users[c.Name]) {
		return wiki.Text{}, wiki.ErrNoText
	}
	return wiki.Text{Version: p.version, Source: []byte(p.Text)}, nil
}

// All implements wiki.Wiki.
func (f *Fake) All(ctx context.Context, c wiki.Caller, visit func(wiki.Page, wiki.Text, int) error) error {
	f.mu.Lock()
	ids := make([]int64, 0, len(f.pages))
	for id := range f.pages {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	slices.Sort(ids)
	found, err := f.Pages(ctx, c, ids...)
	if err != nil {
		return err
	}
	for _, id := range ids {
		page, ok := found[id]
		if !ok {
			continue
		}
		text, err := f.Text(ctx, c, id)
		if err == nil {
			err = visit(page, text, len(ids))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Ready implements wiki.Wiki.
func (f *Fake) Ready(ctx context.Context) error { return f.begin(ctx, "Ready") }

// Title implements wiki.Wiki.
func (f *Fake) Title() string { return "Test Wiki" }

// SignInURL implements wiki.Wiki.
func (f *Fake) SignInURL(pageID int64) string {
	return fmt.Sprint("https://wiki.example/sign-in?page=", pageID)
}

// Run implements wiki.Wiki. There is nothing to do.
func (f *Fake) Run(ctx context.Context) { <-ctx.Done() }

// Reload implements wiki.Wiki. There is nothing to read.
func (f *Fake) Reload(context.Context) {}
