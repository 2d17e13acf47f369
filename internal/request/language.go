package request

import (
	"net/http"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
)

// SetReads sets languages that the caller has chosen, as in the header Accept-Language, which comes after them.
func (c *Call) SetReads(languages string) { c.reads, c.preferred = languages, nil }

// Translated returns a form in the language that the caller prefers, or else in its default one.
func (c *Call) Translated(f *forms.Form) *forms.Form {
	if len(f.Languages()) == 1 {
		return f
	}
	var tags []string
	for _, translated := range f.Languages() {
		tags = append(tags, translated.Lang)
	}
	if c.preferred == nil {
		accept := append([]string{c.reads}, c.Header.Values("Accept-Language")...)
		c.preferred = lang.Preferred(strings.Join(accept, ","))
	}
	for _, p := range c.preferred {
		if tag := forms.FindLanguage(tags, p.String()); tag != "" {
			return f.In(tag)
		}
	}
	return f.In("")
}

// SetLanguages tells in which languages forms are, unless each has one only.
func SetLanguages(h http.Header, list ...*forms.Form) {
	var tags []string
	for _, f := range list {
		if len(f.Languages()) > 1 && !slices.Contains(tags, f.Lang) {
			tags = append(tags, f.Lang)
		}
	}
	if tags != nil {
		h.Set("Content-Language", strings.Join(tags, ", "))
		h.Add("Vary", "Accept-Language")
	}
}
