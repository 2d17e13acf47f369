package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// People read titles instead of ids, where there are some.
func TestTitles(t *testing.T) {
	const fields = "fields:\n  - {id: a, type: textfield}\n" +
		"  - {section: first, title: About <you>, fields: [{id: b, type: textfield}]}\n" +
		"  - {section: second, fields: [{id: c, type: textfield}]}\n"
	e := newEnv(t, map[string]string{
		"1.md": "---\ntitle: Holidays\n---\n```form\nform: leave\n" + fields + "```\n\n```form\nform: swap\ntitle: Swap a <shift>\n" + fields + "```\n",
		"2.md": "---\ntitle: Lunch\n---\n```form\nform: meal\n" + fields + "```\n",
	})
	b := e.signedIn("alice")
	for path, want := range map[string]string{
		"/page/1/form/leave": "leave", "/page/1/form/swap": "Swap a <shift>", "/page/2/form/meal": "Lunch",
	} {
		p := b.get(path)
		testkit.Diff(t, path, textsOf(p.find("h1")), []string{want})
		testkit.Diff(t, path, textsOf(p.find("legend")), []string{"About <you>"})
		testkit.Same(t, path, p.title(), want+" – Formulary")
	}
	testkit.Diff(t, "headings", textsOf(b.get("/page/1").find("h2")), []string{"leave", "Swap a <shift>"})
	testkit.Same(t, "headings of the only form beside that of its page", len(b.get("/page/2").find("h2")), 0)

	sent := b.fill("/page/1/form/swap", "a", "x")
	testkit.Same(t, "title", sent.title(), "Sent: Swap a <shift> – Formulary")
	testkit.Same(t, "the form", sent.link("Swap a <shift>"), "/page/1/form/swap")
	testkit.Same(t, "the page", sent.link("Holidays"), "/page/1")
	b.get("/").want(200, "leave Holidays", "Swap a <shift> Holidays", "My submission: Swap a <shift> x 15 Nov 2025")
	found := b.get("/?q=shift")
	found.want(200, "Swap a <shift> Holidays")
	found.wantNoHTML("leave", "Lunch")
}

// The headings of a text are as high as those of the forms between them.
func TestOutlineOfAPage(t *testing.T) {
	form := func(id string) string { return "form: " + id + "\nfields: [{id: a, type: textfield}]\n" }
	e := newEnv(t, map[string]string{
		"1-T.wiki": "== Rules ==\n<pre class=form>\n" + form("one") + "</pre>\n=== More ===\n<pre class=form>\n" + form("two") + "</pre>\n",
		"2.md":     "---\ntitle: T\n---\n# T\n## Rules\n```form\n" + form("one") + "```\n### More\n```form\n" + form("two") + "```\n",
	})
	b := e.signedIn("alice")
	for _, path := range []string{"/page/1", "/page/2"} {
		var got []string
		for n := range b.get(path).root.Descendants() {
			if slices.Contains([]string{"h1", "h2", "h3", "h4"}, n.Data) {
				got = append(got, n.Data+" "+textOf(n))
			}
		}
		testkit.Diff(t, path, got, []string{"h1 T", "h2 Rules", "h2 one", "h3 More", "h2 two"})
	}
}

// The home page tells which forms the clock keeps closed.
func TestHomeOfClosedForms(t *testing.T) {
	form := func(id, key string) string {
		return "```form\nform: " + id + "\n" + key + "fields: [{id: a, type: textfield}]\n```\n\n"
	}
	e := newEnv(t, map[string]string{
		"1.md": "---\ntitle: Many\n---\n" + form("early", "opens: 2025-11-16\n") + form("late", "closes: 2025-11-14\n") +
			form("open", "opens: 2025-11-15\ncloses: 2025-11-15\n"),
	})
	for _, day := range []struct {
		at   time.Time
		want []string
	}{
		{began, []string{"early Many Not open yet", "late Many Closed", "open Many Closes on 15 Nov 2025"}},
		{began.AddDate(0, 0, 1), []string{"early Many Open", "late Many Closed", "open Many Closed"}},
	} {
		e.Clock.Set(day.at)
		home := e.signedIn("alice").get("/")
		home.want(200, day.want...)
		testkit.Same(t, "a closed form leads to since when", home.link("late"), "/page/1/form/late")
	}
}

