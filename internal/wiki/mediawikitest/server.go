// Package mediawikitest runs a real MediaWiki for tests: 1.43 LTS as Debian packs it,
// with PHP's own server and SQLite, on a loopback port. Each server is a copy of a
// template, which is installed once per machine.
package mediawikitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// Server is a wiki that a test may do anything to. Its users are Admin, who may do
// everything, Ann, Alice, Bob, Dave, Sara in the group staff, Carol in the group hr,
// "Carl Doe" and "Über Größe".
type Server struct {
	URL string // without a slash at the end
	API string // the address of api.php

	t       testing.TB
	dir     string
	program string // the folder of MediaWiki
	addr    string
	mu      sync.Mutex
	state   state
	daemon  *testkit.Daemon // nil while it does not run
}

// state is what LocalSettings.php reads.
type state struct {
	Server   string           `json:"server"`
	ReadOnly bool             `json:"readOnly"`
	Private  bool             `json:"private"`
	Captcha  int              `json:"captcha"`
	Attempts int              `json:"attempts"`
	Seconds  int              `json:"seconds"`
	Rights   map[int64]rights `json:"rights"`
}

type rights struct {
	View []string `json:"view"`
	Edit []string `json:"edit"`
}

// Title is that of the wiki.
const Title = "Test"

// Password is that of a user, until SetPassword changes it.
func Password(user string) string { return user + "'s password" }

// workers is how many requests a server answers at a time.
const workers = "4"

// Start starts a wiki, which ends with the test. It has one page, and nothing of
// what the methods of Server switch on.
func Start(t testing.TB) *Server {
	t.Helper()
	template, err := template()
	if errors.Is(err, errMissing) {
		testkit.Missing(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: t.TempDir(), program: template.program}
	if err := os.CopyFS(s.dir, os.DirFS(template.dir)); err != nil {
		t.Fatal(err)
	}
	s.addr = testkit.FreeAddress(t)
	s.URL = "http://" + s.addr
	s.API = s.URL + "/api.php"
	t.Cleanup(func() {
		s.Stop()
		compiled, _ := filepath.Glob(filepath.Join(opcache(), "*", s.dir)) // the scripts of this server
		for _, dir := range compiled {
			_ = os.RemoveAll(dir)
		}
	})
	s.Restart()
	return s
}

// Restart starts the wiki again after Stop, at the same address.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.daemon = testkit.NewDaemon(filepath.Join(s.dir, "log"), "php", "-d", "display_errors=0", "-d", "opcache.file_cache="+opcache(),
		"-S", s.addr, "-t", s.program, filepath.Join(s.dir, "router.php"))
	s.daemon.Env = append(os.Environ(), "PHP_CLI_SERVER_WORKERS="+workers, "MEDIAWIKITEST_URL="+s.URL,
		"MW_CONFIG_FILE="+filepath.Join(s.dir, "LocalSettings.php"), "TMPDIR="+s.dir)
	s.daemon.Dir = s.dir
	s.daemon.Start(s.t)
	testkit.Eventually(s.t, "the wiki listens", func() bool { return testkit.Listens(s.addr) })
	s.do("ping")
}

// Stop ends the wiki. What it has stored stays.
func (s *Server) Stop() {
	if s.daemon != nil {
		s.daemon.Stop()
		s.daemon = nil
		testkit.Eventually(s.t, "the last worker ends", func() bool { return !testkit.Listens(s.addr) })
	}
}

// do calls a function of control.php.
func (s *Server) do(function string, with ...any) any {
	s.t.Helper()
	if with == nil {
		with = []any{}
	}
	body, err := json.Marshal(map[string]any{"do": function, "with": with})
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.Post(s.URL+"/control", "application/json", bytes.NewReader(body)) //nolint:noctx // the wiki ends with the test
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", function, err, s.log())
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(res.Body)
	var answer struct{ Answer, Error any }
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error != nil {
		s.t.Fatalf("%s: %s\n%s", function, text, s.log())
	}
	return answer.Answer
}

// log is the end of what PHP has said.
func (s *Server) log() []byte {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return text[max(0, len(text)-1500):]
}

