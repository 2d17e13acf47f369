package embedtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }

const (
	block      = `<pre class="form">form: feedback</pre>`
	blockText  = "form: feedback"
	mediaWiki  = `<script>RLCONF = {wgArticleId: 101}</script>`
	confluence = `<meta name="ajs-page-id" content="101">`
	firstFrame = `document.querySelector("iframe.formulary")`
)

// wikis are two wikis and the server of the forms, each a site of its own.
type wikis struct{ one, two, forms string }

// newWikis serves a page at all addresses of the wikis. %s in it is the address
// of embed.js.
func newWikis(t *testing.T, html string, start func(http.Handler) *httptest.Server, ancestors ...string) wikis {
	t.Helper()
	return newWikiPages(t, []string{html}, start, ancestors...)
}

// newWikiPages is newWikis with several pages: at /, /1, /2 and so on.
func newWikiPages(t *testing.T, pages []string, start func(http.Handler) *httptest.Server, ancestors ...string) wikis {
	t.Helper()
	var w wikis
	wiki := start(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			return
		}
		number, _ := strconv.Atoi(r.URL.Path[1:])
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte(strings.ReplaceAll(pages[number], "%s", w.forms+"/embed.js")))
	}))
	t.Cleanup(wiki.Close)
	w.one = strings.Replace(wiki.URL, "127.0.0.1", "wiki.test", 1)
	w.two = strings.Replace(wiki.URL, "127.0.0.1", "other.test", 1)
	if ancestors == nil {
		ancestors = []string{w.one, w.two}
	}
	forms := start(newSite(t, ancestors...))
	t.Cleanup(forms.Close)
	w.forms = strings.Replace(forms.URL, "127.0.0.1", "forms.test", 1)
	return w
}

