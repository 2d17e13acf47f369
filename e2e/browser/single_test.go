package browser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestKeyboard goes from the sign-in to what was sent without a mouse. Whatever
// has the focus shows it.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	for _, options := range []browsertest.Options{{}, {Dark: true, NoScript: true}} {
		s := newSite(t, options)
		p := s.open(t, trip)
		p.tabTo(`link "Skip to the content"`)
		p.tabTo(`textbox "User name"`)
		p.Type(ann)
		p.tabTo(`textbox "Password"`)
		p.Type(ann + "-secret")
		p.Loads(func() { p.Press("Enter") })
		p.wantPath(trip)

		p.tabTo(`textbox "Your name"`)
		p.Type("Ann Other")
		p.tabTo(`combobox "Room"`)
		p.Press("ArrowDown", "ArrowDown")
		p.tabTo(`radio "Meat"`)
		p.Press("ArrowDown")
		p.tabTo(`checkbox "Harbour"`)
		p.Press("Space")
		p.tabTo(`button "Send"`)
		p.Loads(func() { p.Press("Enter") })
		p.wantProblems("“Who shares your room?” is required", "“Day of arrival” is required", "“Are you insured?” is required")
		if !options.NoScript { // by chromium alone, the Enter key might go on to send the form
			p.tabTo(`link "“Day of arrival” is required"`)
			p.Press("Enter")
		} else {
			p.tabTo(`Date "Day of arrival"`)
		}
		p.Wait("the field has the focus", func() bool { return p.Focused() == `Date "Day of arrival"` })
		p.Type("03062026")
		p.tabTo(`radio "yes"`)
		p.Press("Space")
		for p.Focused() != `textbox "Who shares your room?"` {
			p.Press("Shift+Tab")
		}
		p.Type("Ben")
		p.tabTo(`button "Send"`)
		p.Loads(func() { p.Press("Space") })
		p.want("This is what was sent.", "Double", "Ben", "Fish", "Harbour", "6 Mar 2026", "yes")
	}
}

// tabTo presses Tab until an element has the focus.
func (p *page) tabTo(want string) {
	p.t.Helper()
	var seen []string
	for len(seen) < 60 {
		p.Press("Tab")
		got := p.Focused()
		if seen = append(seen, got); !browsertest.Eval[bool](p.Page, focusShows) {
			p.t.Errorf("%s: the focus on %s can't be seen", p, got)
		}
		if got == want {
			return
		}
	}
	p.t.Fatalf("%s: Tab does not reach %s: %q", p, want, seen)
}

const focusShows = `(e => {
	const style = getComputedStyle(e), box = e.getBoundingClientRect();
	return e === document.body || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.right > 0 && box.width > 1;
})(document.activeElement ?? document.body)`

// TestSendingAgain shows what is stored when one form is sent several times.
func TestSendingAgain(t *testing.T) {
	t.Parallel()
	for _, options := range []browsertest.Options{{}, {NoScript: true}} {
		s := newSite(t, options)
		s.options.Shell = false // people go back
		want := func(p *page, want int) {
			t.Helper()
			p.want("This is what was sent.")
			testkit.Same(t, p.String()+": submissions", s.count(t, trip), want)
		}

		p := s.as(t, ann, trip)
		fillTrip(p)
		p.ClickTimes(2, "button", "Send")
		p.WaitText("This is what was sent.")
		want(p, 1)
		p.back(trip)
		p.wantValue("Your name", "Ann Other")
		p.press("Send")
		want(p, 1)
		p.back(trip)
		p.Fill("Wishes", "Another one")
		p.press("Send")
		want(p, 2)

		// Two tabs are two forms.
		p.goTo(trip)
		q := p.tab(trip)
		fillTrip(p)
		fillTrip(q)
		p.press("Send")
		want(p, 3)
		q.press("Send")
		want(q, 4)
		// In another tab somebody else has signed in.
		p.goTo(trip)
		fillTrip(p)
		q.signOut()
		q.signIn(ben)
		p.press("Send")
		p.wantStatus(http.StatusConflict)
		p.want("Nothing was sent.")
		p.Check()
		testkit.Same(t, "submissions", s.count(t, trip), 4)
	}
}

// TestAnswerLostInACrash kills the server after it has stored a form, and before it has
// answered. The form is sent again from its draft, to the server that has started
// again, and is stored once.
func TestAnswerLostInACrash(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{ConsoleErrors: true})
	var server atomic.Pointer[url.URL]
	follow := func(address string) {
		u, err := url.Parse(address)
		testkit.Must(t, err)
		server.Store(u)
	}
	follow(s.url)
	lost := errors.New("the answer is lost")
	var crashing atomic.Bool // as long as the browser may try again by itself
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = server.Load().Scheme, server.Load().Host
		},
		ModifyResponse: func(r *http.Response) error {
			if crashing.Load() && r.Request.Method == http.MethodPost {
				s.kill()
				return lost
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(front.Close)
	s.url = front.URL

	p := s.as(t, ann, trip)
	fillTrip(p)
	crashing.Store(true)
	p.Click("button", "Send")
	p.Wait("the browser gets no answer", func() bool { return browsertest.Eval[string](p.Page, "location.protocol") == "chrome-error:" })
	crashing.Store(false)
	address, _ := startIn(t, s.data, s.args...)
	follow(address)
	if got := s.count(t, trip); got != 1 {
		t.Fatalf("%d submissions are stored before the answer, want 1", got)
	}
	p.goTo(trip)
	p.want("What you typed here earlier is back.", "it was not confirmed", "it is stored once")
	p.Check()
	p.wantValue("Your name", "Ann Other")
	p.press("Send")
	p.want("This is what was sent.")
	testkit.Same(t, "submissions", s.count(t, trip), 1)
	p.goTo(trip)
	p.wantValue("Your name", "")
}

// TestZoom shows every kind of page at 400 %, which is 320 pixels wide.
func TestZoom(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{Zoom: 4})
	p := s.as(t, eve, "/")
	for _, path := range []string{"/", "/page/4"} {
		p.goTo(path)
		p.Check()
	}
	p.goTo(words)
	p.press("Send")
	p.Check()
	p.goTo(trip)
	fillTrip(p)
	p.Fill("Wishes", strings.Repeat("wide", 200))
	p.press("Send")
	p.Check()
	p.follow("Delete")
	p.Check()
	p.follow("Cancel")
	p.follow("Change")
	p.Check()
	q := s.as(t, eve, p.path()) // in another browser
	q.Fill("Wishes", strings.Repeat("other", 200))
	q.press("Save")
	p.press("Save")
	p.wantStatus(http.StatusConflict)
	p.Check()
}

