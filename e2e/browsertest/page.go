package browsertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formulary/formulary/internal/testkit"
)

// Options say what kind of browser a person has. The zero value is a window of
// 1280 by 800 pixels, light, with JavaScript.
type Options struct {
	Width, Height int     // of the window, in pixels
	Zoom          float64 // 4 for 400 %
	Dark          bool    // prefers-color-scheme: dark
	NoScript      bool    // JavaScript is off
	Print         bool    // the media type is print
	// Cookies belong to the address that Open loads.
	Cookies []*http.Cookie
	Zone    string // of times, such as "Asia/Tokyo"; "" for the zone of the machine
	// Shell runs the page in the headless shell. That takes half of the time, but it does not
	// restore forms that a person goes back to, and tests of embedded forms hang in it.
	Shell bool
	// AxeFindings are rules of axe-core whose findings are left out, because the fault is in foreign HTML.
	AxeFindings []string
	// ConsoleErrors says that this test expects errors on the console, or
	// violations of the Content-Security-Policy. It reads them by
	// Page.ConsoleErrors. Without it they fail the test.
	ConsoleErrors bool
}

// Page is a tab of the browser. Its methods fail the test if they can't do what
// they are for. They wait for what they act on.
type Page struct {
	*tab
	t     testing.TB
	group string // the accessible name of the group that In has chosen
	inner bool   // the document is that of InnerFrame
}

type tab struct {
	ctx     context.Context
	options Options

	mu      sync.Mutex
	console []message
	flushed int            // the number of the last mark that was read from the console
	marks   int            // the number of the last mark that was written to it
	status  map[string]int // the highest of each document, by its address
	last    int            // the status of the last document
}

// Open opens a tab in a browser context of its own, with no cookies, and loads
// an address. The end of the test closes it.
func Open(t testing.TB, address string, options Options) *Page {
	t.Helper()
	program := full
	if options.Shell {
		program = shell
	}
	ctx, err := program.start()
	if errors.Is(err, errMissing) {
		testkit.Missing(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := newPage(ctx, t, options, chromedp.WithNewBrowserContext())
	p.must("set the size of the window", chromedp.Do(p.ctx, options.window()))
	for _, c := range options.Cookies {
		do(p, "set a cookie", func(ctx context.Context, _ *chromedp.Target) (cdp.Empty, error) {
			_, err := chromedp.Call(ctx, network.SetCookie, network.SetCookieParams{URL: address, Name: c.Name, Value: c.Value, Path: c.Path, HTTPOnly: &c.HttpOnly})
			return cdp.Empty{}, err
		})
	}
	p.Go(address)
	return p
}

// Tab opens an address in another tab of the same browser context: it has the
// same cookies.
func (p *Page) Tab(address string) *Page {
	p.t.Helper()
	other := newPage(p.ctx, p.t, p.options)
	p.must("set the size of the window", chromedp.Do(other.ctx, p.options.window()))
	other.Go(address)
	return other
}

// Front brings the tab to the front, as a person does who comes back to it.
func (p *Page) Front() {
	p.t.Helper()
	do(p, "come back to the tab", func(ctx context.Context, _ *chromedp.Target) (cdp.Empty, error) {
		return chromedp.Call(ctx, page.BringToFront, cdp.Empty{})
	})
}

func newPage(parent context.Context, t testing.TB, options Options, with ...chromedp.ContextOption) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, with...)
	p := &Page{t: t, tab: &tab{ctx: ctx, options: options, status: map[string]int{}}}
	t.Cleanup(cancel)
	messages := chromedp.Console(ctx) // opens the tab
	go p.readConsole(messages)
	p.must("set up the tab", options.apply(ctx))
	t.Cleanup(func() {
		if !options.ConsoleErrors {
			for _, text := range p.ConsoleErrors() {
				t.Errorf("on the console: %s", text)
			}
		}
	})
	return p
}

// window sets the size of the window, and its zoom.
func (o Options) window() chromedp.Action[chromedp.Void] {
	zoom := cmp.Or(o.Zoom, 1)
	width, height := float64(cmp.Or(o.Width, 1280))/zoom, float64(cmp.Or(o.Height, 800))/zoom
	return chromedp.EmulateViewport(int64(width), int64(height), chromedp.EmulateScale(zoom))
}

// apply sets all other options.
func (o Options) apply(ctx context.Context) error {
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}}
	if o.Dark {
		media.Features[0].Value = "dark"
	}
	if o.Print {
		media.Media = "print"
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: o.Zone}); err != nil {
		return err
	}
	return setScript(ctx, !o.NoScript)
}

func setScript(ctx context.Context, on bool) error {
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	return err
}

// waitLimit is long: a browser has a dozen processes, which a busy machine runs
// one after the other.
const waitLimit = 3 * testkit.WaitLimit

// must fails the test if there is an error.
func (p *Page) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// do runs an action with a time limit.
func do[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitLimit)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	p.must(what, err)
	return value
}