// wikiPage is a page with something in its head and in its body.
func wikiPage(head, body string) string {
	return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Wiki</title><script src="%s" async></script>` + head +
		`</head><body><main><h1>Wiki</h1>` + body + `</main></body></html>`
}

// sources waits for a number of frames and returns the addresses of their forms.
func sources(p *browsertest.Page, count int) []string {
	list := func() []string {
		return browsertest.Eval[[]string](p, `[...document.querySelectorAll("iframe")].map(f => new URL(f.src).pathname)`)
	}
	p.Wait(fmt.Sprintf("there are %d frames", count), func() bool { return len(list()) == count })
	return list()
}

func signIn(frame *browsertest.Page, user string) {
	frame.Fill("User name", user)
	frame.Fill("Password", user+"-secret")
	frame.Click("button", "Sign in")
}

// TestBlocks: which blocks become frames, and of which form. All that have the
// same head are on one page.
func TestBlocks(t *testing.T) {
	const other = "/embed/page/101/form/feedback"
	tests := map[string]struct {
		head, body string
		want       []string // nil if the block stays
	}{
		"pre":                   {mediaWiki, block, []string{other}},
		"Confluence's id":       {confluence, block, []string{other}},
		"mw.config":             {`<script>mw = {config: {get: n => n === "wgArticleId" ? 101 : null}}</script>`, block, []string{other}},
		"id on the block":       {mediaWiki, `<pre class="form" data-formulary-page="7">form: feedback</pre>`, []string{"/embed/page/7/form/feedback"}},
		"element":               {"", `<div data-formulary-page="101" data-formulary-form="feedback">Form</div>`, []string{other}},
		"code":                  {mediaWiki, `<pre><code class="language-yaml form">form: feedback</code></pre>`, []string{other}},
		"code, one word":        {mediaWiki, `<pre><code class="language-form">form: feedback</code></pre>`, []string{other}},
		"pre and code":          {mediaWiki, `<pre class="form"><code class="language-form">form: feedback</code></pre>`, []string{other}},
		"highlighted":           {mediaWiki, `<div class="mw-highlight mw-highlight-lang-yaml form"><pre><span></span><span>form</span><span>:</span> <span>feedback</span></pre></div>`, []string{other}},
		"code macro":            {confluence, `<div class="code panel pdl"><div class="codeContent panelContent pdl"><pre class="syntaxhighlighter-pre">form: feedback</pre></div></div>`, []string{other}},
		"drawn code macro":      {confluence, `<div class="code panel pdl"><div class="codeContent panelContent pdl"><div class="line">form:&nbsp;feedback</div><div class="line">fields:</div></div></div>`, []string{other}},
		"two":                   {mediaWiki, block + `<pre class="form">form: ballot</pre>`, []string{other, "/embed/page/101/form/ballot"}},
		"double quotes":         {mediaWiki, `<pre class="form">form: "feedback" # a comment</pre>`, []string{other}},
		"single quotes":         {mediaWiki, `<pre class="form">form:  'feedback'</pre>`, []string{other}},
		"comments before":       {mediaWiki, "<pre class=\"form\">\n# form: no\n---\nfields: []\nx:\n  form: inner\nform: feedback   # yes\nform: second</pre>", []string{other}},
		"windows line ends":     {mediaWiki, "<pre class=\"form\">\r\nform: feedback\r\nfields:\r\n</pre>", []string{other}},
		"letters":               {mediaWiki, `<pre class="form">form: Rückmeldung.2_a-b</pre>`, []string{"/embed/page/101/form/R%C3%BCckmeldung.2_a-b"}},
		"no id of a page":       {"", block, nil},
		"article 0":             {`<script>RLCONF = {wgArticleId: 0}</script>`, block, nil},
		"bad id of a page":      {"", `<pre class="form" data-formulary-page="../1">form: feedback</pre>`, nil},
		"no form":               {mediaWiki, `<pre class="form">fields: []</pre>`, nil},
		"empty form":            {mediaWiki, "<pre class=\"form\">form:\nfields: []</pre>", nil},
		"path as a form":        {mediaWiki, `<pre class="form">form: ../x</pre>`, nil},
		"dots as a form":        {mediaWiki, `<pre class="form">form: ..</pre>`, nil},
		"other code macro":      {confluence, `<div class="code panel pdl"><div class="codeContent">x = 1</div></div>`, nil},
		"editor":                {mediaWiki, `<div contenteditable="true"><div contenteditable="false">` + block + `</div></div>`, nil},
		"other pre":             {mediaWiki, `<pre>form: feedback</pre>`, nil},
		"yaml without the form": {mediaWiki, `<pre><code class="language-yaml">form: feedback</code></pre>`, nil},
	}
	bodies := map[string]string{}
	for name, test := range tests {
		bodies[test.head] += fmt.Sprintf("<section title=%q>%s</section>", name, test.body)
	}
	heads := slices.Collect(maps.Keys(bodies))
	var pages []string
	for _, head := range heads {
		// The last block comes after the others have been looked at.
		pages = append(pages, wikiPage(head, bodies[head]+`<section title="last"><div data-formulary-page="9" data-formulary-form="last"></div></section>`))
	}
	w := newWikiPages(t, pages, httptest.NewTLSServer)
	p := browsertest.Open(t, w.one, browsertest.Options{})
	const frames = `[...document.querySelectorAll("section")].find(s => s.title === %q).querySelectorAll("iframe")`
	for i, head := range heads {
		p.Go(w.one + "/" + strconv.Itoa(i))
		p.Wait("all blocks have been looked at", func() bool { return browsertest.Eval[int](p, fmt.Sprintf(frames+".length", "last")) == 1 })
		for name, test := range tests {
			if test.head != head {
				continue
			}
			got := browsertest.Eval[[]string](p, fmt.Sprintf("Array.from("+frames+", f => new URL(f.src).pathname)", name))
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: frames of %q, want %q", name, got, test.want)
			}
		}
	}
}

