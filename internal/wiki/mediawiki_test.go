package wiki

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

// liveWiki is a real MediaWiki, and its client.
type liveWiki struct {
	*mediawikitest.Server
	*mediaWiki
	addresses int
}

// The tests share one wiki. Each has clients with an address of its own, since the
// wiki counts wrong passwords by address.
func TestMediaWiki(t *testing.T) {
	server := mediawikitest.Start(t)
	w, err := Open(Options{Address: "mediawiki+" + server.API, Agent: "Formulary/test", Logger: slog.New(slog.DiscardHandler)})
	testkit.Must(t, err)
	r := &liveWiki{Server: server, mediaWiki: w.(*mediaWiki)}
	for _, test := range []struct {
		name string
		run  func(*liveWiki, *testing.T)
	}{
		{"Names", (*liveWiki).testNames},
		{"WrongPasswords", (*liveWiki).testWrongPasswords},
		{"BotPasswords", (*liveWiki).testBotPasswords},
		{"Throttle", (*liveWiki).testThrottle},
		{"Captcha", (*liveWiki).testCaptcha},
		{"TwoFactors", (*liveWiki).testTwoFactors},
		{"PrivateWiki", (*liveWiki).testPrivateWiki},
		{"PrivatePage", (*liveWiki).testPrivatePage},
		{"Edit", (*liveWiki).testEdit},
		{"DeleteAndMove", (*liveWiki).testDeleteAndMove},
		{"Block", (*liveWiki).testBlock},
		{"OtherModels", (*liveWiki).testOtherModels},
		{"ManyPages", (*liveWiki).testManyPages},
		{"All", (*liveWiki).testAll},
		{"RenewOnce", (*liveWiki).testRenewOnce},
		{"Browser", (*liveWiki).testBrowser},
		{"ReadOnly", (*liveWiki).testReadOnly},
		{"Stopped", (*liveWiki).testStopped},
		{"NewPassword", (*liveWiki).testNewPassword},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(r, t) })
	}
}

// address is one that no other test has.
func (r *liveWiki) address() string {
	r.addresses++
	return fmt.Sprintf("192.0.2.%d", r.addresses)
}

func (r *liveWiki) signIn(t *testing.T, user, password string) Caller {
	t.Helper()
	from := r.address()
	s, err := r.Login(t.Context(), Credential{User: user, Password: password}, from)
	if err != nil {
		t.Fatalf("%s: %v", user, err)
	}
	return Caller{s, from}
}

func (r *liveWiki) user(t *testing.T, name string) Caller {
	t.Helper()
	return r.signIn(t, name, mediawikitest.Password(name))
}

// page returns a page as a caller may use it; the zero value if it is not there for
// them.
func (r *liveWiki) page(t *testing.T, c Caller, id int64) Page {
	t.Helper()
	pages, err := r.Pages(t.Context(), c, id)
	testkit.Must(t, err)
	return pages[id]
}

// outcome is what a sign-in comes to.
func (r *liveWiki) outcome(t *testing.T, user, password, from string) string {
	t.Helper()
	return outcome(r.Login(t.Context(), Credential{User: user, Password: password}, from))
}

// sent is how often a password was sent to the wiki.
func (r *liveWiki) sent() int {
	n := 0
	for _, call := range r.Calls() {
		if call == "login" || call == "clientlogin" {
			n++
		}
	}
	return n
}

func (r *liveWiki) testNames(t *testing.T) {
	for login, want := range map[string]string{
		"Ann": "Ann", "ann": "Ann", "Carl Doe": "Carl Doe", "carl_Doe": "Carl Doe", "über Größe": "Über Größe", "Über_Größe": "Über Größe",
	} {
		testkit.Same(t, login, r.outcome(t, login, mediawikitest.Password(want), r.address()), want)
	}
	if c := r.user(t, "Über Größe"); !r.page(t, c, 1).Edit {
		t.Error("Über Größe may not edit a page")
	}
}

func (r *liveWiki) testWrongPasswords(t *testing.T) {
	for user, password := range map[string]string{
		"Ann": "nope", "Unknown": "nope", "A[]|#": "nope", "192.0.2.1": "nope", "Bob": "", "": "nope", "Ann/Bob": "nope",
		"Carl Doe": mediawikitest.Password("Ann"), strings.Repeat("A", 300): "nope", "ann ": " ",
	} {
		if got := r.outcome(t, user, password, r.address()); got != "refused" {
			t.Errorf("%.20q with %q: %s", user, password, got)
		}
	}
}

