package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/testkit"
)

func TestExcerpt(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name, line string
		column     int
		text       string
	}{
		{"short", "ab!", 3, "ab!"},
		{"as long as fits", x(99) + "!", 100, x(99) + "!"},
		{"cut on the right", "!" + x(100), 1, "!" + x(98) + "…"},
		{"cut on the left", x(100) + "!", 101, "…" + x(98) + "!"},
		{"cut on both sides", x(150) + "!" + x(150), 151, "…" + x(49) + "!" + x(48) + "…"},
		{"first column that cuts the left", x(51) + "!" + x(100), 52, "…" + x(49) + "!" + x(48) + "…"},
		{"last column that cuts the right", x(100) + "!" + x(50), 101, "…" + x(49) + "!" + x(48) + "…"},
		{"a tab is cut away", x(100) + "\t" + x(98) + "!", 200, "…" + x(98) + "!"},
	} {
		text, caret := excerpt(tt.line, tt.column)
		testkit.Same(t, tt.name, text, tt.text)
		if runes := []rune(text); len(caret) >= len(runes) || runes[len(caret)] != '!' {
			t.Errorf("%s: the caret is not below the column:\n%s\n%s^", tt.name, text, caret)
		}
	}
	if text, caret := excerpt(x(200), 201); text != "…"+x(99) || len(caret) != 100 {
		t.Errorf("behind the end: got\n%s\n%s^", text, caret)
	}
	for _, acts := range []string{"\x1b", "\x7f", "\u009b", "\u202e", "\u2069", "\u061c"} {
		if text, caret := excerpt("\ta"+acts+"!", 4); text != "\ta\uFFFD!" || caret != "\t  " {
			t.Errorf("tab and %q: got %q, %q", acts, text, caret)
		}
	}
}

// What a terminal would act upon may stand in names of files, in what messages
// quote, and in the lines that are shown.
func TestCheckEscapesWhatTerminalsActUpon(t *testing.T) {
	const hostile = "\x1b\x7f\u0085\u009b\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
	dir := t.TempDir()
	for name, content := range map[string]string{
		"1" + hostile + "\x9b\n.md": "```form\nform: a\nfields: [{id: x, type: " + hostile + "}]\n```\n",
		"2" + hostile + ".wiki":     "<pre class=form>\nform: a\nfields: [{id: \u202ex, type: date}]\n</pre>\n",
		"3.md":                      "---\n" + hostile + ": x\n---\n",
		"4.xml":                     `<ac:macro ac:name="form"><ac:parameter ac:name="` + "\u202e\u0085" + `">x</ac:parameter></ac:macro>`,
		"5.md":                      "```form\nform: a\nfields: [{id: x, type: date, \"\u2066\": x}]\n```\n",
	} {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	testkit.Must(t, os.Symlink("nowhere", filepath.Join(dir, "6"+hostile+".md")))
	for name, format := range checkFormats {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := checker{out: &out, format: format, files: map[int64][]string{}, seen: map[string]bool{}}
			c.path(dir)
			c.path(filepath.Join(dir, hostile))
			c.duplicateIDs()
			c.print(format.summary(c.summary))
			if c.summary.Errors < 6 || !utf8.Valid(out.Bytes()) {
				t.Errorf("%d errors in %q", c.summary.Errors, out.String())
			}
			wantEscaped(t, out.String(), hostile)
			for line := range strings.Lines(out.String()) {
				if name == "json" && !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
		})
	}
}

// wantEscaped checks that nothing of the hostile text is printed as it is.
func wantEscaped(t *testing.T, out, hostile string) {
	t.Helper()
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) || strings.ContainsRune(hostile, r)) {
			t.Errorf("%U is printed as it is", r)
		}
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, ".md") {
			t.Errorf("a name goes on in a new line: %q", line)
		}
	}
	if want := fmt.Sprintf(`\u%04x`, 0x202e); !strings.Contains(out, want) {
		t.Errorf("%s is not shown", want)
	}
}
