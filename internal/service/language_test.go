package service

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// In whatever language a form was opened, it is the same one: listeners get its default language, and neither the tag of a
// submission nor the form that it was sent to depend on it.
func TestLanguageOfAForm(t *testing.T) {
	w := newWorld(t)
	w.page.Forms[0].Title = "Trip"
	inGerman(w.page.Forms[0], "Reise")
	var titles []string
	w.opts.Events = func(form *forms.Form, _ string, _ bool, _ string, _ time.Time, _ map[string]string) []store.Event {
		titles = append(titles, form.Title)
		return nil
	}
	a := w.as(owner, "named")
	a.Form = a.Form.In("de")
	sub, _, err := a.Create(t.Context(), answer("one"), "")
	w.wants("create", err, "ok")
	if len(titles) != 1 || titles[0] != "Trip" || a.Lang() != "de" {
		t.Errorf("titles %q, language %q", titles, a.Lang())
	}
	b := w.as(owner, "named")
	if asked, err := b.Asked(t.Context(), sub.ID); asked != b.Form || err != nil {
		t.Errorf("asked %v, %v", asked, err)
	}
	testkit.Same(t, "tags and", a.Tag(sub), b.Tag(sub))
	w.page.Lang = "fr"
	if plain := w.as(owner, "named-once"); plain.Lang() != "fr" {
		t.Errorf("language %q", plain.Lang())
	}
}
