package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

func TestReaderLanguage(t *testing.T) {
	_, b := newAlice(t, wiki, func(o *envOptions) { o.Language = "nl" })
	for _, tt := range []struct{ query, cookie, accept, want, set string }{
		{"", "", "xx", "nl", ""},
		{"", "", "xx, de-AT;q=0.9", "de", ""},
		{"", "fr", "de", "fr", ""},
		{"", "xx", "de", "de", ""},
		{"?lang=ar", "fr", "de", "ar", "formulary-lang=ar; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"},
		{"?lang=xx", "fr", "de", "fr", ""},
		{"?lang=DE", "", "", "nl", ""},
	} {
		p := b.request("GET", "/"+tt.query, "", nil, "Accept-Language", tt.accept, "Cookie", "lang=it; formulary-lang="+tt.cookie)
		dir := map[bool]string{true: "rtl", false: "ltr"}[tt.want == "ar"]
		p.wantHTML(fmt.Sprintf(`<html lang="%s" dir="%s"`, tt.want, dir), fmt.Sprintf(`lang="%s" selected>`, tt.want))
		p.wantHeader("Content-Language", tt.want, "Set-Cookie", tt.set)
		testkit.Contains(t, "Vary", strings.Join(p.header["Vary"], ", "), "Accept-Language, Cookie")
	}
}

// The select of the footer leads to the same page in another language, with its query.
func TestFooterOffersLanguages(t *testing.T) {
	_, b := newAlice(t, wiki)
	p := b.get(survey + "/results?filter[rating]=2&lang=de&q=<a>")
	var names []string
	for _, l := range lang.All() {
		names = append(names, l.Name)
	}
	testkit.Diff(t, "offered", textsOf(p.find("#language option")), names)
	p.wantNoHTML(`lang=de`, `name="_update"`) // no link repeats the parameter
	p.wantHTML(`hidden name="filter[rating]" value="2">`, `hidden name="q" value="&lt;a&gt;">`)
	long := b.get(survey + "/results?q=" + strings.Repeat("a", maxRowQuery))
	testkit.Same(t, "parameters of a long query", len(long.find("#languages input")), 0)
	b.get("/embed" + survey).wantNoHTML(`id="language"`)
	b.get(survey).wantHTML(`<html lang="de"`) // the cookie
}

// press sends a form as it is shown, with other values in pairs, by the button beside the select.
func (b *browser) press(p *answer, tag string, pairs ...string) *answer {
	b.t.Helper()
	form := p.find("#" + attribute(p.find("#language")[0], "form"))[0]
	return b.send(attribute(form, "action"), with(with(p.values(), langControl, tag, updateControl, langName), pairs...))
}

// A form comes back in the chosen language with its answers, and nothing is stored.
func TestLanguageOfAForm(t *testing.T) {
	e, b := newAlice(t, page1("", `form: f
fields:
  - {id: a, type: textfield, label: {en: City, de: Stadt}, validate: email}
  - {id: boxes, type: checkbox, options: [x, y], default: y}
  - {id: doc, type: file}
`))
	const form = "/page/1/form/f"
	p := b.press(b.get("/page/1?x=1"), "de", "a", "Rom", "boxes", "x")
	p.want(200, "Stadt", lang.Find("de").Text("Send"))
	p.wantHTML(`<html lang="de"`)
	p.wantHeader("Set-Cookie", "formulary-lang=de; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax")
	p.wantValues("a", "Rom", "boxes", "x")
	testkit.Same(t, "errors", len(p.find("[data-error-summary]")), 0)
	testkit.Same(t, "submissions", e.count("alice", 1, "f"), 0)
	again := b.press(b.get(form+"?lang=fr&a=x@y.zz"), "en", "a", "b@y.zz")
	again.want(200, "City")
	again.wantValues("a", "b@y.zz")
	sent := b.send(form, with(p.values(), "a", "a@y.zz")) // the select of a page in German chooses nothing
	sent.want(200, "Sent")
	change := b.press(b.get(sent.submission()+"/change"), "de", "a", "new")
	change.want(200, "Stadt")
	change.wantValues("a", "new")
	b.get(sent.submission()).want(200, "a@y.zz")
	for path, want := range map[string]string{"/page/1": "f1", form: "f0", sent.submission(): "languages"} {
		selects := b.get(path).find("#language")
		testkit.Same(t, path+": form of the select", attribute(selects[0], "form"), want)
	}
}