// TestTextAsCode: editors learn that the wiki takes a form for code. Others don't.
func TestTextAsCode(t *testing.T) {
	const (
		editable = `<script>RLCONF = {wgArticleId: 101, wgIsProbablyEditable: true}</script>`
		code     = "<pre>form: a\nfields:\n  - {id: b, type: date}</pre>"
		body     = code + `<p>&lt;pre class="form"&gt;</p><pre>form: a\nno form</pre><pre><code class="language-yaml form">form: feedback
fields: []</code></pre><div contenteditable="true">` + code + `</div>` + block
		note = "The text of a form stands here as code"
	)
	heads := map[string]int{mediaWiki: 0, editable: 2, confluence: 0, confluence + `<a id="editPageLink"></a>`: 2}
	var pages []string
	for head := range heads {
		pages = append(pages, wikiPage(head, body))
	}
	w := newWikiPages(t, pages, httptest.NewTLSServer)
	p := browsertest.Open(t, w.one, browsertest.Options{})
	for i, page := range pages {
		p.Go(w.one + "/" + strconv.Itoa(i))
		sources(p, 2)
		for head, want := range heads {
			if page == wikiPage(head, body) {
				testkit.Same(t, head, strings.Count(p.Text(), note), want)
			}
		}
	}
}

// TestScriptElement: the script element can tell the page's id. Wikis put parts of
// their pages in place by scripts.
func TestScriptElement(t *testing.T) {
	html := strings.Replace(wikiPage("", block), `src="%s" async`, `src="%s" data-formulary-page="101"`, 1)
	w := newWikis(t, html, httptest.NewTLSServer)
	p := browsertest.Open(t, w.one, browsertest.Options{})
	if got := sources(p, 1); got[0] != "/embed"+formPath {
		t.Error(got)
	}
	browsertest.Eval[any](p, `document.querySelector("main").insertAdjacentHTML("beforeend", '<section><pre class="form">form: ballot</pre></section>')`)
	if got := sources(p, 2); got[1] != "/embed/page/101/form/ballot" {
		t.Error(got)
	}
}

// TestDocumentedLines: the lines of docs/operations.md embed forms.
func TestDocumentedLines(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	testkit.Must(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Forms inside wiki pages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)\n```(js|html)\n(.*?)\n```\n").FindAllStringSubmatch(section, -1) {
		lines[m[1]] = append(lines[m[1]], strings.ReplaceAll(m[2], "https://forms.example.org/embed.js", "%s"))
	}
	if len(lines["js"]) != 1 || len(lines["html"]) != 2 {
		t.Fatalf("%q", lines)
	}
	// As MediaWiki does it.
	const loader = `<script>mw = {config: {get: () => 101}, loader: {load(address) {
		const script = document.createElement("script");
		script.src = address;
		document.head.append(script);
	}}}</script>`
	const start = "<!DOCTYPE html><html><head><title>Wiki</title>"
	pages := []string{
		start + loader + "<script>" + lines["js"][0] + "</script></head><body>" + block + "</body></html>", // MediaWiki
		start + confluence + lines["html"][0] + "</head><body>" + block + "</body></html>",                 // Confluence
		start + lines["html"][0] + "</head><body>" + lines["html"][1] + "</body></html>",                   // an element
	}
	w := newWikiPages(t, pages, httptest.NewTLSServer)
	for i := range pages {
		p := browsertest.Open(t, w.one+"/"+strconv.Itoa(i), browsertest.Options{})
		if got := sources(p, 1); got[0] != "/embed"+formPath {
			t.Errorf("page %d: %s", i, got)
		}
		p.Frame(w.forms).WaitText("User name")
	}
}