// Thanks are plain text with links, above what was sent.
func TestThanks(t *testing.T) {
	const thanks = "thanks: |\n  Well <b>done</b>.\n  See https://wiki.example/a_(b)?c=1&d=2. And (https://x.example/).\n" +
		"  Not javascript:alert(1) or http://plain.example or https://\n"
	form := func(id, more string) string {
		return "```form\nform: " + id + "\n" + more + thanks + "fields:\n  - {id: a, type: textfield}\n```\n\n"
	}
	e, b := newAlice(t, map[string]string{"1.md": "---\nedit: [carol]\n---\n" + form("named", "") + form("secret", "anonymous: true\n")})
	for _, id := range []string{"named", "secret"} {
		path := "/page/1/form/" + id
		p := b.fill(path, "a", "my answer")
		p.want(200, "Well <b>done</b>. See https://wiki.example/a_(b)?c=1&d=2. And (https://x.example/). Not javascript:alert(1)")
		p.wantHTML("Well &lt;b&gt;done&lt;/b&gt;.\nSee <a href=", ">https://wiki.example/a_(b)?c=1&amp;d=2</a>. And (<a")
		var links []string
		for _, n := range p.find("a") {
			if to := attribute(n, "href"); strings.HasPrefix(to, "http") {
				links = append(links, to)
				if attribute(n, "rel") != "noopener" || hasAttribute(n, "target") {
					t.Errorf("%s: %v", id, n.Attr)
				}
			}
		}
		testkit.Diff(t, id, links, []string{"https://wiki.example/a_%28b%29?c=1&d=2", "https://x.example/"})
		if id == "named" {
			text := p.text()
			if strings.Index(text, "Well") > strings.Index(text, "my answer") {
				t.Errorf("thanks come after what was sent: %s", text)
			}
			b.get(p.submission()).wantNoHTML("Well")
		}
	}
	e.framed("alice", "/embed/page/1/form/secret/sent").wantHTML(` rel="noopener" target="_blank">https://x.example/</a>`)
}

// "No answer" is a choice that clears, and no answer by itself.
func TestNoAnswerIsNotPreselected(t *testing.T) {
	e, b := newAlice(t, wiki)
	b.get(survey).wantValues("kind", "", "state", "")
	change := b.fill(survey, "comment", "c", "kind", "a", "state", "open").submission() + "/change"
	b.get(change).wantValues("kind", "a", "state", "open")
	b.fill(change, "kind", "").want(200)
	e.wantStored("survey", "kind", "", "state", "open")
}

// The introduction stands above the questions wherever they are answered, and on a closed form.
func TestIntro(t *testing.T) {
	const text = "intro: {en: 'See https://x.example/', de: Hallo}\nfields: [{id: a, type: textfield, required: true}]\n```\n\n"
	e, b := newAlice(t, map[string]string{
		"1.md": "---\nedit: [alice]\n---\n```form\nform: open\n" + text + "```form\nform: over\ncloses: 2025-11-14\n" + text,
	})
	preview := with(b.get("/author?page=1&form=over").values(), "_tab", "preview")
	sent := b.fill("/page/1/form/open", "a", "x")
	for path, p := range map[string]*answer{
		"form": b.get("/page/1/form/open"), "refused": b.fill("/page/1/form/open"), "change": b.get(sent.submission() + "/change"),
		"closed": b.get("/page/1/form/over"), "preview": b.send("/author?page=1&form=open", preview),
	} {
		intros := textsOf(p.find("p.linked[lang=\"en\"]"))
		testkit.Diff(t, path, intros, []string{"See https://x.example/"})
		if at := strings.Index(p.body, `data-field="a"`); at >= 0 && at < strings.Index(p.body, "linked") {
			t.Errorf("%s: the introduction is below a question", path)
		}
	}
	testkit.Same(t, "page", len(b.get("/page/1").find("p.linked")), 2)
	e.framed("alice", "/embed/page/1/form/open").wantHTML(` rel="noopener" target="_blank">https://x.example/</a>`)
	for _, path := range []string{sent.path, sent.submission(), "/page/1/form/open/results", "/"} {
		b.get(path).wantNoHTML("x.example")
	}
}