// A browser sends one form of several, so the select is part of none.
func TestLanguageOfSeveralForms(t *testing.T) {
	const fields = "fields: [{id: a, type: textfield}]\n```\n"
	_, b := newAlice(t, map[string]string{"1.md": "```form\nform: f\n" + fields + "```form\nform: g\n" + fields})
	testkit.Same(t, "form of the select", attribute(b.get("/page/1").find("#language")[0], "form"), "languages")
}

// The answers of an editor beside a submission stay, and are not stored.
func TestLanguageOfADecision(t *testing.T) {
	e, b := newAlice(t, page1("edit: [alice]\n", "form: f\nfields:\n  - {id: a, type: textfield}\n  - {id: why, type: textbox, by: editors}\n"))
	e.submit("alice", 1, "f", "a", "x", "why", "old")
	p := b.press(b.get("/page/1/form/f/submission/1"), "de", "why", "typed")
	p.want(200)
	p.wantHTML(`<html lang="de"`, ">"+lang.Find("de").Text("Save")+"</button>")
	p.wantValues("why", "typed")
	p.wantNoHTML("data-error-summary")
	testkit.Diff(t, "stored", valuesOf(t, e.latest("alice", 1, "f")), map[string]string{"a": "x", "why": "old"})
}

// The text of a form stays, and so do answers from before a sign-in.
func TestLanguageOfOtherForms(t *testing.T) {
	e, b := newAlice(t, wiki)
	b.press(b.get("/author"), "de", "text", "form: typed").wantHTML(`<html lang="de"`, "form: typed</textarea>")

	stranger := e.browser()
	p := stranger.press(stranger.get(survey), "fr", "username", "bob", "password", "typed")
	p.want(200, lang.Find("fr").Text("Sign in"))
	p.wantValues("username", "bob", "password", "", "next", survey)
	testkit.Same(t, "problems", len(p.find("[data-error-summary]")), 0)

	typed := with(b.get(survey).values(), "comment", "typed")
	b.postForm("/logout", nil)
	p = b.press(b.send(survey, typed), "ar", nameControl, "ali")
	p.want(403)
	p.wantHTML(`<html lang="ar"`)
	p.wantValues("comment", "typed", nameControl, "ali", langControl, "ar")
	b.send(survey, p.signedInAgain()).wantValues("comment", "typed")
}

// An error page at an address that takes no GET leads to another one.
func TestLanguageOfErrorPages(t *testing.T) {
	e, b := newAlice(t, page1("edit: [alice]\n", "form: f\nfields: [{id: a, type: textfield}]\n"))
	e.submit("alice", 1, "f", "a", "x")
	const form = "/page/1/form/f"
	for path, want := range map[string]string{
		form + "/submission/1/history": form + "/submission/1", form + "/submission/1/delete": "", "/none": "/", form: "",
	} {
		p := b.postForm(path, url.Values{tagControl: {"other"}})
		testkit.Same(t, path+": leads to", attribute(p.find("#languages")[0], "action"), want)
	}
}

// The parameter is that of pages, also where a field has its name.
func TestLanguageFillsInNothing(t *testing.T) {
	_, b := newAlice(t, page1("", "form: f\nfields:\n  - {id: lang, type: textfield}\n  - {id: other, type: textfield}\n"))
	b.get("/page/1/form/f?lang=de&other=a").wantValues("lang", "", "other", "a")
}

