package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/request"
)

// langName is the name of the parameter with the language that a reader has chosen. langCookie keeps it.
const (
	langName   = "lang"
	langCookie = cookieName + "-lang"
)

const year = 365 * 24 * 60 * 60 // seconds

// setLanguage sets the language of the reader: that of a parameter, which sets the cookie, that of the cookie, of the
// browser's settings, or the site's.
func (c *call) setLanguage() {
	query := c.URL.Query().Get(langName)
	chosen, kept := lang.Find(query), c.alone().cookie(c.Request, langCookie, query) //nolint:gosec // G124: see cookie
	if chosen != nil {
		kept.MaxAge = year
		http.SetCookie(c.w, kept)
	} else if cookie, err := c.Cookie(kept.Name); err == nil {
		chosen = lang.Find(cookie.Value)
	}
	c.Lang = cmp.Or(chosen, c.Site.browserLanguage(c.Request))
	if c.Reads = c.Lang.Tag; chosen == nil {
		c.Reads += ";q=0.001" // after the browser's settings: forms have languages that pages don't have
	}
}

// browserLanguage is the language that the settings of a browser ask for.
func (s *Site) browserLanguage(r *http.Request) *lang.Language {
	return cmp.Or(lang.Match(strings.Join(r.Header.Values("Accept-Language"), ",")), lang.Find(s.Language))
}

// spoken is what the site says in one language.
type spoken struct {
	templates       *template.Template
	messages, embed *request.Asset // messages.js and embed.js
}

func (s *Site) newSpoken(l *lang.Language) *spoken {
	var source []byte
	for _, name := range scripts {
		source = append(source, readStatic(name)...)
	}
	title, _ := json.Marshal(l.Text("Form “{0}”", "{0}")) // strings can be encoded
	embed := bytes.Replace(readStatic("embed.js"), []byte(`"Form “{0}”"`), title, 1)
	return &spoken{
		parseTemplates(s.Backend.BasePath, s.static, l),
		request.NewAsset(l.ScriptMessages(source)), request.NewAsset(embed),
	}
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
	query := c.URL.Query()
	query.Del(langName)
	query.Del(outcomeParameter)
	text := query.Encode()
	if len(text) > maxRowQuery {
		text = ""
	}
	return "?" + strings.TrimPrefix(text+"&"+langName+"=", "&")
}
