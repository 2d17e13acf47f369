package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Check fails the test if the page, in the state that it is in, has violations that axe-core finds,
// scrolls sideways, or has moved while it was loaded. axe-core is slow: it looks at one page of those
// with the same kinds of elements. A page in a window of the usual size, with JavaScript, is also
// looked at in the other colours and in a narrow window, by the rules that depend on those. In other
// windows, only these rules are applied. Without JavaScript, axe-core is left out: the elements are
// those of the page with JavaScript. CheckAxe is for what is there without JavaScript only. The document
// that the server sent goes to html-validate, which reads all of them after the tests.
func (p *Page) Check() {
	p.t.Helper()
	// Before axe-core, which turns JavaScript on.
	if shift := p.shift(); shift.Parsing > noticeableInParts || shift.Parsed > noticeable {
		p.t.Errorf("%s: the layout has shifted by %.4f, and by %.4f while the page was read: %s",
			p, shift.Parsed, shift.Parsing, strings.Join(shift.Moved, ", "))
	}
	p.checkWidth()
	own := p.options
	switch {
	case own.NoScript:
	case own.Print:
		p.CheckAxe(colourRules...)
	case own.Zoom != 0 || own.Width != 0:
		p.CheckAxe(sizeRules...)
	default:
		other, narrow := own, own
		other.Dark, narrow.Width = !own.Dark, 360
		_, seen := checked.LoadOrStore(Eval[string](p, kinds), true)
		if !seen {
			p.CheckAxe()
			p.emulate(other)
			p.CheckAxe(colourRules...)
		}
		p.emulate(narrow)
		if !seen {
			p.CheckAxe(sizeRules...)
		}
		p.checkWidth()
		p.emulate(own)
		p.shift() // waits until the page is drawn in its own size, so that the next one begins with it
	}
	documents.add(p.t.Name()+" "+p.Address(), p.Source())
}

// The rules of axe-core that depend on colours, and on the size of the window.
var (
	colourRules = []string{"color-contrast", "color-contrast-enhanced", "link-in-text-block"}
	sizeRules   = []string{"target-size", "scrollable-region-focusable"}
)

// checked are the kinds of elements of the pages that axe-core has looked at.
var checked sync.Map

// kinds are the kinds of elements of a page: each with its parent and what its look and meaning depend on.
const kinds = `[...new Set([...document.querySelectorAll("*")].map(e => [e.parentElement, e].map(e => [e?.localName,
	...[...e?.attributes ?? []].map(a => /^(class|type|role|hidden|aria-(pressed|current|invalid|expanded|sort))$/.test(a.name) ? a.name + a.value : a.name)
].join(" ")).join(" > ")))].sort().join("\n")`

// CheckAxe fails the test if some rules of axe-core, or all, find violations.
func (p *Page) CheckAxe(rules ...string) {
	p.t.Helper()
	for _, violation := range p.axe(rules...) {
		p.t.Errorf("%s: axe: %s", p, violation)
	}
}

func (p *Page) checkWidth() {
	p.t.Helper()
	if wide := p.Overflow(); wide > 0 {
		p.t.Errorf("%s: it is %d pixels wider than the window", p, wide)
	}
}

// Resize gives the window of a page that is open another width.
func (p *Page) Resize(width int) {
	p.t.Helper()
	look := p.options
	look.Width = width
	p.emulate(look)
}

// emulate changes the window of a page that is open.
func (p *Page) emulate(look Options) {
	p.t.Helper()
	p.options = look
	p.must("change the window", errors.Join(look.apply(p.ctx), chromedp.Do(p.ctx, look.window())))
}

// noticeable is the most that a page may shift; 0.1 is considered good. While a page is still loading,
// a scroll bar may appear and move right-aligned elements: noticeableInParts allows for that.
const (
	noticeable        = 0.001
	noticeableInParts = 0.01
)

// axeSource is the script of axe-core.
var axeSource = sync.OnceValues(func() (string, error) {
	dir, err := packageDir()
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(script), err
})

// axeRun runs rules of axe-core. Without names these are all that are not
// experimental: WCAG 2.2 A and AA, best practices, and a contrast of 7 to 1, which
// is AAA. A frame is another document, with tests of its own.
const axeRun = `(rules => axe.run(document, {
	resultTypes: ["violations"], iframes: false,
	...(rules ? {runOnly: {type: "rule", values: rules}} : {rules: {"color-contrast-enhanced": {enabled: true}}})
}).then(results => results.violations))`

