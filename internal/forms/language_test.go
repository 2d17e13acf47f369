package forms

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/testkit"
)

func TestFindLanguage(t *testing.T) {
	tags := []string{"en", "pt", "pt-BR", "de-AT", "de-CH", "zh-Hant"}
	for tag, want := range map[string]string{
		"en": "en", "EN": "en", "en-GB": "en", "pt-br": "pt-BR", "pt-PT": "pt", "pt-BR-x-a": "pt-BR", "de": "de-AT", "de-CH": "de-CH", "de-LI": "de-AT",
		"zh-Hant-TW": "zh-Hant", "fr": "", "": "", "e": "", "p": "", "pt-": "pt",
	} {
		testkit.Same(t, tag, FindLanguage(tags, tag), want)
	}
}

func TestIn(t *testing.T) {
	plain := &Form{ID: "f"}
	en, de := &Form{ID: "f", Lang: "en"}, &Form{ID: "f", Lang: "de"}
	first := JoinLanguages([]*Form{en, de})
	for _, c := range []struct {
		form *Form
		tag  string
		want *Form
	}{
		{plain, "", plain}, {plain, "de", plain}, {first, "", en}, {first, "de", de}, {de, "en", en}, {de, "", en}, {de, "fr", en}, {de, "de", de},
	} {
		if got := c.form.In(c.tag); got != c.want {
			t.Errorf("%q in %q: %q", c.form.Lang, c.tag, got.Lang)
		}
	}
	de.SetTitle("T")
	if en.Title != "T" || de.Title != "T" || len(plain.Languages()) != 1 || len(de.Languages()) != 2 {
		t.Errorf("titles %q and %q", en.Title, de.Title)
	}
}

// storedLanguages is a definition as stores have it. Its members must stay readable.
const storedLanguages = `{"formId":"f","pageId":0,"macroId":"","anonymous":false,"oneSubmission":false,` +
	`"fields":[{"fieldId":"a","type":"radio","label":"Day","macroId":"","options":["x"],"labels":{"x":"Yes"}}],"lang":"en",` +
	`"languages":[{"formId":"f","pageId":0,"macroId":"","anonymous":false,"oneSubmission":false,` +
	`"fields":[{"fieldId":"a","type":"radio","label":"Tag","macroId":"","options":["x"],"labels":{"x":"Ja"}}],"lang":"de"}]}`

// The definition is the same in whatever language the form was opened, and has all of them.
func TestDefinitionInLanguages(t *testing.T) {
	in := func(lang, label, yes string) *Form {
		return &Form{ID: "f", Lang: lang, Fields: []*Field{{ID: "a", Type: Radio, Label: label, Options: []string{"x"}, Labels: map[string]string{"x": yes}}}}
	}
	en, de := in("en", "Day", "Yes"), in("de", "Tag", "Ja")
	JoinLanguages([]*Form{en, de})
	if en.Definition() != de.Definition() || de.Definition().Text != storedLanguages {
		t.Errorf("%s\n%s", en.Definition().Text, de.Definition().Text)
	}
	got, err := NewDefinition(storedLanguages).Form()
	if err != nil || len(got.Languages()) != 2 {
		t.Fatalf("%v: %+v", err, got)
	}
	for _, want := range []*Form{en, de} {
		testkit.Diff(t, want.Lang, got.In(want.Lang), want, cmpopts.IgnoreUnexported(Form{}))
	}
}
