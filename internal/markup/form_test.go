package markup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

var exported = cmpopts.IgnoreUnexported(forms.Form{})

const smallForm = "form: a\nfields:\n  - {id: x, type: date}\n"

// Lines and columns count within the text, whatever its line ends.
func TestParseFormDiagnostics(t *testing.T) {
	const broken = "form: a\nfields:\n  - id: x\n    type: dat\n  - id: x\n    type: date\n"
	want := []string{`4:11: error: unknown type "dat"`, `5:9: error: field "x" appears twice, first on line 3`}
	for name, text := range map[string]string{
		"LF": broken, "CR LF": strings.ReplaceAll(broken, "\n", "\r\n"), "mark": byteOrderMark + broken, "no end": strings.TrimSpace(broken),
	} {
		formBlock, diagnostics := ParseForm(1, "", []byte(text), nil)
		form := formBlock.Form
		var got []string
		for _, q := range diagnostics {
			got = append(got, fmt.Sprintf("%d:%d: %s: %s", q.Line, q.Column, q.Severity, q.Message))
		}
		if diff := gocmp.Diff(want, got); form != nil || diff != "" {
			t.Errorf("%s: form %v, diagnostics (-want +got):\n%s", name, form, diff)
		}
	}
}

func TestParseFormRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "the form block is empty",
		" \n\t\n":                            "",
		"\xff":                               "invalid UTF-8",
		"form: \x00":                         "contains",
		"```form\n":                          "",
		"form: a\n":                          `no "fields"`,
		"- - - - - -":                        "must be a mapping",
		strings.Repeat("#", MaxBlockBytes+1): "more than 262144 bytes",
		strings.Repeat("#", MaxPageBytes+1):  "more than the",
		smallForm + "---\n" + smallForm:      "a second YAML document",
	} {
		formBlock, diagnostics := ParseForm(1, "", []byte(text), nil)
		form := formBlock.Form
		if form != nil || len(diagnostics) == 0 || !strings.Contains(diagnostics[0].Message, want) {
			t.Errorf("%.20q: form %v, diagnostics %.1v; want %q", text, form, diagnostics, want)
		}
	}
}

// carriers are all formats.
var carriers = []Format{Markdown, Confluence, Wikitext}

// checkCarried checks that a page with a text's block has the same form as the
// text alone, whether text stands around it or not.
func checkCarried(t interface {
	Helper()
	Errorf(string, ...any)
}, text []byte,
) {
	t.Helper()
	wantBlock, _ := ParseForm(1, "", text, nil)
	want := wantBlock.Form
	if want == nil {
		return
	}
	for _, format := range carriers {
		block, err := FormBlock(format, text)
		if err != nil {
			if format != Confluence && len(text) < MaxBlockBytes-1 {
				t.Errorf("format %d: %v", format, err)
			}
			continue
		}
		for _, page := range []string{block, "\n\n" + block + "\n\n", strings.TrimSpace(block)} {
			got := read(format, 1, []byte(page))
			for _, b := range got.Blocks {
				if b.Form != nil {
					b.Form.Title = cmp.Or(b.Form.Title, b.FormID) // as pages do
				}
			}
			if len(got.Blocks) != 1 {
				t.Errorf("format %d: %d blocks, diagnostics %v in %q", format, len(got.Blocks), got.Diagnostics, page)
			} else if diff := gocmp.Diff(want, got.Blocks[0].Form, exported); diff != "" {
				t.Errorf("format %d (-alone +in a block): %s\n%q\n%v", format, diff, page, got.Diagnostics)
			}
		}
	}
}

