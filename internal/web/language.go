package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/request"
)

// langName is the name of the parameter and of the cookie with the language that a reader has chosen.
const langName = "lang"

const year = 365 * 24 * 60 * 60 // seconds

// setLanguage sets the language of the reader: the chosen one, that of the browser's settings, or the
// site's.
func (c *call) setLanguage() {
	chosen := c.Site.chosenLanguage(c.w, c.Request)
	c.Lang = cmp.Or(chosen, c.Site.browserLanguage(c.Request))
	if c.Reads = c.Lang.Tag; chosen == nil {
		c.Reads += ";q=0.001" // after the browser's settings: forms have languages that pages don't have
	}
}

// chosenLanguage is the language that a request names in a parameter, which sets the cookie, or in the
// cookie; nil for none.
func (s *Site) chosenLanguage(w http.ResponseWriter, r *http.Request) *lang.Language {
	if chosen := lang.Find(r.URL.Query().Get(langName)); chosen != nil {
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is no secret, and development is without TLS
			Name: langName, Value: chosen.Tag, Path: cmp.Or(s.Backend.BasePath, "/"), MaxAge: year,
			HttpOnly: true, Secure: request.IsSecure(r), SameSite: http.SameSiteLaxMode,
		})
		return chosen
	}
	if cookie, err := r.Cookie(langName); err == nil {
		return lang.Find(cookie.Value)
	}
	return nil
}

// browserLanguage is the language that the settings of a browser ask for.
func (s *Site) browserLanguage(r *http.Request) *lang.Language {
	return cmp.Or(lang.Match(r.Header.Get("Accept-Language")), lang.Find(s.Language))
}

// languageLinks makes links to the same page in all languages, whose queries begin with the given one. They are
// the same on all pages, so they are not made anew for each by a template.
func languageLinks(current *lang.Language) func(query string) template.HTML {
	const query = "{query}"
	links := ""
	for _, l := range lang.All() {
		mark := ""
		if l == current {
			mark = ` aria-current="true"`
		}
		links += fmt.Sprintf(`
<a href="%s%s" lang="%[2]s" hreflang="%[2]s"%[3]s>%[4]s</a>`, query, l.Tag, mark, l.Name)
	}
	return func(begin string) template.HTML {
		begin = template.HTMLEscapeString(begin)
		return template.HTML(strings.ReplaceAll(links, query, begin)) //nolint:gosec // it is escaped
	}
}

// langQuery begins the query of the same page in a language. A long query is left out: a page
// would repeat it many times.
func (c *call) langQuery() string {
	prefix := "?" + langName + "="
	if c.URL.RawQuery == "" || len(c.URL.RawQuery) > maxRowQuery {
		return prefix
	}
	query := c.URL.Query()
	if query.Del(langName); len(query) == 0 {
		return prefix
	}
	return "?" + query.Encode() + "&" + langName + "="
}