// axe returns what axe-core finds: rule, explanation and elements. Without names of
// rules it uses all.
func (p *Page) axe(rules ...string) []string {
	p.t.Helper()
	script, err := axeSource()
	p.must("read axe-core", err)
	names, err := json.Marshal(rules) // null for none
	p.must("write names of rules", err)
	type violation struct {
		ID, Help, HelpURL string
		Nodes             []struct {
			Target         []any
			HTML           string
			FailureSummary string
		}
	}
	var list []string
	p.scripted(func() {
		// The page's policy has no say in what the debugger evaluates.
		if !Eval[bool](p, `"axe" in window`) {
			do(p, "load axe-core", chromedp.Evaluate[any](script+"; 0"))
		}
		for _, v := range do(p, "run axe-core", chromedp.Evaluate[[]violation](axeRun+"("+string(names)+")", chromedp.EvalAwaitPromise)) {
			if slices.Contains(p.options.AxeFindings, v.ID) {
				continue
			}
			for _, node := range v.Nodes {
				summary := strings.Join(strings.Fields(node.FailureSummary), " ")
				list = append(list, fmt.Sprintf("%s: %s (%s)\n\tat %v: %s\n\t%s", v.ID, v.Help, v.HelpURL, node.Target, node.HTML, summary))
			}
		}
	})
	return list
}

// layoutShifts are the sums of layout shifts while the browser read the page and since then,
// and the elements that moved. The browser leaves out shifts at once after a key or a click.
// Fill and Select are no input to it, so shifts after them are left out here.
type layoutShifts struct {
	Parsing float64  `json:"parsing"`
	Parsed  float64  `json:"parsed"`
	Moved   []string `json:"moved"`
}

func (p *Page) shift() layoutShifts {
	p.t.Helper()
	until := "Infinity"
	if p.options.NoScript { // the look may change when JavaScript is turned on
		until = strconv.FormatFloat(Eval[float64](p, "performance.now()"), 'f', -1, 64)
	}
	var shift layoutShifts
	p.scripted(func() {
		shift = do(p, "read layout shifts", chromedp.Evaluate[layoutShifts]("("+layoutShift+")("+until+")", chromedp.EvalAwaitPromise))
	})
	return shift
}

// Shifts are reported with a frame. Two frames from now all shifts that have a
// cause before now are reported. If a page was drawn before it was read to its end, the
// next frame shows the rest, and may be drawn when the page has just been read. Without
// JavaScript, its shift counts as one of the reading: no script can be its cause.
const layoutShift = `until => new Promise(resolve => {
	const shifts = {parsing: 0, parsed: 0, moved: []};
	const end = performance.getEntriesByType("navigation")[0].domInteractive;
	let inParts = until < Infinity && performance.getEntriesByType("paint").some(e => e.startTime < end);
	const add = entries => {
		for (const e of entries) if (!e.hadRecentInput && e.startTime <= Math.min(until, window.filledIn ?? Infinity)) {
			const ofReading = e.startTime < end || inParts;
			inParts &&= e.startTime < end;
			shifts[ofReading ? "parsing" : "parsed"] += e.value;
			for (const s of e.sources) shifts.moved.push((s.node?.nodeName ?? "?") + "." + (s.node?.className ?? "") + " at " + Math.round(e.startTime) + " ms");
		}
	};
	const observer = new PerformanceObserver(list => add(list.getEntries()));
	observer.observe({type: "layout-shift", buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
		add(observer.takeRecords());
		observer.disconnect();
		resolve(shifts);
	})));
})`

// Overflow returns by how many pixels the page is wider than the window.
func (p *Page) Overflow() int {
	p.t.Helper()
	// The width of the element is without the place for a scroll bar, also where none is drawn.
	return Eval[int](p, "document.documentElement.scrollWidth - Math.ceil(document.documentElement.getBoundingClientRect().width)")
}

// scripted runs what needs timers and promises, which do not run with JavaScript
// off. Scripts of the page that were not run stay so.
func (p *Page) scripted(run func()) {
	p.t.Helper()
	if p.options.NoScript {
		p.must("turn JavaScript on", setScript(p.ctx, true))
		defer func() { p.must("turn JavaScript off", setScript(p.ctx, false)) }()
	}
	run()
}

// Source returns the HTML as the server sent it.
func (p *Page) Source() string {
	p.t.Helper()
	return do(p, "read the HTML", func(ctx context.Context, _ *chromedp.Target) (string, error) {
		tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return "", err
		}
		// The request of a document has the id of its loader.
		id := network.RequestID(tree.FrameTree.Frame.LoaderID)
		body, err := chromedp.Call(ctx, network.GetResponseBody, network.GetResponseBodyParams{RequestID: id})
		return string(body.Body), err
	})
}
