package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const tripForm = `form: f
title: {en: Business trip, de: Dienstreise, da: Tjenesterejse}
thanks: {en: Thanks for the trip, de: Danke für die Reise, da: Tak}
fields:
  - {id: city, type: textfield, label: {en: City, de: Stadt, da: By}, required: true, help: {en: Where, de: Wo, da: Hvor}}
  - {id: class, type: radio, label: {en: Class, de: Klasse, da: Klasse}, options: [{value: a, label: {en: First, de: Erste, da: Første}}, b]}
`

// reads has a browser ask for pages in languages.
func (b *browser) reads(accept string) *browser {
	b.accept = accept
	return b
}

// Pages show a form in the reader's language: that of the address, that of the cookie, those of the browser in their order, that of
// the site; else in the language of the wiki page. A form that does not have one of them is in the next.
func TestFormInTheReadersLanguage(t *testing.T) {
	french := strings.ReplaceAll(tripForm, "de: ", "fr: ")
	for _, c := range []struct{ front, form, query, accept, want string }{
		{"", tripForm, "", "", "City"},           // the site's
		{"", tripForm, "", "da, de;q=0.5", "By"}, // pages don't have it
		{"", tripForm, "?lang=de", "da", "Stadt"},
		{"", tripForm, "?lang=da", "", "City"}, // no language of pages
		{"lang: da\n", tripForm, "", "", "City"},
		{"lang: da\n", french, "?lang=de", "", "By"},
		{"lang: da\n", french, "?lang=de", "en", "City"},
	} {
		_, b := newAlice(t, page1(c.front, c.form))
		b.reads(c.accept).get(leavePath + c.query).wantHTML(">" + c.want + "</label>")
		b.get(leavePath).wantHTML(">" + c.want + "</label>") // the cookie remembers a parameter
	}
}

// A page that is too long to be laid out says so in the reader's language, not as its author.
func TestLongPageInTheReadersLanguage(t *testing.T) {
	_, b := newAlice(t, page1("lang: fr\n", tripForm+"```\n\n"+strings.Repeat("Le texte est long.\n", 8000)+"\n```\n"))
	b.reads("de").get("/page/1").wantHTML("<p>Der Text dieser Seite ist länger als 128 KiB. Dies ist sein Anfang, so wie er geschrieben ist:</p>\n" +
		`<div class="text" lang="fr"><pre`)
}

// Every page about the form is in the language, and its texts are marked with it.
func TestPagesOfAFormInSeveralLanguages(t *testing.T) {
	e, b := newAlice(t, page1("lang: en\n", tripForm))
	b.reads("de")
	b.get("/page/1").wantHTML(`lang="de">Stadt</label>`, `<h2 dir="auto" lang="de">Dienstreise</h2>`)
	b.get("/").wantNoHTML("Business")
	b.get("/?q=business").wantHTML("Dienstreise")
	sent := b.fill(leavePath, "city", "Rom", "class", "a")
	sent.wantHTML("Danke für die Reise", ">Stadt<", ">Erste<")
	b.get("/").wantHTML("Erste")
	path := sent.submission()
	b.get(leavePath+"/results").wantHTML("Stadt", "Erste")
	b.get(leavePath+"/results.csv").wantHTML("Stadt,Klasse", "Rom,Erste")
	b.get(leavePath + "/results?view=table&q=erste").wantHTML("Rom")
	b.get(leavePath + "/results?view=table&q=first").wantNoHTML(">Rom<")
	b.reads("en").get(leavePath + "/results?view=table&q=first").wantHTML(">Rom<")
	b.get(path).wantHTML(">City<", ">First<")
	testkit.Same(t, "submissions", e.count("alice", 1, "f"), 1)
}

