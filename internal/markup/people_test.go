package markup

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestSetPeople(t *testing.T) {
	for _, tt := range []struct{ page, view, edit, want string }{
		{"---\nedit: [alice] # boss\ntitle: x\n---\ny\n", "", "alice\n@hr", "---\nedit: [alice, \"@hr\"] # boss\ntitle: x\n---\ny\n"},
		{"---\r\nview: [bob]\r\nedit: alice\r\n---\r\n", "", "@hr", "---\r\nedit: [\"@hr\"]\r\n---\r\n"},
		{"---\nedit: [alice]\n---\n", "a, b\nyes", "alice", ""},
		{"---\nedit: [alice]\nid: 7\nlang: de\nresults: viewers\n---\n", "bob", "-x\n#y", ""},
		{byteOrderMark + "---\n# c\nview: []\nedit:\n- alice\n---\n---\n", "bob", "alice", ""},
		{"no front matter\n", "", "alice", "-"},
		{"---\nedit: &a [alice]\nview: *a\n---\n", "bob", "alice", ""},
	} {
		view, edit := lines(tt.view), lines(tt.edit)
		page := Open(Markdown, 1, []byte(tt.page), nil)
		got, err := page.SetPeople(page.Meta.People().Tag(), People{view, edit})
		if (err != nil) != (tt.want == "-") || len(tt.want) > 1 && string(got) != tt.want {
			t.Errorf("%q: got %q, %v; want %q", tt.page, got, err, tt.want)
			continue
		}
		if err == nil {
			meta := read(Markdown, 1, got).Meta
			testkit.Diff(t, string(got), meta.People(), People{view, edit})
		}
	}
}

// lines is nil for no text.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"alice": true, "@hr": true, "a, b": true, "Ann O'Neil \"x\"": true, "": false, "@": false, "@a,b": false, "a:b": false,
		" a": false, "a\nb": false, "a\u2028b": false, "@ a": false, strings.Repeat("a", 300): false,
	} {
		testkit.Same(t, name, IsName(name), want)
	}
}

func TestNewPage(t *testing.T) {
	const text = "form: a\nfields: [{id: x, type: date}]\n"
	people := People{[]string{"@hr", "yes"}, []string{"alice"}}
	got, err := NewPage{" Lunch: \"fun\" # \\ ", "de", people, text}.Source(nil)
	testkit.Must(t, err)
	testkit.Same(t, "page", string(got), "---\ntitle: \"Lunch: \\\"fun\\\" # \\\\\"\nview: [\"@hr\", \"yes\"]\nedit: [\"alice\"]\nlang: \"de\"\n---\n\n"+
		"```yaml form\n"+text+"```\n")
	for _, title := range []string{"", " ", "a\nview: []", "a\u2028b", "a\x00", strings.Repeat("a", MaxTextBytes+1)} {
		if _, err := (NewPage{Title: title, People: people, Text: text}).Source(nil); err == nil {
			t.Errorf("a page with the title %q", title)
		}
	}
}
