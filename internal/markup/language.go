package markup

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/language"

	"github.com/formulary/formulary/internal/forms"
)

// A text for people is a text, or a mapping of language tags to texts. A form with mappings is read once
// for each of its languages, so that what is checked holds in all of them.

// languageTag matches tags of BCP 47 that name a language first. Whether a part is
// registered is not checked.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,5}$`)

// readForm checks a form and makes it of its mapping, in all its languages. It returns nil if root is no
// mapping. The form can be used unless the reader has failed.
func (p *reader) readForm(root *yaml.Node, block *rawBlock) *forms.Form {
	form, languages := p.readLanguage(root, block, "")
	block.Languages = languages
	if p.failed || languages == nil {
		return form
	}
	if byDefault := forms.FindLanguage(languages, p.pageLang); byDefault != "" {
		others := slices.DeleteFunc(languages, func(l string) bool { return l == byDefault })
		languages = append([]string{byDefault}, others...)
	}
	p.translating, p.toldMissing = true, false
	defer func() { p.translating = false }()
	var list []*forms.Form
	for _, lang := range languages {
		form, _ = p.readLanguage(root, block, lang)
		form.Lang = lang
		list = append(list, form)
	}
	return forms.JoinLanguages(list)
}

// inLanguage returns the text of a value in the language that is being read, else in that of the page,
// else the first one. It returns nil if there is none, or if the value was reported.
func (r *formReader) inLanguage(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		if r.isText(n, key) {
			return n
		}
		return nil
	}
	tags, texts := r.translations(n, key)
	found := forms.FindLanguage(tags, r.lang)
	if found == "" && r.translating && !r.toldMissing {
		r.toldMissing = true
		r.report(n.Column, Warning,
			"write each text in all languages of the form, or without a language: people get another one",
			"not all texts are in all languages of the form: %s has none in %s", key, quote(r.lang))
	}
	if tags == nil {
		return nil
	}
	return texts[cmp.Or(found, forms.FindLanguage(tags, r.pageLang), tags[0])]
}

// translations reads a mapping of language tags to texts. Empty texts count as not written.
func (r *formReader) translations(n *yaml.Node, key string) (tags []string, texts map[string]*yaml.Node) {
	texts = map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		written, text := n.Content[i], n.Content[i+1]
		parsed, err := language.Raw.Parse(written.Value)
		tag := parsed.String()
		switch {
		case err != nil || !languageTag.MatchString(written.Value):
			r.errorf(written.Column, `write tags such as en, de or pt-BR, or put a text that contains ": " into quotes`,
				"%s has the key %s, which is not a language tag", key, quote(written.Value))
		case texts[tag] != nil:
			r.errorf(written.Column, "remove one of them", "%s has two texts in %s", key, quote(tag))
		case r.isText(text, key):
			r.addLanguage(tag, written.Column)
			if strings.TrimSpace(text.Value) != "" {
				tags, texts[tag] = append(tags, tag), text
			}
		}
	}
	return tags, texts
}

// addLanguage adds a language to those of the form.
func (r *formReader) addLanguage(tag string, at int) {
	if slices.Contains(r.languages, tag) || len(r.languages) > MaxLanguages {
		return
	}
	if r.languages = append(r.languages, tag); len(r.languages) == MaxLanguages+1 {
		r.errorf(at, "split the form", "the form has more than %d languages", MaxLanguages)
	}
}