// TestPrint has paper show what was answered, without what can be clicked.
func TestPrint(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{})
	sent := sent(t, s, ann)
	address := sent.path()
	for _, dark := range []bool{false, true} {
		s.options = browsertest.Options{Print: true, Dark: dark}
		p := s.as(t, ann, address)
		p.want("Ann Other", "from ann")
		p.wantNot("Change", "Edit the form")
		const pressed = `[...document.querySelectorAll("button, .button, select, .tabs")].filter(e => e.checkVisibility()).map(e => e.textContent).join()`
		testkit.Same(t, "buttons and selects on paper", browsertest.Eval[string](p.Page, pressed), "")
		testkit.Same(t, "colour of the paper",
			browsertest.Eval[string](p.Page, `getComputedStyle(document.documentElement).backgroundColor`),
			"rgb(255, 255, 255)",
		)
		p.Check()
	}
}

// TestUploadProgress shows how far a large file is, and that sending it can be
// cancelled and tried again.
func TestUploadProgress(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{})
	server, err := url.Parse(s.url)
	testkit.Must(t, err)
	proxy := httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = server.Scheme, server.Host
	}, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
	slow := make(chan struct{}) // closed when uploads need not wait any more
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1<<20 {
			r.Body = &slowBody{ReadCloser: r.Body, left: 1 << 20, wait: slow, gone: r.Context().Done()}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.url = front.URL

	file := filepath.Join(t.TempDir(), "ticket.txt")
	testkit.Must(t, os.WriteFile(file, bytes.Repeat([]byte("seat "), 3<<20), 0o600))
	p := s.as(t, ann, trip)
	fillTrip(p)
	p.Attach("Ticket", file)
	p.Click("button", "Send")
	p.WaitText("Sending: ")
	if !p.Has("progressbar", "Sending") || !strings.HasPrefix(said(p), "Sending") {
		t.Errorf("no progress is told: %q, %s", said(p), p.Text())
	}
	p.Check()
	p.Click("button", "Cancel")
	p.Wait("it says so", func() bool { return said(p) == "Sending was cancelled." })
	if p.Focused() != `button "Send"` || s.count(t, trip) != 0 {
		t.Errorf("%s has the focus, %d submissions are stored", p.Focused(), s.count(t, trip))
	}
	close(slow)
	p.press("Send")
	p.want("ticket.txt (15 MiB)")
}

// slowBody is a request body that stops in the middle, until it may go on or the
// request is over.
type slowBody struct {
	io.ReadCloser
	left       int
	wait, gone <-chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		select {
		case <-b.wait:
		case <-b.gone:
			return 0, fmt.Errorf("the request is cancelled")
		}
		return b.ReadCloser.Read(p)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// TestFileOverTheLimit has a file refused that is larger than the server takes.
// The page says so, and what was typed is still there: beside the message, or,
// without JavaScript, on the page before.
func TestFileOverTheLimit(t *testing.T) {
	t.Parallel()
	const message = "A file is too large: each may have at most 100 kB. Nothing was changed."
	file := filepath.Join(t.TempDir(), "ticket.txt")
	testkit.Must(t, os.WriteFile(file, bytes.Repeat([]byte("x"), 150_000), 0o600))
	for _, options := range []browsertest.Options{{ConsoleErrors: true}, {NoScript: true}} {
		s := newSite(t, options, "--max-file", "100000")
		p := s.as(t, ann, trip)
		fillTrip(p)
		p.Attach("Ticket", file)
		if options.NoScript {
			p.press("Send")
			p.wantStatus(http.StatusRequestEntityTooLarge)
			p.want(message)
			p.Check()
			p.back(trip)
		} else {
			// The browser knows before it sends the file.
			p.WaitText("“ticket.txt” is too large: at most 100 kB each.")
			p.Click("button", "Send")
			testkit.Same(t, "focus", p.Focused(), `button "Ticket"`)
			p.Check()
			state := func() string {
				return browsertest.Eval[string](p.Page, `(() => {
					const input = document.querySelector("input[type=file]");
					const texts = input.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent);
					return [input.getAttribute("aria-invalid"), ...texts].join("|");
				})()`)
			}
			const described = "The one of the train.|Accepted: TXT files and PDF files. At most 100 kB each."
			testkit.Same(t, "the control says", state(),
				"true|"+described+"|“ticket.txt” is too large: at most 100 kB each.")
			small := filepath.Join(t.TempDir(), "small.txt")
			testkit.WriteFile(t, small, "Seat 61")
			p.Attach("Ticket", small)
			p.Click("button", "Remove ticket.txt")
			testkit.Same(t, "with another file, the control says", state(), "|"+described)
			if errors := p.ConsoleErrors(); len(errors) > 0 {
				t.Errorf("it was sent: %q", errors)
			}
		}
		p.wantValue("Your name", "Ann Other")
	}
}
