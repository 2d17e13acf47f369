package web

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Editors find the text of a form, and its address, wherever they see the form.
func TestShortcuts(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", "form: f\nfields: [{id: a, type: textfield}]\n"))
	const form, edit, address = "/page/1/form/f", "/author?form=f&page=1", "http://forms.example/page/1/form/f"
	for _, path := range []string{"/", form, form + "/results"} {
		p := e.get("carol", path)
		testkit.Same(t, path, p.link("Edit the form"), edit)
		testkit.Diff(t, path, textsOf(p.find(".address")), []string{address})
		p = e.get("alice", path)
		testkit.Same(t, path, p.link("Edit the form"), "")
		testkit.Same(t, path, len(p.find(".address")), 0)
	}
	// In a frame, a link opens it in a new tab.
	for user, want := range map[string]string{"carol": edit, "alice": ""} {
		p := e.framed(user, "/embed"+form)
		testkit.Same(t, user, p.link("Edit the form"), want)
		testkit.Same(t, user, len(p.find(".address")), 0)
	}
	p := e.framed("carol", "/embed"+form)
	testkit.Same(t, "target", attribute(p.find(`[href="/author?form=f&page=1"]`)[0], "target"), "_blank")
	testkit.Same(t, "without a session", e.ask("", edit).header.Get("Location"), "/login?next=%2Fauthor%3Fform%3Df%26page%3D1")
}