func (s *Server) id(answer any) int64 {
	s.t.Helper()
	id, ok := answer.(float64)
	if !ok || id < 1 {
		s.t.Fatalf("no page id: %v", answer)
	}
	return int64(id)
}

// Write writes a page, which it makes if there is none with this title, and returns
// its id.
func (s *Server) Write(title, text string) int64 {
	s.t.Helper()
	return s.id(s.do("write", title, text))
}

// Edit changes the text of a page.
func (s *Server) Edit(id int64, text string) { s.t.Helper(); s.do("write", id, text) }

// Delete deletes a page.
func (s *Server) Delete(id int64) { s.t.Helper(); s.do("delete", id) }

// Undelete restores a page, and returns its id.
func (s *Server) Undelete(title string) int64 {
	s.t.Helper()
	return s.id(s.do("undelete", title))
}

// Move gives a page another title.
func (s *Server) Move(id int64, title string) { s.t.Helper(); s.do("move", id, title) }

// Block blocks a user or an address: everywhere, or on these pages alone. It
// replaces an earlier block.
func (s *Server) Block(user string, pages ...int64) {
	s.t.Helper()
	s.do("block", user, append([]int64{}, pages...))
}

// Unblock ends the block of a user or an address.
func (s *Server) Unblock(user string) { s.t.Helper(); s.do("unblock", user) }

// SetPassword changes the password of a user.
func (s *Server) SetPassword(user, password string) {
	s.t.Helper()
	s.do("setPassword", user, password)
}

// BotPassword makes a password for USER@APP with some grants, such as basic and
// editpage.
func (s *Server) BotPassword(user, app string, grants ...string) string {
	s.t.Helper()
	return fmt.Sprint(s.do("botPassword", user, app, append([]string{}, grants...)))
}

// TwoFactor has a user sign in with a second step.
func (s *Server) TwoFactor(user string) { s.t.Helper(); s.do("twoFactor", user) }

// EndSessions signs everybody out.
func (s *Server) EndSessions() { s.t.Helper(); s.do("endSessions") }

// SetRights says who may view and who may edit a page: names of users, or "@" and
// the name of a group; nil is everybody. Who may edit may view.
func (s *Server) SetRights(id int64, view, edit []string) {
	s.t.Helper()
	s.set(func(st *state) {
		st.Rights = maps.Clone(st.Rights)
		if st.Rights == nil {
			st.Rights = map[int64]rights{}
		}
		st.Rights[id] = rights{view, edit}
	})
}

// SetAddress has the wiki behind a proxy use the proxy's address in its links.
func (s *Server) SetAddress(origin string) {
	s.t.Helper()
	s.set(func(st *state) { st.Server = origin })
}

// ReadOnly has the wiki refuse all changes, sign-ins among them.
func (s *Server) ReadOnly(on bool) { s.t.Helper(); s.set(func(st *state) { st.ReadOnly = on }) }

// Private has the wiki answer its own users alone.
func (s *Server) Private(on bool) { s.t.Helper(); s.set(func(st *state) { st.Private = on }) }

// Captcha has the wiki want a CAPTCHA of an address after some wrong passwords; 0
// is never.
func (s *Server) Captcha(after int) { s.t.Helper(); s.set(func(st *state) { st.Captcha = after }) }

// Throttle has the wiki check so many passwords of a user in a time; 0 is all.
func (s *Server) Throttle(attempts int, in time.Duration) {
	s.t.Helper()
	s.set(func(st *state) { st.Attempts, st.Seconds = attempts, int(in.Seconds()) })
}

// set changes the settings. The next request meets them.
func (s *Server) set(change func(*state)) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	text, err := json.Marshal(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.dir, "state.json")
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// Calls returns what the API was asked for since the start: the action, such as
// "login" or "clientlogin", or of a query what that was for, such as "info",
// "revisions", "tokens|authmanagerinfo", "siteinfo", "userinfo".
func (s *Server) Calls() []string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	var calls []string
	for line := range strings.Lines(string(text)) {
		q, err := url.ParseQuery(strings.TrimSpace(line))
		if err != nil {
			s.t.Fatal(err)
		}
		call := q.Get("action")
		if call == "query" {
			call = cmp.Or(q.Get("prop"), q.Get("list"), q.Get("meta"))
		}
		calls = append(calls, call)
	}
	return calls
}