// awkward are texts that mean something to one of the formats, or to YAML.
var awkward = []string{
	"```", "````", "~~~", "]]>", "]]", "<![CDATA[", "</pre>", "<pre class=form>", "</nowiki>", "<nowiki>", "&amp;", "&lt;", "&", ";", "<", ">", "&#10;", "&amp;lt;",
	"</ac:plain-text-body>", "<!--", "-->", "<script>alert(1)</script>", "{{x}}", "~~~~", "---", "...", "'", `"`, `\`, "\t", "\u00a0", "\u0085", "\u2028", "\u200b",
	byteOrderMark, "\U0001f600", "# x", ": ", "- ", "%YAML", "\u202e", "x", " ", "\n", "\n\n", "\r\n", "\r", "    ", "|+\n", "fields:", "form: b",
}

func TestFormBlock(t *testing.T) {
	texts := []string{
		smallForm, strings.TrimSpace(smallForm), byteOrderMark + smallForm, "\n\n" + smallForm, "# a\n---\n" + smallForm,
		"  form: a\n  fields: [{id: x, type: date}]", "  form: a\nfields: [{id: x, type: date}]", // the first line is indented further
		"\u00a0form: a\nfields:\n\u00a0- {id: x,\u00a0type: date}", "{form: a, fields: [{id: x, type: date}]}",
		"form: a\nfields:\n- id: x\n  type: radio\n  options:\n  - |+\n    x", // ends without a line end
		"form: a\nfields: [{id: x, type: date}] #" + strings.Repeat("`", 1000),
		"form: a\r\nfields: [{id: x, type: date}]\r\n", "form: a\rfields: [{id: x, type: date}]",
	}
	for _, a := range awkward {
		texts = append(texts, smallForm+"# "+a+"\n", fmt.Sprintf("form: a\nfields:\n- id: x\n  type: radio\n  label: 'b %s c'\n  options: [\"%s\"]\n", a, a))
	}
	read := 0
	for _, text := range texts {
		if block, _ := ParseForm(1, "", []byte(text), nil); block.Form != nil {
			read++
		}
		checkCarried(t, []byte(text))
	}
	if read < len(texts)/2 {
		t.Errorf("only %d of %d texts are forms", read, len(texts))
	}
}

func FuzzForm(f *testing.F) {
	for _, a := range awkward {
		f.Add([]byte(smallForm + "- {id: y, type: textbox, label: '" + a + "'}\n"))
	}
	f.Add([]byte("form: a\nfields:\n  - {id: x, type: date, label: {en: Day, pt-BR: Dia}, help: {pt: a, '': b}}\n"))
	for _, unit := range hostileTexts {
		f.Add([]byte(smallForm + "  - " + strings.Repeat(unit, 2*maxYAMLNesting)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := slices.Clone(text)
		checkPage(t, read(formText, 1, text))
		if !slices.Equal(before, text) {
			t.Error("the text was written to")
		}
		checkCarried(t, text)
	})
}

// A text at the limit is a form, but a block for it may have no room.
func TestFormBlockAtTheLimit(t *testing.T) {
	for room := range 2 {
		text := smallForm + "#" + strings.Repeat("x", MaxBlockBytes-len(smallForm)-2-room) + "\n"
		if block, diagnostics := ParseForm(1, "", []byte(text), nil); block.Form == nil {
			t.Errorf("%d bytes of room: %v", room, diagnostics)
		}
		_, err := FormBlock(Wikitext, []byte(text))
		if (err != nil) != (room == 0) {
			t.Errorf("%d bytes of room: %v", room, err)
		}
		checkCarried(t, []byte(text))
	}
}

func TestFormBlockRefuses(t *testing.T) {
	if _, err := FormBlock(Confluence, []byte("{form: a, fields: [{id: x, type: date}]}")); err == nil {
		t.Error("a code macro would be no form")
	}
	if _, err := FormBlock(Format(9), []byte(smallForm)); err == nil {
		t.Error("unknown format")
	}
}

// The words of an info string may have any space between them, as strings.Fields has it.
func TestInfoString(t *testing.T) {
	for info, want := range map[string]int{
		"form": 1, " YAML\u00a0form": 1, "yaml\vform x": 1, "form\u0085x": 1, "yml\u2003form\u3000x": 1, "forms": 0, "yamlform": 0, "x form": 0,
	} {
		page := Parse(Markdown, 1, []byte("~~~"+info+"\nform: a\nfields: [{id: x, type: date}]\n~~~\n"), nil)
		testkit.Same(t, info, len(page.Blocks), want)
	}
}