func (r *liveWiki) testBotPasswords(t *testing.T) {
	for app, grants := range map[string][]string{"read": {"basic"}, "edit": {"basic", "editpage"}} {
		password := r.BotPassword("Carl Doe", app, grants...)
		c := r.signIn(t, "carl_Doe@"+app, password)
		if page := r.page(t, c, 1); c.Name != "Carl Doe" || page.ID != 1 || page.Edit != (app == "edit") {
			t.Errorf("%s: %s has %+v", app, c.Name, page)
		}
		for user, password := range map[string]string{
			"Carl Doe@" + app: strings.Repeat("0", len(password)), "Carl Doe@other": password, "Ann@" + app: password, "Unknown@" + app: password,
			"@" + app: password, "Carl Doe@": password, "Ann@home": mediawikitest.Password("Ann"),
		} {
			testkit.Same(t, user, r.outcome(t, user, password, r.address()), "refused")
		}
	}
}

func (r *liveWiki) testThrottle(t *testing.T) {
	r.Throttle(2, 200*time.Second)
	defer r.Throttle(0, 0)
	for _, tt := range []struct{ user, right string }{
		{"Ann", mediawikitest.Password("Ann")}, {"Sara@throttle", r.BotPassword("Sara", "throttle", "basic")},
	} {
		from := r.address()
		for range 2 {
			testkit.Same(t, tt.user+": wrong", r.outcome(t, tt.user, strings.Repeat("0", 32), from), "refused")
		}
		testkit.Same(t, tt.user+": throttled", r.outcome(t, tt.user, tt.right, from), "3m20s")
		if got := r.outcome(t, tt.user, tt.right, r.address()); got == "3m20s" {
			t.Errorf("%s, from another address: %s", tt.user, got)
		}
	}
}

func (r *liveWiki) testCaptcha(t *testing.T) {
	r.Captcha(2)
	defer r.Captcha(0)
	from := r.address()
	for range 2 {
		testkit.Same(t, "wrong", r.outcome(t, "Ann", "nope", from), "refused")
	}
	sent := r.sent()
	if got := r.outcome(t, "Bob", mediawikitest.Password("Bob"), from); got != "captcha 15s" || r.sent() != sent {
		t.Errorf("the right password: %s; sent %d times", got, r.sent()-sent)
	}
	testkit.Same(t, "from another address", r.outcome(t, "Bob", mediawikitest.Password("Bob"), r.address()), "Bob")
	testkit.Same(t, "a bot password", r.outcome(t, "Bob@captcha", r.BotPassword("Bob", "captcha", "basic"), from), "Bob")
	r.Captcha(0)
	testkit.Same(t, "afterwards", r.outcome(t, "Bob", mediawikitest.Password("Bob"), from), "Bob")
}

func (r *liveWiki) testTwoFactors(t *testing.T) {
	r.TwoFactor("Sara")
	testkit.Same(t, "the password alone", r.outcome(t, "Sara", mediawikitest.Password("Sara"), r.address()), "advice")
	testkit.Same(t, "a wrong password", r.outcome(t, "Sara", "nope", r.address()), "refused")
	testkit.Same(t, "a bot password", r.outcome(t, "Sara@forms", r.BotPassword("Sara", "forms", "basic"), r.address()), "Sara")
}

func (r *liveWiki) testPrivateWiki(t *testing.T) {
	r.Private(true)
	defer r.Private(false)
	if err := r.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if c := r.user(t, "Ann"); !r.page(t, c, 1).Edit {
		t.Error("Ann may not edit a page")
	}
	testkit.ErrorIs(t, "a session that is not there", second(r.Resume(t.Context(), []*http.Cookie{{Name: "wiki_session", Value: strings.Repeat("0", 32)}}, r.address(), false)), ErrRefused)
	c := r.signIn(t, "Ann@nothing", r.BotPassword("Ann", "nothing"))
	if pages, err := r.Pages(t.Context(), c, 1); err != nil || len(pages) != 0 {
		t.Errorf("without the right to read: %v, %v", pages, err)
	}
	testkit.ErrorIs(t, "without the right to read", second(r.Text(t.Context(), c, 1)), ErrNoText)
}