// TestFillInWithinAWiki: sign in, fill in and send within the wiki's page, which
// gives the form the height that it needs at each step.
func TestFillInWithinAWiki(t *testing.T) {
	for _, options := range []browsertest.Options{{ConsoleErrors: true}, {ConsoleErrors: true, Width: 360, Height: 500, Dark: true}} {
		w := newWikis(t, wikiPage(mediaWiki, block+`<p>After the form.</p>`), httptest.NewTLSServer)
		p := browsertest.Open(t, w.one, options)
		frame := p.Frame(w.forms)
		frame.WaitText("User name")
		fits(p, frame)
		if strings.Contains(p.Text(), blockText) {
			t.Error("the block is still there")
		}
		frame.CheckAxe()
		signIn(frame, "amy")
		frame.WaitText("Comment")
		fits(p, frame)
		frame.CheckAxe()
		before := frameHeight(p)
		frame.Select("Rating", "2")
		frame.WaitText("What went wrong?")
		fits(p, frame)
		if now := frameHeight(p); now <= before {
			t.Errorf("the height is %d with another question, and was %d", now, before)
		}
		frame.Click("button", "Send")
		frame.WaitText("There is a problem")
		fits(p, frame)
		frame.CheckAxe()
		frame.Fill("Comment", "Good")
		frame.Click("button", "Send")
		frame.WaitText("This is what was sent")
		fits(p, frame)
		p.Wait("the beginning of the new page is in view", func() bool {
			return browsertest.Eval[float64](p, firstFrame+".getBoundingClientRect().top") > -1 // it is scrolled by whole pixels
		})
		frame.CheckAxe()
		p.CheckAxe()
		frame.Click("button", "Sign out")
		frame.WaitText("User name")
		signIn(frame, "bob")
		frame.WaitText("Signed in as bob")
		frame.WaitText("Comment") // an empty form, not what amy has sent
		for _, text := range append(p.ConsoleErrors(), frame.ConsoleErrors()...) {
			if !strings.Contains(text, "status of 422") {
				t.Error(text)
			}
		}
	}
}

// TestFramedDocuments: the documents are valid, also outside of a frame. They have
// no ground of their own, which axe-core takes for white: the window stays light.
func TestFramedDocuments(t *testing.T) {
	w := newWikis(t, "", httptest.NewTLSServer)
	p := browsertest.Open(t, w.forms+"/embed"+formPath, browsertest.Options{Width: 1280})
	p.Check()
	p.Fill("User name", "amy")
	p.Fill("Password", "amy-secret")
	p.Loads(func() { p.Click("button", "Sign in") })
	p.WaitText("Comment")
	p.Check()
	p.Loads(func() { p.Click("button", "Sign out") })
	p.Go(w.forms + "/embed/login?signed-in&next=/embed" + formPath)
	p.WaitText("does not keep you signed in")
	p.Check()
}

func frameHeight(p *browsertest.Page) int {
	return browsertest.Eval[int](p, "Math.round("+firstFrame+".getBoundingClientRect().height)")
}

// fits waits until the frame is as high as its content.
func fits(p, frame *browsertest.Page) {
	p.Wait("the frame is as high as the form", func() bool {
		content := browsertest.Eval[int](frame, "Math.ceil(document.documentElement.getBoundingClientRect().height)")
		return content > 0 && frameHeight(p) == content && frame.Overflow() == 0
	})
}

// TestPartition: who has signed in within one wiki has not in another one, nor
// on the pages of the server itself.
func TestPartition(t *testing.T) {
	w := newWikis(t, wikiPage(mediaWiki, block), httptest.NewTLSServer)
	p := browsertest.Open(t, w.one, browsertest.Options{})
	frame := p.Frame(w.forms)
	signIn(frame, "amy")
	frame.WaitText("Signed in as amy")
	fits(p, frame)
	again := p.Tab(w.one)
	again.Wait("the same wiki has the form, too", func() bool { return frameHeight(again) == frameHeight(p) })
	p.Tab(w.two).Frame(w.forms + "/embed/login").WaitText("User name") // the other frames are not there any more
	p.Tab(w.forms + formPath).WaitText("User name")
}