// A form that was opened in one language and is sent in another is the same form, and so is a submission that is changed.
func TestLanguageChangesBetweenOpenAndSend(t *testing.T) {
	e, b := newAlice(t, page1("", tripForm))
	draft := func(a *answer) string {
		return attribute(a.find("[data-draft]")[0], "data-draft")
	}
	open := b.reads("de").get(leavePath)
	path := b.reads("en").send(leavePath, with(open.values(), "city", "Rome")).submission()
	testkit.Same(t, "drafts", draft(b.get(leavePath)), draft(open))
	change := b.reads("de").get(path + "/change").values()
	changed := b.reads("en").send(path+"/change", with(change, "city", "Paris"))
	changed.want(200, "City", "Paris")
	testkit.Same(t, "changed: at", changed.path, path+"?saved")
	testkit.Same(t, "submissions", e.count("alice", 1, "f"), 1)
}

// The words of then are compared in the same language. A form without languages was in the default one.
func TestAskedAsInLanguages(t *testing.T) {
	plain := regexp.MustCompile(`\{en: (.*?), de: .*?\}`).ReplaceAllString(tripForm, "$1")
	reworded := strings.NewReplacer("de: Stadt", "de: Ort", "da: Første", "da: Bedste").Replace(tripForm)
	for _, c := range []struct{ name, then, now, accept, asked string }{
		{"reworded in German", tripForm, reworded, "de", "Stadt"},
		{"reworded in German, read in English", tripForm, reworded, "en", ""},
		{"reworded in Danish", tripForm, reworded, "da", "Første"},
		{"translated", plain, tripForm, "de", ""},
		{"translated and reworded", plain, strings.Replace(tripForm, "en: City", "en: Town", 1), "de", "City"},
		{"no longer translated", tripForm, plain, "de", ""},
		{"no longer translated, and reworded", tripForm, strings.Replace(plain, "City", "Town", 1), "de", "City"},
		{"another language", strings.NewReplacer("de:", "fr:").Replace(tripForm), tripForm, "de", ""},
	} {
		e, b := newAlice(t, page1("", c.then))
		path := b.reads("da").fill(leavePath, "city", "Rome", "class", "a").submission()
		e.edit(page1("", c.now))
		asked := textsOf(b.reads(c.accept).get(path).find(".asked bdi"))
		testkit.Same(t, c.name, strings.Join(asked, ", "), c.asked)
	}
}

// The page for authors shows a form in each of its languages, the default one first.
func TestAuthorPreviewInLanguages(t *testing.T) {
	_, b := newAlice(t, nil)
	a := b.write(tripForm)
	previews := textsOf(a.find(".language"))
	testkit.Diff(t, "previews", previews, []string{"Business trip", "Dienstreise", "Tjenesterejse"})
	a.wantHTML(`lang="en">City</label>`, `lang="de">Stadt</label>`, `lang="da">By</label>`, "label&#34;: &#34;City")
	b.write("form: a\nfields: [{id: x, type: date, label: Day}]").wantNoHTML(`class="language"`)
}

// The preview begins with the default language of the form on its page, and the JSON is what the API answers to the reader.
func TestAuthorLanguages(t *testing.T) {
	text := strings.Replace(tripForm, "en: City, ", "", 1)
	_, b := newAlice(t, page1("lang: da\n", text))
	const path = "/author?form=f&page=1"
	previews := textsOf(b.reads("fr").text(path).find(".language"))
	testkit.Diff(t, "previews", previews, []string{"Tjenesterejse", "Business trip", "Dienstreise"})
	for accept, want := range map[string]string{"fr": "By", "de": "Stadt", "en": "By"} { // which has no English text
		p := b.reads(accept).text(path)
		p.wantHTML(`&#34;label&#34;: &#34;` + want + `&#34;`)
		b.send(path, p.values()).wantHTML(`&#34;label&#34;: &#34;` + want + `&#34;`)
	}
	b.reads("fr").write(text).wantHTML(`&#34;label&#34;: &#34;Stadt&#34;`) // a new form: the first language that is written
}
