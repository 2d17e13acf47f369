package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
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
	heading := func(p *answer, tag string) (texts []string) {
		return textsOf(p.find(tag))
	}
	for path, want := range map[string]string{
		"/page/1/form/leave": "leave", "/page/1/form/swap": "Swap a <shift>", "/page/2/form/meal": "Lunch",
	} {
		p := b.get(path)
		if got := heading(p, "h1"); !slices.Equal(got, []string{want}) || p.title() != want+" – Formulary" {
			t.Errorf("%s: heading %q, title %q, want %q", path, got, p.title(), want)
		}
		if got := heading(p, "legend"); !slices.Equal(got, []string{"About <you>"}) {
			t.Errorf("%s: legends %q", path, got)
		}
	}
	if got, want := heading(b.get("/page/1"), "h2"), []string{"leave", "Swap a <shift>"}; !slices.Equal(got, want) {
		t.Errorf("headings %q, want %q", got, want)
	}
	if got := heading(b.get("/page/2"), "h2"); got != nil {
		t.Errorf("the only form has the heading %q beside its page's", got)
	}

	sent := b.fill("/page/1/form/swap", "a", "x")
	if sent.title() != "Sent: Swap a <shift> – Formulary" || sent.link("Swap a <shift>") != "/page/1/form/swap" || sent.link("Holidays") != "/page/1" {
		t.Errorf("title %q, body %s", sent.title(), sent.body)
	}
	home := b.get("/")
	home.want(200, "leave Holidays", "Swap a <shift> Holidays", "My submission: Swap a <shift> x 2025-11-15")
	if text := b.get("/?q=shift").text(); !strings.Contains(text, "Swap a <shift> Holidays") || strings.Contains(text, "leave") || strings.Contains(text, "Lunch") {
		t.Errorf("a search by the title of a form finds %s", text)
	}
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
		if want := []string{"h1 T", "h2 Rules", "h2 one", "h3 More", "h2 two"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
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
		{began, []string{"early Many Not open yet", "late Many Closed", "open Many Closes on 2025-11-15"}},
		{began.AddDate(0, 0, 1), []string{"early Many late", "late Many Closed", "open Many Closed"}},
	} {
		e.Clock.Set(day.at)
		home := e.signedIn("alice").get("/")
		home.want(200, day.want...)
		if got := home.link("late"); got != "/page/1/form/late" { // where it says since when
			t.Errorf("a closed form leads to %s", got)
		}
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
		if want := []string{"https://wiki.example/a_%28b%29?c=1&d=2", "https://x.example/"}; !slices.Equal(links, want) {
			t.Errorf("%s: links %q, want %q", id, links, want)
		}
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
	checked := func(p *answer) (values []string) {
		for _, n := range p.find(`[type="radio"][checked]`) {
			values = append(values, attribute(n, "name")+"="+attribute(n, "value"))
		}
		return values
	}
	if got := checked(b.get(survey)); got != nil {
		t.Errorf("preselected: %q", got)
	}
	sent := b.fill(survey, "comment", "c", "kind", "a", "state", "open")
	change := sent.submission() + "/change"
	if got, want := checked(b.get(change)), []string{"kind=a", "state=open"}; !slices.Equal(got, want) {
		t.Errorf("chosen: %q, want %q", got, want)
	}
	b.fill(change, "kind", "").want(200)
	if got := e.stored("survey"); got["kind"] != "" || got["state"] != "open" {
		t.Errorf("after “No answer”: %q", got)
	}
}

// What the author wrote is in the page's language, all else is in English.
func TestLanguage(t *testing.T) {
	const form = "form: f\ntitle: Urlaub\nfields:\n  - {id: a, type: textfield, label: Grund, help: Kurz.}\n" +
		"  - {id: b, type: radio, label: Art, options: [bezahlt, unbezahlt]}\n  - {section: s, title: Mehr, fields: [{id: c, type: dropdown, label: Ort, options: [hier]}]}\n"
	e := newEnv(t, map[string]string{"1.md": "---\ntitle: Personal\nlang: de-AT\n---\nEin Text.\n\n```form\n" + form + "```\n"})
	for _, path := range []string{"/page/1", "/page/1/form/f"} {
		p := e.get("alice", path)
		for _, text := range []string{"Urlaub", "Grund", "Kurz.", "Art", "bezahlt", "Mehr", "Ort"} {
			if got := p.languageOf(text); got != "de-AT" {
				t.Errorf("%s: %q is in %q", path, text, got)
			}
		}
		for _, text := range []string{"Send", "No answer"} {
			if got := p.languageOf(text); got != "en" {
				t.Errorf("%s: %q is in %q", path, text, got)
			}
		}
	}
	if p := e.get("alice", "/page/1"); p.languageOf("Ein Text.") != "de-AT" || p.languageOf("Personal") != "de-AT" {
		t.Error("the text of the page has another language")
	}
	newEnv(t, page1("", form)).get("alice", "/page/1/form/f").wantNoHTML(` lang=""`)
}

// languageOf is the language of the element in the body that has a text.
func (a *answer) languageOf(text string) string {
	for n := range a.root.Descendants() {
		if n.Type != html.TextNode || strings.TrimSpace(n.Data) != text || n.Parent.Data == "title" {
			continue
		}
		for p := n.Parent; p != nil; p = p.Parent {
			if hasAttribute(p, "lang") {
				return attribute(p, "lang")
			}
		}
	}
	return ""
}