// TestTwoForms: one sign-in, which says whose account it is, is enough for all forms of a page, also at a frame without
// a form. A block without a form is left as it is for those who are signed in.
func TestTwoForms(t *testing.T) {
	const ballot, gone = `<pre class="form">form: ballot</pre>`, "form: gone"
	w := newWikis(t, wikiPage(mediaWiki, block+ballot+`<pre class="form">`+gone+`</pre>`), httptest.NewTLSServer)
	for _, at := range []string{"ballot", "gone"} {
		p := browsertest.Open(t, w.one, browsertest.Options{Height: 1600, ConsoleErrors: true})
		login := w.forms + "/embed/login?next=%2Fembed%2Fpage%2F101%2Fform%2F"
		frames := map[string]*browsertest.Page{}
		for _, form := range []string{"feedback", "ballot", "gone"} {
			frames[form] = p.Frame(login + form)
		}
		first, second := frames["feedback"], frames["ballot"]
		fits(p, first)
		first.WaitText("With your account of Formulary at forms.test")
		p.Wait("the sign-in replaces the block", func() bool { return !strings.Contains(p.Text(), gone) })
		signIn(frames[at], "amy")
		second.WaitText("Your vote")
		first.WaitText("Signed in as amy")
		first.WaitText("Comment")
		p.Wait("the block is back", func() bool { return strings.Contains(p.Text(), gone) })
		if n := len(sources(p, 2)); n != 2 || strings.Contains(p.Text(), blockText) {
			t.Errorf("%d frames: %s", n, p.Text())
		}
		if !first.Has("link", "My submissions") || !first.Has("link", "Results") || second.Has("link", "My submissions") {
			t.Error("the frames lead to other submissions than people can see")
		}
		for _, text := range p.ConsoleErrors() {
			if !strings.Contains(text, "status of 404") {
				t.Error(text)
			}
		}
	}
}

// TestTransparentForms: a form that a style makes invisible can't be pressed. It is shown
// when the style has gone, as after a page was faded in.
func TestTransparentForms(t *testing.T) {
	styles := []string{"opacity: 0", "filter: opacity(1%)", "mask-image: linear-gradient(transparent, transparent)", "opacity: 0.95"}
	var body strings.Builder
	for _, style := range styles {
		fmt.Fprintf(&body, `<div style=%q><div style="opacity: 0.9">%s</div></div>`, style, block)
	}
	w := newWikis(t, wikiPage(mediaWiki, body.String()), httptest.NewTLSServer)
	p := browsertest.Open(t, w.one, browsertest.Options{Height: 3000})
	visible := func(want string) {
		t.Helper()
		p.Wait("the visible frames are "+want, func() bool {
			return want == browsertest.Eval[string](p, `[...document.querySelectorAll("iframe")].map((frame) => {
				const { left, top, height } = frame.getBoundingClientRect();
				return height > 0 ? document.elementFromPoint(left + 20, top + 20) === frame : "";
			}).join(" ")`)
		})
	}
	visible("false false false true")
	browsertest.Eval[any](p, `document.querySelectorAll("main > div").forEach((div) => (div.style = ""))`)
	visible("true true true true")
	browsertest.Eval[any](p, `document.querySelector("main").style.opacity = 0.5`)
	visible("false false false false")
}

// TestForgedHeights: only the form's own frame can tell its height.
func TestForgedHeights(t *testing.T) {
	w := newWikis(t, wikiPage(mediaWiki, block), httptest.NewTLSServer)
	p := browsertest.Open(t, w.one, browsertest.Options{})
	frame := p.Frame(w.forms)
	fits(p, frame)
	want := frameHeight(p)
	browsertest.Eval[any](p, `window.postMessage({formulary: {height: 5}}, "*")`) // of another origin
	for _, bad := range []string{`null`, `{}`, `{formulary: null}`, `{formulary: {height: "5px"}}`, `{formulary: {height: -5}}`, `{formulary: {height: {}}}`} {
		browsertest.Eval[any](frame, `parent.postMessage(`+bad+`, "*")`)
	}
	browsertest.Eval[any](frame, `parent.postMessage({formulary: {height: `+fmt.Sprint(want+7)+`}}, "*")`) // after the others
	p.Wait("the last message has arrived", func() bool { return frameHeight(p) != want })
	testkit.Same(t, "the height", frameHeight(p), want+7)
}

