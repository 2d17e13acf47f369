package forms

import "strings"

// A form in several languages is one Form for each of them, which differ in the texts for people
// alone: ids, options, conditions and bounds are the same.

// JoinLanguages makes forms the languages of one form, and returns the first of them, which is for
// people who read none of these languages.
func JoinLanguages(list []*Form) *Form {
	for _, f := range list {
		f.languages = list
	}
	return list[0]
}

// Languages returns the form in each of its languages, the default one first.
func (f *Form) Languages() []*Form {
	if f.languages == nil {
		return []*Form{f}
	}
	return f.languages
}

// In returns the form with the texts of a language. It is the default one if there are none, as in "".
func (f *Form) In(tag string) *Form {
	for _, translated := range f.Languages() {
		if translated.Lang == tag {
			return translated
		}
	}
	return f.Languages()[0]
}

// SetTitle sets the title in all languages.
func (f *Form) SetTitle(title string) {
	for _, translated := range f.Languages() {
		translated.Title = title
	}
}

// FindLanguage returns the language tag that is nearest to one: the same, or the longest that it begins
// with, as pt-BR begins with pt, or the first one of the same language, as de-AT is for de-CH. It returns
// "" if there is none.
func FindLanguage(tags []string, tag string) string {
	for prefix := tag; prefix != ""; prefix = prefix[:max(0, strings.LastIndexByte(prefix, '-'))] {
		for _, t := range tags {
			if strings.EqualFold(t, prefix) {
				return t
			}
		}
	}
	language, _, _ := strings.Cut(tag, "-")
	for _, t := range tags {
		if l, _, _ := strings.Cut(t, "-"); strings.EqualFold(l, language) {
			return t
		}
	}
	return ""
}