func (r *liveWiki) testPrivatePage(t *testing.T) {
	ann, bob := r.user(t, "Ann"), r.user(t, "Bob")
	id := r.Write("Secret plan", "secret")
	r.SetRights(id, []string{"Ann"}, []string{"Bob"})
	if page := r.page(t, ann, id); page.Title != "Secret plan" || page.Edit {
		t.Errorf("a reader has %+v", page)
	}
	if page := r.page(t, bob, id); !page.Edit || !page.HasText {
		t.Errorf("an editor has %+v", page)
	}
	r.SetRights(id, []string{"Ann", "@staff"}, []string{})
	testkit.Same(t, "somebody else", r.page(t, bob, id), (Page{}))
	testkit.ErrorIs(t, "somebody else reads", second(r.Text(t.Context(), bob, id)), ErrNoText)
	err := r.All(t.Context(), bob, func(p Page, _ Text, _ int) error {
		if p.ID == id {
			t.Errorf("somebody else visits %+v", p)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func (r *liveWiki) testEdit(t *testing.T) {
	ann := r.user(t, "Ann")
	const title = `It's "quoted" & 100 % Ü`
	id := r.Write(title, "first")
	before := r.page(t, ann, id)
	first, err := r.Text(t.Context(), ann, id)
	if err != nil || before.Title != title || first.Version != before.Version || string(first.Source) != "first" {
		t.Errorf("%+v has %+v, %v", before, first, err)
	}
	r.Edit(id, "second \U0001F642")
	after := r.page(t, ann, id)
	second, err := r.Text(t.Context(), ann, id)
	if err != nil || after.Version == before.Version || second.Version != after.Version || string(second.Source) != "second \U0001F642" {
		t.Errorf("after the edit %+v has %+v, %v", after, second, err)
	}
}

func (r *liveWiki) testDeleteAndMove(t *testing.T) {
	ann := r.user(t, "Ann")
	id := r.Write("Deleted", "text")
	r.Delete(id)
	testkit.Same(t, "deleted", r.page(t, ann, id), (Page{}))
	testkit.ErrorIs(t, "deleted", second(r.Text(t.Context(), ann, id)), ErrNoText)
	if r.Undelete("Deleted"); r.page(t, ann, id).Title != "Deleted" {
		t.Errorf("undeleted: %+v", r.page(t, ann, id))
	}
	if r.Move(id, "Moved"); r.page(t, ann, id).Title != "Moved" {
		t.Errorf("moved: %+v", r.page(t, ann, id))
	}
	r.Delete(id)
	anew := r.Write("Moved", "text")
	if anew == id || r.page(t, ann, anew).Title != "Moved" || r.page(t, ann, id) != (Page{}) {
		t.Errorf("made anew: %d is %+v, %d is %+v", anew, r.page(t, ann, anew), id, r.page(t, ann, id))
	}
}

func (r *liveWiki) testBlock(t *testing.T) {
	bob := r.user(t, "Bob")
	id := r.Write("Blocked", "text")
	for _, tt := range []struct {
		name          string
		set           func()
		blocked, edit bool
		editOther     bool
	}{
		{"partial block", func() { r.Block("Bob", id) }, false, false, true},
		{"block", func() { r.Block("Bob") }, true, false, false},
		{"block of user and address", func() { r.Block(bob.From) }, true, false, false}, // such a block has no id
		{"block of the address", func() { r.Unblock("Bob") }, true, false, false},
		{"unblocked", func() { r.Unblock(bob.From) }, false, true, true},
	} {
		tt.set()
		page, other := r.page(t, bob, id), r.page(t, bob, 1)
		if page.Blocked != tt.blocked || page.Edit != tt.edit || other.Blocked != tt.blocked || other.Edit != tt.editOther {
			t.Errorf("%s: %+v, another page %+v", tt.name, page, other)
		}
		if text, err := r.Text(t.Context(), bob, id); err != nil || string(text.Source) != "text" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func (r *liveWiki) testOtherModels(t *testing.T) {
	ann := r.user(t, "Ann")
	for _, title := range []string{"MediaWiki:Common.css", "User:Ann/data.json"} {
		id := r.Write(title, "{}")
		if page := r.page(t, ann, id); page.Title != title || page.HasText {
			t.Errorf("%+v", page)
		}
		testkit.ErrorIs(t, title, testkit.ErrorOf(r.Text(t.Context(), ann, id)), ErrNoText)
	}
}

// MediaWiki tells the rights to 25 pages, and of the others no more than the title.
func (r *liveWiki) testManyPages(t *testing.T) {
	ann := r.user(t, "Ann")
	var ids []int64
	for i := range mwMaxInfo + 1 {
		ids = append(ids, r.Write(fmt.Sprintf("Many %d", i), "text"))
	}
	pages, err := r.Pages(t.Context(), ann, append(ids, 999_999_999, 1<<32-1)...)
	if err != nil || len(pages) != len(ids) {
		t.Errorf("%d of %d pages, %v", len(pages), len(ids), err)
	}
	for _, id := range ids {
		if !pages[id].Edit {
			t.Errorf("page %d is %+v", id, pages[id])
		}
	}
}

func (r *liveWiki) testAll(t *testing.T) {
	r.Write("Talk:All", "in another namespace")
	r.Write("Empty", "")
	var titles []string
	last := 0
	err := r.All(t.Context(), r.user(t, "Ann"), func(p Page, text Text, total int) error {
		if p.Title == "Talk:All" && string(text.Source) != "in another namespace" || !p.HasText || total < last {
			t.Errorf("%+v has %q, of %d", p, text.Source, total)
		}
		titles, last = append(titles, p.Title), total
		return nil
	})
	if err != nil || len(titles) != last {
		t.Errorf("visited %d of %d, %v", len(titles), last, err)
	}
	for title, want := range map[string]bool{
		"Main Page": true, "Talk:All": true, "Empty": true, "Many 0": true, "Many 25": true, "MediaWiki:Common.css": false, "Deleted": false,
	} {
		if slices.Contains(titles, title) != want {
			t.Errorf("visited %s: %v", title, !want)
		}
	}
	slices.Sort(titles)
	if len(slices.Compact(titles)) != last {
		t.Errorf("visited some pages twice: %q", titles)
	}
}

func (r *liveWiki) testRenewOnce(t *testing.T) {
	ann := r.user(t, "Ann")
	r.EndSessions()
	sent := r.sent()
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if pages, err := r.Pages(t.Context(), ann, 1); err != nil || !pages[1].Edit {
				t.Errorf("got %+v, %v", pages, err)
			}
		})
	}
	calls.Wait()
	if got := r.sent() - sent; got != 1 || ann.Ended() {
		t.Errorf("%d sign-ins, ended: %v", got, ann.Ended())
	}
}

// A browser's session is that of the user who signed in with it.
func (r *liveWiki) testBrowser(t *testing.T) {
	cookies := (&http.Request{Header: r.user(t, "Über Größe").authentication()}).Cookies()
	cookies = append(cookies, &http.Cookie{Name: "other", Value: "1"})
	found, err := r.SessionCookies(t.Context(), cookies)
	if err != nil || len(found) != len(cookies)-1 {
		t.Fatalf("found %v, %v", found, err)
	}
	s, err := r.Resume(t.Context(), found, r.address(), false)
	if err != nil || s.Name != "Über Größe" {
		t.Fatalf("got %v, %v", s, err)
	}
	c := Caller{s, r.address()}
	if !r.page(t, c, 1).Edit {
		t.Error("the user may not edit a page")
	}
	r.EndSessions()
	sent := r.sent()
	if _, err := r.Pages(t.Context(), c, 1); !errors.Is(err, ErrRefused) || !s.Ended() || r.sent() != sent {
		t.Errorf("a session that has ended: %v, %v", err, s.Ended())
	}
	testkit.ErrorIs(t, "a session that has ended", second(r.Resume(t.Context(), found, r.address(), false)), ErrRefused)
}

func (r *liveWiki) testReadOnly(t *testing.T) {
	ann := r.user(t, "Ann")
	password := r.BotPassword("Ann", "readonly", "basic")
	r.ReadOnly(true)
	defer r.ReadOnly(false)
	for user, password := range map[string]string{"Ann": mediawikitest.Password("Ann"), "Ann@readonly": password} {
		testkit.Same(t, user, r.outcome(t, user, password, r.address()), "unavailable")
	}
	if !r.page(t, ann, 1).Edit {
		t.Error("somebody who is signed in is told other rights")
	}
}

func (r *liveWiki) testStopped(t *testing.T) {
	ann := r.user(t, "Ann")
	r.Stop()
	checkOdd(t, "Pages", second(r.Pages(t.Context(), ann, 1)))
	checkOdd(t, "Ready", r.Ready(t.Context()))
	r.Restart()
	if err := r.Ready(t.Context()); err != nil || !r.page(t, ann, 1).Edit {
		t.Errorf("after the restart: %v", err)
	}
}

// A changed password ends no session of the wiki, but no new one begins with the
// old.
func (r *liveWiki) testNewPassword(t *testing.T) {
	bob := r.user(t, "Bob")
	r.SetPassword("Bob", "another password")
	testkit.Same(t, "the old password", r.outcome(t, "Bob", mediawikitest.Password("Bob"), r.address()), "refused")
	testkit.Same(t, "the new password", r.outcome(t, "Bob", "another password", r.address()), "Bob")
	_, _ = r.Pages(t.Context(), bob, 1) // the wiki may have ended it
	r.EndSessions()
	if _, err := r.Pages(t.Context(), bob, 1); !errors.Is(err, ErrRefused) || !bob.Ended() {
		t.Errorf("a session that can't be renewed: %v, %v", err, bob.Ended())
	}
}