// TestColours: the form is light on a light page and dark on a dark one,
// though the browser prefers the other, and lets the page's own ground through.
func TestColours(t *testing.T) {
	schemes := map[string]string{
		"": "light", "body { background: #fffbe8 }": "light", "body { background: rgb(20 20 20) }": "dark",
		"main { background: rgba(0, 0, 0, 0.9); color: #fff }": "dark", ":root { color-scheme: dark }": "dark",
	}
	styles := slices.Collect(maps.Keys(schemes))
	var pages []string
	for _, style := range styles {
		pages = append(pages, wikiPage(mediaWiki+"<style>"+style+"</style>", block))
	}
	w := newWikiPages(t, pages, httptest.NewTLSServer)
	for i, style := range styles {
		scheme := schemes[style]
		p := browsertest.Open(t, w.one+"/"+strconv.Itoa(i), browsertest.Options{Dark: scheme == "light"})
		frame := p.Frame(w.forms)
		frame.WaitText("User name")
		got := browsertest.Eval[string](frame, `getComputedStyle(document.documentElement).colorScheme + " " +
			(getComputedStyle(document.body).color === "rgb(28, 33, 39)" ? "light" : "dark") + " " + getComputedStyle(document.documentElement).backgroundColor`)
		if want := scheme + " " + scheme + " rgba(0, 0, 0, 0)"; got != want {
			t.Errorf("%q: %s, want %s", style, got, want)
		}
	}
}

// TestFont: a form has the font of the text around its block, and spacing that goes with it. The
// smallest and the largest are bounded. A frame of an earlier embed.js has none in its name.
func TestFont(t *testing.T) {
	wants := map[string]string{
		wikiPage(mediaWiki+"<style>main { font: 14px/2 'Liberation Serif', serif }</style>", block):                         `14px 7px "Liberation Serif", serif, system-ui`,
		wikiPage(mediaWiki+"<style>body { font: 6px cursive }</style>", block):                                              `12px 6px cursive, system-ui`,
		wikiPage(mediaWiki+"<style>html { font-size: 50px }</style>", block):                                                `24px 12px "Times New Roman", system-ui`,
		wikiPage("", `<iframe name="formulary light https://wiki.test" src="%s/../embed/page/101/form/feedback"></iframe>`): `16px 8px system-ui`,
	}
	pages := slices.Collect(maps.Keys(wants))
	w := newWikiPages(t, pages, httptest.NewTLSServer)
	for i, html := range pages {
		frame := browsertest.Open(t, w.one+"/"+strconv.Itoa(i), browsertest.Options{}).Frame(w.forms)
		frame.WaitText("User name")
		look := func() string {
			return browsertest.Eval[string](frame, `(({fontSize, fontFamily}, {paddingTop}) => [fontSize, paddingTop, fontFamily].join(" "))(
				getComputedStyle(document.body), getComputedStyle(document.querySelector("main")))`)
		}
		if got := look(); !strings.HasPrefix(got, wants[html]) {
			t.Errorf("%s: %s, want %s", html, got, wants[html])
		}
		signIn(frame, "amy")
		frame.WaitText("Comment")
		if got := look(); !strings.HasPrefix(got, wants[html]) {
			t.Errorf("%s: the next page has %s, want %s", html, got, wants[html])
		}
	}
}

// TestRefusedFrame: a wiki that may not embed forms keeps its blocks.
func TestRefusedFrame(t *testing.T) {
	w := newWikis(t, wikiPage(mediaWiki, block), httptest.NewTLSServer, wiki)
	p := browsertest.Open(t, w.one, browsertest.Options{ConsoleErrors: true})
	p.Wait("the browser refuses the frame", func() bool { return strings.Contains(strings.Join(p.ConsoleErrors(), " "), "frame-ancestors") })
	if !strings.Contains(p.Text(), blockText) || frameHeight(p) != 0 {
		t.Errorf("the block is gone: %s", p.Text())
	}
}

// TestWithoutTLS: the form opens in a tab of its own.
func TestWithoutTLS(t *testing.T) {
	w := newWikis(t, wikiPage(mediaWiki, block), httptest.NewServer)
	p := browsertest.Open(t, w.one, browsertest.Options{})
	frame := p.Frame(w.forms)
	frame.WaitText("is not encrypted")
	fits(p, frame)
	frame.CheckAxe()
	if !frame.Has("link", "Open the form in a new tab") {
		t.Error("there is no link")
	}
}