// read is do for what changes nothing. It is repeated if the browser leaves the
// document meanwhile.
func read[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	for {
		value, err := chromedp.Run(ctx, action)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "navigated or closed") {
			p.must(what, err)
			return value
		}
	}
}

// limited returns the context of an action that has a time limit.
func (p *Page) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, waitLimit)
}

// Go loads an address, as if it was typed into the address bar.
func (p *Page) Go(address string) {
	p.t.Helper()
	p.loaded(do(p, "go to "+address, chromedp.NavigateResponse(address)))
}

// Loads acts and waits until the document that this leads to has loaded.
func (p *Page) Loads(act func()) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Func(func(context.Context, *chromedp.Target) error {
		act()
		return nil
	}))
	p.must("wait for a document", err)
	p.loaded(response)
}

// loaded keeps the status of a document. There is none for an address that is
// not HTTP, or for a document from the browser's memory.
func (p *Page) loaded(response *network.Response) {
	if response == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = int(response.Status)
	p.status[response.URL] = max(p.last, p.status[response.URL])
}

// Status returns the HTTP status of the document that was loaded last.
func (p *Page) Status() int { return p.last }

// Back goes back in the history, as the browser's button does. It does not wait: the
// document may come from memory, and then nothing is loaded.
func (p *Page) Back() {
	p.t.Helper()
	do(p, "go back", func(ctx context.Context, _ *chromedp.Target) (cdp.Empty, error) {
		history, err := chromedp.Call(ctx, page.GetNavigationHistory, cdp.Empty{})
		if err != nil || history.CurrentIndex == 0 {
			return cdp.Empty{}, cmp.Or(err, errors.New("there is no document before"))
		}
		before := history.Entries[history.CurrentIndex-1]
		return chromedp.Call(ctx, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: before.ID})
	})
}

// Reload loads the document again.
func (p *Page) Reload() {
	p.t.Helper()
	p.Loads(func() { do(p, "reload", chromedp.Reload()) })
}

// Address returns the address of the document.
func (p *Page) Address() string {
	p.t.Helper()
	return read(p, "read the address", chromedp.Location())
}

// Title returns the title of the document.
func (p *Page) Title() string {
	p.t.Helper()
	return read(p, "read the title", chromedp.Title())
}

// Text returns the text that is visible, line by line.
func (p *Page) Text() string {
	p.t.Helper()
	text := p.document() + `?.body?.innerText ?? ""` // there is no body while it loads
	return read(p, "read the text", chromedp.Evaluate[string](text))
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(text string) {
	p.t.Helper()
	p.Wait("the page shows "+text, func() bool { return strings.Contains(p.Text(), text) })
}

// Wait waits until a condition holds.
func (p *Page) Wait(what string, holds func() bool) {
	p.t.Helper()
	testkit.EventuallyWithin(p.t, waitLimit, what, holds)
}

// Eval returns the value of a JavaScript expression. It works with JavaScript
// off, too, and whatever the page's policy is.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return do(p, "evaluate "+expression, chromedp.Evaluate[T](expression))
}

// keys are those that Press knows by name.
var keys = map[string]string{
	"Tab": kb.Tab, "Enter": kb.Enter, "Space": " ", "Escape": kb.Escape, "Backspace": kb.Backspace,
	"ArrowDown": kb.ArrowDown, "ArrowUp": kb.ArrowUp, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	"Home": kb.Home, "End": kb.End,
}

// Press presses keys, one after the other: "Tab", "Shift+Tab", "Enter", "Space".
func (p *Page) Press(names ...string) {
	p.t.Helper()
	for _, name := range names {
		plain, shift := strings.CutPrefix(name, "Shift+")
		key, ok := keys[plain]
		if !ok {
			p.t.Fatalf("there is no key %q: choose one of %v", name, slices.Sorted(maps.Keys(keys)))
		}
		var options []chromedp.KeyOption
		if shift {
			options = append(options, chromedp.KeyModifiers(chromedp.ModifierShift))
		}
		do(p, "press "+name, chromedp.KeyEvent(key, options...))
	}
}

// Type types a text into what has the focus, key by key.
func (p *Page) Type(text string) {
	p.t.Helper()
	do(p, "type", chromedp.KeyEvent(text))
}

// Screenshot writes a picture of the whole page, or of what the window shows, to a PNG file.
func (p *Page) Screenshot(path string, whole bool) {
	p.t.Helper()
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	picture := do(p, "take a screenshot", take)
	p.must("make the directory of a screenshot", os.MkdirAll(filepath.Dir(path), 0o755))
	p.must("write a screenshot", os.WriteFile(path, picture, 0o644))
}

// String names the page in messages.
func (p *Page) String() string {
	o := p.options
	return fmt.Sprintf("%s (%d px, dark %v, JavaScript %v)", p.Address(), cmp.Or(o.Width, 1280), o.Dark, !o.NoScript)
}
