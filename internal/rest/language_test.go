package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const (
	tripForm = `form: trip
title: {en: Business trip, de: Dienstreise}
fields:
  - {id: city, type: dropdown, label: {en: City, de: Stadt}, options: [{value: r, label: {en: Rome, de: Rom}}, p]}
  - {id: plain, type: textfield, label: Plain}
`
	tripPage  = "---\ntitle: T\nedit: [alice]\n---\n```form\n" + tripForm + "```\n"
	sportPage = "---\nlang: de-AT\n---\n```form\n" + `form: sport
fields: [{id: a, type: date, label: {fr: Jour, de: Tag, pt: Dia}}]
` + "```\n```form\n" + tripForm + "```\n```form\nform: one\nfields: [{id: a, type: date, label: A}]\n```\n"
)

// languages asks for something in languages, and returns header fields and body.
func (e *env) languages(t *testing.T, r testRequest, accept string) (language, vary, body string) {
	t.Helper()
	r.header = http.Header{}
	if accept != "" {
		r.header.Set("Accept-Language", accept)
	}
	a := e.expect(t, 200, r)
	return a.header.Get("Content-Language"), strings.Join(a.header.Values("Vary"), ", "), a.body
}

// The labels of a form in several languages are those that the caller prefers, else those of the page's language, else
// the first ones.
func TestLanguageOfForms(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": tripPage, "2.md": sportPage})
	trip, sport, one, list := form(1, "trip"), form(2, "sport"), form(2, "one"), strings.TrimSuffix(form(2, "x"), "/x")
	for _, row := range testkit.Rows(strings.NewReplacer("TRIP", trip, "SPORT", sport, "ONE", one, "LIST", list).Replace(`
		TRIP | | en | "City"
		TRIP | de | de | "Stadt"
		TRIP | de-CH,en;q=0.9 | de | "Stadt"
		TRIP | de;q=0.5, en | en | "City"
		TRIP | de;q=0, fr | en | "City"
		TRIP | fr, de;q=0.1 | de | "Stadt"
		TRIP | * | en | "City"
		TRIP | ;;; | en | "City"
		SPORT | | de | "Tag"
		SPORT | es | de | "Tag"
		SPORT | pt-BR | pt | "Dia"
		SPORT | fr-CA | fr | "Jour"
		ONE | de | | "A"
		LIST | pt, en;q=0.5 | pt, en | "Dia"
		LIST | de | de | "Stadt"
	`)) {
		language, vary, body := e.languages(t, ask("bob GET", row[0]), row[1])
		wantVary := "Accept-Encoding, Accept-Language"
		if row[2] == "" {
			wantVary = "Accept-Encoding"
		}
		if language != row[2] || vary != wantVary || !strings.Contains(body, `"label":`+row[3]) {
			t.Errorf("%s in %q: %q, Vary %q, %s", row[0], row[1], language, vary, body)
		}
	}
}

// Lists have labels of the caller's language if they are asked for labels, or look for them. Nothing else depends on it.
func TestLanguageOfLists(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": tripPage})
	trip := form(1, "trip")
	path, _ := e.create(t, "bob", trip, nestedBody("city", "r"))
	tag := e.expect(t, 200, ask("bob GET", path)).header.Get("ETag")
	for _, row := range testkit.Rows(`
		/result?format=csv&labels=true | de | de | Stadt,Plain | Rom,
		/result?format=csv&labels=true | | en | City,Plain | Rome,
		/result?format=csv | de | | city,plain | r,
		/result?q=rom%20&format=csv | de | de | |
		/result?q=rome&format=csv | de | de | |
		/result?q=rome&format=csv | en | en | | r,
		/result?filter[city]=r&format=csv | de | | city,plain | r,
		/result | de | | "city":"r" |
	`) {
		language, vary, body := e.languages(t, ask("alice GET", trip+row[0]), row[1])
		wantVary := "Accept-Encoding, Accept"
		if row[2] != "" {
			wantVary += ", Accept-Language"
		}
		if language != row[2] || vary != wantVary || !strings.Contains(body, row[3]) || !strings.Contains(body, row[4]) || row[3] == "" && row[4] == "" && strings.Contains(body, "r,") {
			t.Errorf("%s in %q: %q, Vary %q, %s", row[0], row[1], language, vary, body)
		}
	}
	for accept, want := range map[string]string{"de": `"count":0`, "en": `"count":1`} {
		language, vary, body := e.languages(t, ask("alice GET", trip+"/summary?q=rome"), accept)
		if language != accept || vary != "Accept-Encoding, Accept-Language" || !strings.Contains(body, want) {
			t.Errorf("summary in %s: %q, Vary %q, %s", accept, language, vary, body)
		}
	}
	for _, accept := range []string{"de", "en", "fr"} {
		r := ask("bob GET", path)
		r.header = http.Header{"Accept-Language": {accept}}
		a := e.expect(t, 200, r)
		if a.header.Get("ETag") != tag || a.header.Get("Content-Language") != "" {
			t.Errorf("in %s: tag %s, want %s", accept, a.header.Get("ETag"), tag)
		}
	}
}

// A submission has the form as it was asked, in the languages that it had then.
func TestLanguageOfAskedForm(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": tripPage})
	r := ask("bob POST", form(1, "trip")+"/submission", nestedBody("city", "r"))
	r.header = http.Header{"Accept-Language": {"de"}, "Content-Type": {"application/json"}}
	e.expect(t, 201, r)
	e.create(t, "bob", form(1, "trip"), nestedBody("city", "r"))
	e.Write(t, "1.md", strings.NewReplacer("de: Stadt", "fr: Ville", "de:", "fr:").Replace(tripPage))
	for accept, want := range map[string][2]string{"": {"en", "City"}, "de": {"de", "Stadt"}, "fr": {"en", "City"}} {
		for _, id := range []string{"1", "2"} { // sent in different languages
			language, _, body := e.languages(t, ask("bob GET", form(1, "trip")+"/submission/"+id+"/form"), accept)
			if language != want[0] || !strings.Contains(body, want[1]) {
				t.Errorf("%s in %q: %q %s", id, accept, language, body)
			}
		}
	}
}
