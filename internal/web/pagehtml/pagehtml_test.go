package pagehtml

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
)

var update = flag.Bool("update", false, "write the results into the txtar cases")

// TestCases runs testdata/*.txtar: pages, each followed by a file of the same
// name with ".want" that holds its pieces.
func TestCases(t *testing.T) {
	for _, name := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { runArchive(t, name) })
	}
}

func archives(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return names
}

func runArchive(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	testkit.Must(t, err)
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	fresh := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".want") {
			continue
		}
		got := dump(renderPage(t, formatOf(f.Name), f.Data))
		if diff := cmp.Diff(want[f.Name+".want"], got); diff != "" && !*update {
			t.Errorf("%s: (-want +got):\n%s", f.Name, diff)
		}
		fresh.Files = append(fresh.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(got)})
	}
	if *update {
		testkit.Must(t, os.WriteFile(name, txtar.Format(fresh), 0o644))
	}
}

func formatOf(fileName string) markup.Format {
	format, _ := markup.FormatOf(fileName)
	return format
}

// controls stand in an archive for characters that would get lost there.
var controls = strings.NewReplacer("⟨bel⟩", "\a", "⟨esc⟩", "\x1b")

// renderPage renders a page that has all its good forms, and checks the pieces.
func renderPage(t *testing.T, format markup.Format, src []byte) []Piece {
	t.Helper()
	page := markup.Parse(format, 1, []byte(controls.Replace(string(src))), nil)
	var formIDs []string
	for _, b := range page.Blocks {
		if b.Form != nil {
			formIDs = append(formIDs, b.FormID)
		}
	}
	pieces := render(page.Meta.Title, page.Text, formIDs)
	checkPieces(t, pieces, formIDs)
	return pieces
}

func dump(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.Missing:
			fmt.Fprintf(&b, "== missing %q\n", p.FormID)
		case p.FormID != "":
			fmt.Fprintf(&b, "== form %q\n", p.FormID)
		default:
			fmt.Fprintf(&b, "== html\n%s\n", p.HTML)
		}
	}
	return b.String()
}

const form = "```form\nform: a\nfields: [{id: f, type: textfield, label: F}]\n```\n"

// otherForms are the same form in the other formats.
var otherForms = map[markup.Format]string{
	markup.Wikitext:   "<pre class=\"form\">\nform: a\nfields: [{id: f, type: textfield, label: F}]\n</pre>\n",
	markup.Confluence: "<ac:macro ac:name=\"code\"><ac:plain-text-body>form: a\nfields: [{id: f, type: textfield, label: F}]</ac:plain-text-body></ac:macro>\n",
}

// textOf returns the text of a page that begins with the form a.
func textOf(t testing.TB, rest string) *markup.Text {
	t.Helper()
	page := markup.Parse(markup.Markdown, 1, []byte(form+"\n"+rest), nil)
	if page.Text == nil {
		t.Fatalf("no text: %+v", page.Diagnostics)
	}
	return page.Text
}

func TestEachFormHasOnePiece(t *testing.T) {
	broken := markup.Parse(markup.Markdown, 1, []byte("```form\nform: a\n```\n\ntext\n"), nil).Text
	for _, tt := range []struct {
		name    string
		text    *markup.Text
		formIDs []string
		want    string
	}{
		{"no text", nil, []string{"a", "b"}, "== form \"a\"\n== form \"b\"\n"},
		{"no text, no form", nil, nil, ""},
		{"kept from the last good definition", broken, []string{"a"}, "== form \"a\"\n== html\n<p dir=\"auto\">text</p>\n"},
		{"no good definition", broken, nil, "== missing \"a\"\n== html\n<p dir=\"auto\">text</p>\n"},
		{"not on the page", broken, []string{"b", "a", "c"}, "== form \"a\"\n== html\n<p dir=\"auto\">text</p>\n== form \"b\"\n== form \"c\"\n"},
	} {
		before := strings.Join(tt.formIDs, " ")
		pieces := render("", tt.text, tt.formIDs)
		checkPieces(t, pieces, tt.formIDs)
		testkit.Diff(t, tt.name, dump(pieces), tt.want)
		testkit.Same(t, tt.name, strings.Join(tt.formIDs, " "), before)
	}
}

// isPlain reports whether a text is shown as it is written, for this reason.
func isPlain(pieces []Piece, why *forms.Message) bool {
	return len(pieces) == 2 && pieces[0].FormID == "a" && strings.HasPrefix(string(pieces[1].HTML), "<pre ") && pieces[1].Why == why
}

func TestLongTextIsShownAsItIsWritten(t *testing.T) {
	for name, rest := range map[string]string{
		"lines": strings.Repeat("<b> & *text*\n", markup.MaxShownBytes/10), "one line": "*" + strings.Repeat("é", markup.MaxShownBytes/2),
	} {
		pieces := render("", textOf(t, rest), []string{"a"})
		checkPieces(t, pieces, []string{"a"})
		if !isPlain(pieces, tooLong) || len(pieces[1].HTML) > 3*markup.MaxShownBytes {
			t.Errorf("%s: %.300s", name, dump(pieces))
		}
	}
}

