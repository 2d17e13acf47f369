package markup

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"

	"github.com/formulary/formulary/internal/testkit"
)

const oneForm = "```form\nform: a\nfields: [{id: f, type: textfield, label: F}]\n```\n"

func TestText(t *testing.T) {
	body := "text\n\n" + oneForm + "> quote\n> ~~~ yaml form\n> form: b\n> ~~~\n\n- ```form\n  form: a\n" + "\n```form\n```\n*more*"
	const parts = `Paragraph, "a", Blockquote, "b", "a", "", Paragraph`
	for _, tt := range []struct {
		name   string
		format Format
		src    string
		want   string // the parts; "" if there is no text
	}{
		{"front matter", Markdown, "\ufeff---\ntitle: T\nview: [ann]\n---\n" + body, parts},
		{"no front matter", Markdown, body, parts},
		{"line ends", Markdown, strings.ReplaceAll("---\ntitle: T\n---\n"+body, "\n", "\r\n"), parts},
		{"no form", Markdown, "text\n", ""},
		{"unreadable", Markdown, "---\nresults: nobody\n---\n" + body, ""},
		{"too deep", Markdown, body + "\n" + strings.Repeat(">", 200), ""},
		{"wikitext", Wikitext, "<pre class=\"form\">\nform: a\nfields: [{id: f, type: textfield, label: F}]\n</pre>", ""},
	} {
		text := read(tt.format, 1, []byte(tt.src)).Text
		if (text != nil) != (tt.want != "") {
			t.Errorf("%s: %+v", tt.name, text)
		}
		if text == nil {
			continue
		}
		var got []string
		for _, p := range text.Parts {
			if p.Block == nil {
				got = append(got, strconv.Quote(p.FormID))
			} else {
				got = append(got, p.Block.Kind().String())
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" || string(text.Source) != body || text.Cut {
			t.Errorf("%s: %q, cut %t (-want +got):\n%s", tt.name, text.Source, text.Cut, diff)
		}
	}
}

// What is plain of a page that is not Markdown. A long or intricate text is not
// shown: as it is written, it would be no text.
func TestPlainText(t *testing.T) {
	wiki := func(text string) string {
		return text + "\n<pre class=form>\nform: a\nfields: [{id: f, type: date}]\n</pre>"
	}
	for name, tt := range map[string]struct {
		format Format
		src    string
		want   int // parts
	}{
		"wikitext":           {Wikitext, wiki("= a =\nb"), 3},
		"no form":            {Wikitext, "= a =\nb", 0},
		"a form alone":       {Wikitext, wiki("{{a}}"), 0},
		"long":               {Wikitext, wiki(strings.Repeat("x", MaxShownBytes)), 0},
		"intricate":          {Wikitext, wiki(strings.Repeat("''a'' ", maxTreeNodes/3+1)), 0},
		"storage format":     {Confluence, "<p>a</p><p>b</p><ac:macro ac:name='code'><ac:plain-text-body>form: a</ac:plain-text-body></ac:macro>", 3},
		"a fallback":         {Confluence, "<ac:adf-extension><ac:adf-node><ac:adf-attribute>note</ac:adf-attribute><ac:adf-content><p>a</p></ac:adf-content></ac:adf-node><ac:adf-fallback><p>a</p></ac:adf-fallback></ac:adf-extension><ac:macro ac:name='code'><ac:plain-text-body>form: a</ac:plain-text-body></ac:macro>", 2},
		"not well-formed":    {Confluence, "<p>a</p><ac:macro ac:name='code'><ac:plain-text-body>form: a</ac:plain-text-body>", 0},
		"the text of a form": {formText, "form: a\nfields: [{id: f, type: date}]", 0},
	} {
		text := read(tt.format, 1, []byte(tt.src)).Text
		got := 0
		if text != nil {
			got = len(text.Parts)
		}
		testkit.Same(t, name, got, tt.want)
	}
}

// The caller may use the buffer of the page for something else.
func TestTextKeepsNoReferenceToThePage(t *testing.T) {
	src := []byte("[link](/address \"title\")\n\n" + oneForm)
	want := string(src)
	text := read(Markdown, 1, src).Text
	clear(src)
	link, ok := text.Parts[0].Block.FirstChild().(*ast.Link)
	if !ok || string(text.Source) != want || string(link.Destination) != "/address" || string(link.Title) != "title" {
		t.Errorf("%q: %+v", text.Source, link)
	}
}

// What takes too much work to lay out has no parts.
func TestIntricateText(t *testing.T) {
	for _, rest := range []string{strings.Repeat("*a_", 5000), strings.Repeat("- a\n", maxTreeNodes/3), "|" + strings.Repeat("a|", 1000) + "\n" + strings.Repeat("-|", 1001) + "\n|" + strings.Repeat("a\n", 500)} {
		if text := read(Markdown, 1, []byte(oneForm+rest)).Text; text.Parts != nil || text.Cut || string(text.Source) != oneForm+rest {
			t.Errorf("%.20q: %d parts", rest, len(text.Parts))
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
		if len(text.Source) != tt.want || text.Cut != tt.cut || !utf8.Valid(text.Source) {
			t.Errorf("%s: %d bytes, cut %t; want %d, %t", name, len(text.Source), text.Cut, tt.want, tt.cut)
		}
	}
	// Without a line end, it is cut between two characters.
	src := strings.Repeat("é", MaxShownBytes) + "\n\n" + oneForm
	if text := read(Markdown, 1, []byte("x"+src)).Text; len(text.Source) != MaxShownBytes-1 || !utf8.Valid(text.Source) {
		t.Errorf("one line: %d bytes", len(text.Source))
	}
}

// Forms beyond the limit have parts, too.
func TestPartsOfTooManyForms(t *testing.T) {
	text := read(Markdown, 1, []byte(strings.Repeat(oneForm, MaxForms+3))).Text
	if len(text.Parts) != MaxForms+3 || text.Parts[MaxForms+2].FormID != "" {
		t.Errorf("%d parts", len(text.Parts))
	}
}
