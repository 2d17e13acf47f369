package markup

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const oneForm = "```form\nform: a\nfields: [{id: f, type: textfield, label: F}]\n```\n"

func TestText(t *testing.T) {
	body := "text\n\n" + oneForm + "> ~~~ yaml form\n> form: b\n> ~~~\n\n" + oneForm + "```form\n```\n"
	places := []Place{
		{At: strings.Index(body, "form"), FormID: "a"},
		{At: strings.Index(body, "yaml form"), FormID: "b"},
		{At: strings.LastIndex(body, "form\nform: a"), FormID: "a"},
		{At: strings.LastIndex(body, "form")},
	}
	for _, tt := range []struct {
		name   string
		format Format
		src    string
		want   *Text
	}{
		{"front matter", Markdown, "\ufeff---\ntitle: T\nview: [ann]\n---\n" + body, &Text{Source: body, Places: places}},
		{"no front matter", Markdown, body, &Text{Source: body, Places: places}},
		{"line ends", Markdown, strings.ReplaceAll("---\ntitle: T\n---\n"+body, "\n", "\r\n"), &Text{Source: body, Places: places}},
		{"no form", Markdown, "text\n", nil},
		{"unreadable", Markdown, "---\nresults: nobody\n---\n" + body, nil},
		{"too deep", Markdown, body + strings.Repeat(">", 200), nil},
		{"wikitext", Wikitext, "<pre class=\"form\">\nform: a\nfields: [{id: f, type: textfield, label: F}]\n</pre>", nil},
	} {
		if diff := cmp.Diff(tt.want, read(tt.format, 1, []byte(tt.src)).Text); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestLongTextIsCut(t *testing.T) {
	for name, tt := range map[string]struct {
		rest string
		want int // bytes that are kept
		cut  bool
	}{
		"just not":         {strings.Repeat("x", MaxShownBytes-len(oneForm)), MaxShownBytes, false},
		"after a line":     {strings.Repeat("x", MaxShownBytes-len(oneForm)-10) + "\n" + strings.Repeat("y", 20), MaxShownBytes - 9, true},
		"within the first": {strings.Repeat("é", MaxShownBytes), len(oneForm), true},
	} {
		text := read(Markdown, 1, []byte(oneForm+tt.rest)).Text
		if len(text.Source) != tt.want || text.Cut != tt.cut || !utf8.ValidString(text.Source) {
			t.Errorf("%s: %d bytes, cut %t; want %d, %t", name, len(text.Source), text.Cut, tt.want, tt.cut)
		}
	}
	// Without a line end, it is cut between two characters.
	src := strings.Repeat("é", MaxShownBytes) + "\n\n" + oneForm
	if text := read(Markdown, 1, []byte("x"+src)).Text; len(text.Source) != MaxShownBytes-1 || !utf8.ValidString(text.Source) {
		t.Errorf("one line: %d bytes", len(text.Source))
	}
}

// Forms beyond the limit have places, too.
func TestPlacesOfTooManyForms(t *testing.T) {
	text := read(Markdown, 1, []byte(strings.Repeat(oneForm, MaxForms+3))).Text
	if len(text.Places) != MaxForms+3 || text.Places[MaxForms+2].FormID != "" {
		t.Errorf("%d places", len(text.Places))
	}
}