// Without the limits, some of these would take minutes.
func TestHostileTextIsBounded(t *testing.T) {
	mustBePlain := []string{"[a](", "*a_", "brackets", "columns by rows", "500 columns", "[a]: /u \"a\n", "long heading", "# a\n"}
	for name, make := range hostile {
		text := textOf(t, make(markup.MaxShownBytes-2*len(form)))
		pieces := render("", text, []string{"a"})
		checkPieces(t, pieces, []string{"a"})
		for _, plain := range mustBePlain {
			if name == plain && !isPlain(pieces, tooMuchWork) {
				t.Errorf("%q: laid out", name)
			}
		}
	}
}

// Other formats than Markdown are never shown as they are written.
func TestHostileTextInOtherFormats(t *testing.T) {
	wiki := []string{
		"[", "]", "[[", "[[a|", "[[a]]", "[http://a.b ", "http://a.b ", "http://", "''", "'''a", "'''a''b", "{{", "}}", "{{a}}", "{{a", "{|\n", "{|\n|}\n", "|}\n", "* a\n", "*#*#*# a\n",
		"# a\n* b\n", ": a\n", "= a =\n", "=\n", "<", "<ref>", "<ref/>", "<!--", "<!-- -->", "<br>", "<b>", "__TOC__", "&", "&amp;", "&#60;script>", "a\n\n", "\uE000", "…", "a",
	}
	storage := []string{
		"<p>a</p>", "<p/>", "<b>a</b>", "<ul><li>a</li></ul>", "<li>a</li>", "<table><tr><td>a</td></tr></table>", "a<br/>", "<a href='http://a.b'>a</a>", "&nbsp;", "&lt;", "<h1>a</h1>", "a\n",
		strings.Repeat("<ul><li>", 50) + strings.Repeat("</li></ul>", 50), strings.Repeat("<b><a href='http://a'>", 50) + "x" + strings.Repeat("</a></b>", 50),
	}
	for format, units := range map[markup.Format][]string{markup.Wikitext: wiki, markup.Confluence: storage} {
		for _, unit := range units {
			renderPage(t, format, []byte(otherForms[format]+repeat(unit)(markup.MaxShownBytes/4)))
		}
	}
}

// A long page of an honest author is laid out.
func TestLongHonestText(t *testing.T) {
	const chapter = "## Chapter\n\nSome *text* with [a link](https://example.org) and `code`, that goes on for a **while**.\n" +
		"Another line of it, ~~with~~ https://example.org/ and more text, so that this is a paragraph.\n\n" +
		"| Name | Value | Remark |\n|------|------:|--------|\n| one | 1 | [see](/there) |\n| two | 2 | *nothing* |\n\n" +
		"- an item\n- another one with **strong** text\n  - nested [link](#chapter)\n\n"
	table := "| Name | Value | Remark |\n|---|---|---|\n" + strings.Repeat("| [one](/one) | `1` | some **remark** about it |\n", 1000)
	paragraph := strings.Repeat("A long paragraph without an end, with [a link](/x) and *stress* here and there.\n", 100)
	for name, rest := range map[string]string{"chapters": repeat(chapter)(120_000), "table": table, "paragraph": paragraph} {
		pieces := render("", textOf(t, rest), []string{"a"})
		checkPieces(t, pieces, []string{"a"})
		if isPlain(pieces, tooLong) || isPlain(pieces, tooMuchWork) {
			t.Errorf("%s: %.200s", name, dump(pieces))
		}
	}
}

// Requests render a text concurrently, which must not change it. The race
// detector sees writes.
func TestTextIsRenderedConcurrently(t *testing.T) {
	text := textOf(t, "# Title\n\n- [ ] *a*\n- ```\n  ```\n\n# Title\n\n|a|b|\n|:-|-:|\n|1|2|\n\n<!-- x -->\n\n    code\n\n[x]: /y\n")
	results := make([]string, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = dump(render("Title", text, []string{"a"})) })
	}
	wg.Wait()
	if unique := slices.Compact(results); len(unique) != 1 {
		t.Errorf("%d different results: %q", len(unique), unique)
	}
}

func TestPanicCostsTheLayoutOnly(t *testing.T) {
	text := &markup.Text{Source: []byte("<b>")}
	pieces := func() (pieces []Piece) {
		defer recovered(&pieces, text, []string{"a"})
		panic("parser")
	}()
	if !isPlain(pieces, tooMuchWork) || !strings.Contains(string(pieces[1].HTML), "&lt;b&gt;") {
		t.Errorf("got %s", dump(pieces))
	}
}

// Links to headings lead to the same ones in all versions.
func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"Two  words_and-more!":          "two-words-and-more",
		"\u0085Ärger\u2003mit v1.2":     "ärger-mit-v12",
		"!?":                            "section",
		strings.Repeat("Wort ", 40):     strings.Repeat("wort-", 20) + "w",
		strings.Repeat("x", 98) + " äz": strings.Repeat("x", 98) + "-ä",
	} {
		testkit.Same(t, text, slug(text), want)
	}
}
