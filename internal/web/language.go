package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/request"
)

// langName is the name of the parameter with the language that a reader has chosen. langCookie keeps it. A form has
// langControl in its place, and langName is the value of its button.
const (
	langName    = "lang"
	langCookie  = cookieName + "-lang"
	langControl = "_lang"
)

const year = 365 * 24 * 60 * 60 // seconds

// takeLanguage takes the parameter out of the address, so that no link repeats it.
func (c *call) takeLanguage() {
	query := c.URL.Query()
	c.setLanguage(query.Get(langName))
	if query.Has(langName) {
		query.Del(langName)
		c.URL.RawQuery = query.Encode()
	}
}

// takeLanguageOf sets the language that was chosen beside a form, if the button there was pressed.
func (c *call) takeLanguageOf(sent url.Values) {
	if sent.Get(updateControl) == langName {
		c.setLanguage(sent.Get(langControl))
	}
}

// setLanguage sets the language of the reader. The chosen one comes first, and sets the cookie. Then come
// the cookie, the browser's settings and the site.
func (c *call) setLanguage(tag string) {
	chosen, kept := lang.Find(tag), c.alone().cookie(c.Request, langCookie, tag) //nolint:gosec // G124: see cookie
	if chosen != nil {
		kept.MaxAge = year
		http.SetCookie(c.w, kept)
	} else if cookie, err := c.Cookie(kept.Name); err == nil {
		chosen = lang.Find(cookie.Value)
	}
	c.Lang = cmp.Or(chosen, c.Site.browserLanguage(c.Request))
	reads := c.Lang.Tag
	if chosen == nil {
		reads += ";q=0.001" // after the browser's settings: forms have languages that pages don't have
	}
	c.SetReads(reads)
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
	embed := readStatic("embed.js")
	for _, text := range []*forms.Message{
		forms.Say("Form “{0}”", "{0}"),
		forms.Say("The text of a form stands here as code, so nobody can fill it in. Paste it as a form"),
	} {
		said, _ := json.Marshal(l.Say(text)) // strings can be encoded
		embed = bytes.Replace(embed, []byte(`"`+text.Text+`"`), said, 1)
	}
	return &spoken{
		parseTemplates(s.Backend.BasePath, s.static, s.Backend.Service.Zone(), l),
		request.NewAsset(l.ScriptMessages(source)), request.NewAsset(embed),
	}
}

// languageOptions are the options of the select in the footer.
func languageOptions(current *lang.Language) template.HTML {
	var options strings.Builder
	for _, l := range lang.All() {
		option := `
<option value="%s" lang="%[1]s">%s</option>`
		if l == current {
			option = `
<option value="%s" lang="%[1]s" selected>%s</option>`
		}
		_, _ = fmt.Fprintf(&options, option, l.Tag, l.Name)
	}
	return template.HTML(options.String()) //nolint:gosec // texts of our own
}

// Params are the parameters of the address, which go along with another language. A long query is left out.
func (c *call) Params() []hiddenValue {
	query := c.URL.Query()
	query.Del(outcomeParameter)
	if len(query.Encode()) > maxRowQuery {
		return nil
	}
	return hiddenValues(query)
}
