// Package confluencetest is a Confluence for tests. It speaks the documented shapes
// of Data Center (REST v1) and Cloud (REST v2), and can answer oddly.
package confluencetest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Base is the context path.
const Base = "/wiki"

// User is an account.
type User struct {
	Name     string // in Cloud the account id
	Password string // none in Cloud
	Token    string // personal access token; in Cloud the API token, which goes with Email
	Groups   []string
	Email    string
	Hidden   bool // the e-mail address is not told
}

// Page is a page, or a blog post, a comment, an attachment.
type Page struct {
	ID      int64  // 0 for a new page
	Type    string // "" for page
	Status  string // "" for current
	Title   string
	Text    string // storage format
	Version int64  // set by Write
	// View and Edit are names of users, or "@" and the name of a group; nil is
	// everybody. Who may edit the page may view it.
	View, Edit []string
}

// Call is a request that the server got.
type Call struct {
	Path   string // without Base
	Query  string
	Header http.Header
}

// Server is a Confluence. Its methods are safe for concurrent use.
type Server struct {
	t     testing.TB
	cloud bool
	host  string

	mu       sync.Mutex
	server   *http.Server // nil while it is stopped
	users    map[string]User
	cookies  map[string]string // value of the session cookie: user name
	pages    map[int64]Page
	versions map[int64]int64 // of removed pages, too
	last     int64           // page id
	private  bool
	unmarked bool
	batch    int // pages of a list, at most
	fault    Fault
	calls    []Call
}

// New starts a Confluence without users and pages, until the test ends.
func New(t testing.TB, cloud bool) *Server {
	s := &Server{
		t: t, cloud: cloud, host: "127.0.0.1:0", last: 65536, batch: 25,
		users: map[string]User{}, cookies: map[string]string{}, pages: map[int64]Page{}, versions: map[int64]int64{},
	}
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Address is what Formulary calls it by: the kind and the address.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cloud {
		return "confluence-cloud+http://" + s.host + Base
	}
	return "confluence+http://" + s.host + Base
}

// Stop makes the server unreachable.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		_ = s.server.Close()
		s.server = nil
	}
}

// Restart starts it again, at the same address.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.host)
	if err != nil {
		s.t.Fatalf("start Confluence: %v", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	s.host, s.server = listener.Addr().String(), server
	go func() { _ = server.Serve(listener) }()
}

// AddUser adds an account, or replaces the one with that name.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.Name] = u
}

// RemoveUser removes an account, and ends its sessions.
func (s *Server) RemoveUser(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, name)
	maps.DeleteFunc(s.cookies, func(_, user string) bool { return user == name })
}

// SignIn returns the cookies of a browser in which a user has signed in.
func (s *Server) SignIn(name string) []*http.Cookie {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := fmt.Sprintf("%032X", len(s.cookies)+1)
	s.cookies[value] = name
	return []*http.Cookie{
		{Name: s.sessionCookie(), Value: value},                            //nolint:gosec // as a browser sends it
		{Name: "confluence.list.pages.cookie", Value: "list-content-tree"}, //nolint:gosec // likewise
	}
}

func (s *Server) sessionCookie() string {
	if s.cloud {
		return "tenant.session.token"
	}
	return "JSESSIONID"
}

// SignOut ends the sessions of all browsers.
func (s *Server) SignOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.cookies)
}

// Write writes a page, as a new version, and returns its id.
func (s *Server) Write(p Page) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.ID == 0 {
		s.last += 32
		p.ID = s.last
	}
	if p.Type == "" {
		p.Type = "page"
	}
	if p.Status == "" {
		p.Status = "current"
	}
	s.versions[p.ID]++
	p.Version = s.versions[p.ID]
	s.pages[p.ID] = p
	return p.ID
}

// Remove removes a page.
func (s *Server) Remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pages, id)
}

// Private takes the permission to use Confluence from anonymous users, or gives it to
// them. They have it at first, and may do with a page what everybody may.
func (s *Server) Private(private bool) { s.set(func() { s.private = private }) }

// Unmarked has Data Center leave out the header that names the user, as behind some proxies.
func (s *Server) Unmarked(unmarked bool) { s.set(func() { s.unmarked = unmarked }) }

// Batch sets how many pages a list has at most.
func (s *Server) Batch(pages int) { s.set(func() { s.batch = pages }) }

// Fail has the server answer oddly, or not any more if the fault is nil.
func (s *Server) Fail(f Fault) { s.set(func() { s.fault = f }) }

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Calls returns the requests so far with a path that begins with a text.
func (s *Server) Calls(prefix string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool { return !strings.HasPrefix(c.Path, prefix) })
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutPrefix(r.URL.Path, Base)
	s.mu.Lock()
	s.calls = append(s.calls, Call{path, r.URL.RawQuery, r.Header.Clone()})
	fault := s.fault
	s.mu.Unlock()
	switch {
	case !found || r.Method != http.MethodGet:
		page(w, http.StatusNotFound, "Oops, you've found a dead link.")
	case fault != nil:
		fault(w, r, http.HandlerFunc(s.answer))
	default:
		s.answer(w, r)
	}
}