func TestScriptsInTheReadersLanguage(t *testing.T) {
	_, b := newAlice(t, wiki)
	for _, tt := range []struct{ tag, want string }{
		{"en", "export const messages = {};"},
		{"de", `"It was not sent yet.":{"other":"` + lang.Find("de").Text("It was not sent yet.") + `"}`},
		{"ja", `"{0} questions added: {1}.":{"other":"`}, // a language without plural forms
		{"ar", `"{0} questions added: {1}.":{"few":"`},
	} {
		script := regexp.MustCompile(`src="([^"]*)/form\.js"`).FindStringSubmatch(b.get(survey + "?lang=" + tt.tag).body)[1]
		module := b.get(script + "/messages.js")
		module.wantHTML(tt.want, `lang = "`+tt.tag+`"`)
		testkit.Contains(t, "Cache-Control", module.header.Get("Cache-Control"), "immutable")
		embed := b.request("GET", "/embed.js", "", nil, "Accept-Language", tt.tag, "Cookie", "formulary-lang=fr")
		embed.wantHTML(`"` + lang.Find(tt.tag).Text("Form “{0}”", "{0}") + `"`)
		embed.wantHeader("Content-Language", tt.tag, "Vary", "Accept-Language")
	}
	_, file, _ := strings.Cut(string(readStatic("messages.js")), "export")
	testkit.Same(t, "the file for English", "export"+file, string(english.ScriptMessages(nil)))
	b.get("/static/0-de/messages.js").wantHeader("Cache-Control", "no-cache") // see TestStaticFiles
}

// TestSummariesDoNotMixLanguages: they are cached.
func TestSummariesDoNotMixLanguages(t *testing.T) {
	e, b := newAlice(t, wiki)
	e.submit("bob", 1, "survey", "comment", "a")
	for _, tag := range []string{"en", "de", "en"} {
		b.get(survey + "/results?lang=" + tag).wantHTML(`<title id="time-title">` + lang.Find(tag).Text("Submissions over time"))
	}
}

// readerText is what a page says, without what stays English.
func readerText(root *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if attribute(n, "lang") == "en" || attribute(n, "id") == "language" || n.Data == "textarea" || n.Data == "script" || n.Data == "pre" {
			return
		}
		if n.Type == html.TextNode {
			b.WriteString(n.Data + "\n")
		}
		for _, name := range []string{"aria-label", "title", "placeholder"} {
			b.WriteString(attribute(n, name) + "\n")
		}
		for child := range n.ChildNodes() {
			walk(child)
		}
	}
	walk(root)
	return b.String()
}

// timesPage has forms that take no answers, and one whose rows its editor sets.
const timesPage = "---\ntitle: Times\nedit: [alice]\n---\n" +
	"```yaml form\nform: closed\ncloses: 2020-01-31\nfields: [{id: a, type: textfield}]\n```\n\n" +
	"```yaml form\nform: over\ncloses: 2020-01-31T12:00:00Z\nfields: [{id: a, type: textfield}]\n```\n\n" +
	"```yaml form\nform: early\nopens: 2999-01-31\nfields: [{id: a, type: textfield}]\n```\n\n" +
	"```yaml form\nform: full\nlimit: 1\nfields: [{id: a, type: textfield}]\n```\n\n" +
	"```yaml form\nform: set\nfields:\n  - {id: a, type: textfield}\n  - {id: n, type: textfield, validate: numeric, min: 1.5, max: 2.5}\n" +
	"  - {id: s, type: status, by: editors, options: [x, y]}\n```\n"

