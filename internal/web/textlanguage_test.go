package web

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// germanForm has texts of its author that are each one word, which begins with Zwerg.
const germanForm = `form: f
title: Zwergform
thanks: Zwergdank
withdraw: true
fields:
  - {id: name, type: textfield, label: Zwergname, help: Zwerghilfe, required: true}
  - {id: day, type: date, label: Zwergtag}
  - {id: cost, type: textfield, validate: numeric, label: Zwergkosten}
  - {id: way, type: radio, label: Zwergweg, options: [{value: a, label: Zwergbahn}, {value: b, label: Zwergbus}]}
  - {id: days, type: checkbox, label: Zwergtage, options: [{value: m, label: Zwergmontag}, {value: t, label: Zwergdienstag}]}
  - {id: scan, type: file, label: Zwergdatei}
  - {id: why, type: textbox, label: Zwerggrund}
  - {section: more, title: Zwergabschnitt, fields: [{id: never, type: textfield, label: Zwergnie}]}
  - {id: state, type: status, label: Zwergstatus, by: editors, options: [{value: n, label: Zwergneu}, {value: o, label: Zwergoffen}]}
`

// What people have answered is exempt, and so are names and numbers.
var (
	authorsWords = regexp.MustCompile(`^(Zwerg\pL*[\s:,\x{202f}\x{a0}]*)+$`)
	peoplesWords = regexp.MustCompile(`^[^\pL]*(Tipp|alice|bob|carol)[^\pL]*$|^\PL*$|tipp\.txt`)
)

// wantLanguages fails the test unless each text of an author is marked as German, and all other words as French.
func (a *answer) wantLanguages() {
	a.t.Helper()
	found := false
	for n := range a.root.Descendants() {
		text := strings.TrimSpace(n.Data)
		if n.Type != html.TextNode || peoplesWords.MatchString(text) {
			continue
		}
		want, in := "fr", n.Parent
		if authorsWords.MatchString(text) && in.Data != "title" {
			want, found = "de-AT", true
		}
		if in.Data == "script" || in.Data == "textarea" || in.Data == "pre" {
			continue
		}
		for in.Parent != nil && !hasAttribute(in, "lang") {
			in = in.Parent
		}
		if got := attribute(in, "lang"); got != want && in.Data != "option" && got != "en" {
			a.t.Errorf("%s: %q is marked as %q, not as %q", a.path, text, got, want)
		}
	}
	if a.status != 200 || !found {
		a.t.Errorf("%s: status %d, words of an author: %v", a.path, a.status, found)
	}
}

// What an author wrote has the language of the wiki page, to be read aloud and hyphenated. All else has the reader's.
func TestLanguageOfTexts(t *testing.T) {
	const front = "lang: de-AT\ntitle: Zwergseite\nedit: [carol]\n"
	pages := func(form string) map[string]string {
		return map[string]string{"1.md": "---\n" + front + "---\nZwergtext\n\n```form\n" + form + "```\n"}
	}
	newEnv(t, page1("", germanForm)).get("alice", "/page/1/form/f").wantNoHTML(` lang=""`)
	e, alice := newAlice(t, pages(germanForm))
	carol := e.signedIn("carol").reads("fr")
	alice.reads("fr")
	const form = "/page/1/form/f"
	look := func(b *browser, paths ...string) {
		t.Helper()
		for _, path := range paths {
			b.get(path).wantLanguages()
		}
	}
	values := with(alice.get(form).values(), "name", "Tipp", "day", "2026-11-17", "cost", "-5", "way", "a", "why", "Tipp")
	values["days"] = []string{"m", "t"}
	sent := alice.send(form, values, chosenFile{"scan", "tipp.txt", "x"})
	sent.wantLanguages()
	e.submit("bob", 1, "f", "name", "Tipp", "cost", "7") // and no way
	path := sent.submission()
	look(alice, "/", "/page/1", form, form+"/results", path+"/delete")
	look(carol, path)
	alice.fill(path+"/change", "way", "b", "days", "t", "day", "")
	carol.send(carol.get(path).pressed("Zwergneu")).wantLanguages()
	look(alice, "/", form+"/results", path, path+"/change")
	table := form + "/results?view=table"
	look(carol, "/", path, path+"/delete", table, table+"&_field=way", table+"&filter[way][equals]=b&filter[name][not-empty]=",
		table+"&columns=way&columns=day&columns=_timestamp", table+"&print=true", form+"/results?view=summary", form+"/results?view=summary&by=way",
		"/author?page=1&form=f")

	e.Write(t, "1.md", pages(strings.NewReplacer("Zwergname", "Zwergneuname", "Zwergbus", "Zwergrad").Replace(germanForm))["1.md"])
	for _, b := range []*browser{alice, carol} {
		page := b.get(path)
		page.wantLanguages()
		page.want(200, "Zwergbus", "Zwergrad") // as it was asked, and now
	}
}