// faults returns pages that tell why something was refused, with each status that there is. The proxy
// has not named the reader.
func (e *env) faults(tag string, proxied *env) (pages []*answer) {
	e.t.Helper()
	add := func(status int, p *answer) *answer {
		e.t.Helper()
		p.want(status)
		pages = append(pages, p)
		return p
	}
	stranger := proxied.browser().reads(tag)
	stranger.client.Transport = &behindProxy{stranger, http.Header{}}
	add(401, stranger.get(survey))
	b := e.browser().reads(tag)
	add(429, b.postForm("/login", url.Values{"username": {"throttled"}, "password": {"wrong"}, "next": {survey}}))
	add(200, b.postForm("/login", credentials("alice", "/page/5")))
	const set = "/page/5/form/set"
	for _, form := range []string{"closed", "over", "early", "full"} {
		add(200, b.get("/page/5/form/"+form))
		add(422, b.send("/page/5/form/"+form, url.Values{"a": {"x"}, forControl: {b.get(set).values().Get(forControl)}}))
	}
	open := b.get(set)
	add(409, b.send(set, with(open.values(), forControl, "x")))
	add(422, b.send(set, with(open.values(), "n", "9")))
	add(422, b.send(set, with(open.values(), "n", "1.000")))
	add(200, b.send(set, with(open.values(), "n", "2")))
	add(422, b.postForm(set+"/results", b.get(set+"/results").button("set", "", "")))
	add(200, b.postForm(set+"/results", b.get(set+"/results").button("set-all", "s=x", "")))
	add(405, b.request("PUT", survey, "", nil))
	add(413, b.postForm("/author", url.Values{"text": {strings.Repeat("#", maxForm+maxAuthorText)}}))
	open = b.get(survey)
	add(422, b.send(survey, with(open.values(), "comment", "c"), chosenFile{"paper", "a.txt", strings.Repeat("x", 2000)}))
	file := add(200, b.send(survey, with(open.values(), "comment", "c"), chosenFile{"paper", "a.txt", "x"})).submission() + "/file/paper/"
	add(416, b.get(file+"a.txt", "Range", "bytes=100-200"))
	add(412, b.get(file+"a.txt", "If-Match", `"other"`))
	add(404, b.get(file+"b.txt"))
	for fault, status := range map[error]int{
		store.ErrUnavailable: 503, store.ErrInDoubt: 503, store.ErrFull: 507, errors.New("a fault"): 500, &auth.WikiUnavailableError{}: 503,
	} {
		values := b.get(set).values()
		e.Store.FailWith(func(context.Context, string) error { return fault })
		p := b.send(set, values)
		e.Store.FailWith(func(context.Context, string) error { return nil })
		add(status, p)
	}
	other := e.browser().reads(tag)
	other.postForm("/login", credentials("bob", "/"))
	add(403, other.get("/author?page=5&form=set"))
	add(403, other.postForm(set+"/results", url.Values{}))
	other.postForm("/logout", nil)
	add(413, other.send(survey, url.Values{"comment": {strings.Repeat("x", 200_000)}}))
	add(403, other.send(survey, url.Values{"comment": {"typed"}}))
	return pages
}

// tour returns pages in a language.
func (e *env) tour(tag string) (pages []*answer) {
	e.t.Helper()
	alone, framed := e.browser().reads(tag), e.browserAt("https://forms.example").reads(tag)
	add := func(p *answer) *answer {
		pages = append(pages, p)
		return p
	}
	add(alone.get("/none"))
	add(alone.get(survey))
	add(alone.postForm("/login", with(credentials("alice", survey), "password", "wrong")))
	p := add(alone.postForm("/login", credentials("carol", survey)))
	add(alone.send(survey, with(p.values(), "rating", "1", "mail", "no mail", "day", "31.1.2026"), chosenFile{"paper", "a.pdf", "text"}))
	sent := add(alone.send(survey, with(p.values(), "comment", "c", "rating", "2"), chosenFile{"paper", "a b.txt", "text"}))
	submission, _, _ := strings.Cut(sent.path, "?")
	change := add(alone.get(submission + "/change"))
	add(alone.send(submission+"/change", with(change.values(), "comment", "d")))
	add(alone.send(submission+"/change", with(change.values(), "comment", "e"))) // a conflict
	add(alone.get(submission + "/delete"))
	for _, path := range []string{
		"/", "/?q=nothing", "/page/1", "/page/2", "/page/3", "/author", "/author?page=1&form=survey", "/author?template=x",
		survey + "/results", survey + "/results?view=table", survey + "/results?print=true", survey + "/results?by=rating",
		survey + "/results?_field=day&_operator=", survey + "/results?filter[rating]=9", survey + "/results?filter[day][between]=2026-01-01;",
		survey + "/results?limit=9999&columns=x&sort=y&filter[x]=1&filter[day][gt]=x", survey + "/submission/999", "/page/3/form/ballot/results",
	} {
		add(alone.get(path))
	}
	table := alone.get(survey + "/results?view=table")
	for _, do := range []string{"delete", "delete-all"} {
		add(alone.postForm(survey+"/results", table.button(do, "", "")))
	}
	add(alone.fill("/author", "text", "form: a\nfields: ["))
	add(alone.postForm("/logout", nil))
	add(alone.postForm(survey, url.Values{"comment": {"typed"}}))
	add(framed.postForm("/embed/login", credentials("bob", "/embed"+survey)))
	add(framed.get("/embed/page/2/form/once"))
	add(framed.get("/page/3/form/ballot/results"))
	add(framed.get("/page/2/form/once/results"))
	add(framed.get("/page/4/form/private"))
	return pages
}
