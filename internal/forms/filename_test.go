package forms

import (
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/testkit"
)

func TestCleanFileName(t *testing.T) {
	long := strings.Repeat("é", 500)
	for sent, want := range map[string]string{
		"report.pdf":                    "report.pdf",
		"Übersicht 2026.xlsx":           "Übersicht 2026.xlsx",
		"../../x":                       "x",
		"/etc/passwd":                   "passwd",
		`C:\Users\ann\plan.docx`:        "plan.docx",
		`a/b\c.txt`:                     "c.txt",
		"folder/":                       "folder",
		`\\server\share\`:               "share",
		"a;b.txt":                       "a_b.txt",
		"a\x00b\r\nc\x7f.txt":           "a_b__c_.txt",
		"annexe\u202efdp.exe":           "annexe_fdp.exe",
		"line\u2028.txt":                "line_.txt",
		"\xff\xfe.bin":                  "_.bin",
		"":                              "file",
		".":                             "file",
		"..":                            "file",
		"/..":                           "file",
		"  ":                            "file",
		"///":                           "file",
		"...":                           "...",
		".gitignore":                    ".gitignore",
		" padded.txt ":                  "padded.txt",
		"CON":                           "CON",
		"emoji 👩‍👩‍👧.png":               "emoji 👩‍👩‍👧.png",
		long + ".pdf":                   strings.Repeat("é", 125) + ".pdf",
		strings.Repeat("x", 1000):       strings.Repeat("x", MaxFileName),
		"a." + strings.Repeat("x", 999): "a." + strings.Repeat("x", MaxFileName-2),
	} {
		testkit.Same(t, sent, CleanFileName(sent), want)
	}
}

func TestUniqueFileName(t *testing.T) {
	taken := map[string]bool{}
	longest := strings.Repeat("x", MaxFileName-len(".pdf")) + ".pdf"
	for _, step := range [][2]string{
		{"a.pdf", "a.pdf"},
		{"a.pdf", "a (2).pdf"},
		{"a.pdf", "a (3).pdf"},
		{"a (2).pdf", "a (2) (2).pdf"},
		{"A.pdf", "A.pdf"},
		{".profile", ".profile"},
		{".profile", ".profile (2)"},
		{longest, longest},
		{longest, strings.Repeat("x", MaxFileName-len(" (2).pdf")) + " (2).pdf"},
	} {
		got := UniqueFileName(step[0], func(name string) bool { return taken[name] })
		testkit.Same(t, step[0], got, step[1])
		taken[got] = true
	}
}

// Whatever is sent, the name can stand in a value and in a path, and is not
// changed when it is sent again.
func TestCleanFileNameProperties(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", ".", "..", "/", `\`, ";", "\x00", "\n", " ", "é", "\xff", "\u202e", ".pdf", strings.Repeat("y", 200)})
	rapid.Check(t, func(t *rapid.T) {
		sent := strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces"), "") + rapid.String().Draw(t, "end")
		name := CleanFileName(sent)
		switch {
		case name == "" || name == "." || name == "..", len(name) > MaxFileName, !utf8.ValidString(name):
			t.Fatalf("%q becomes %q", sent, name)
		case strings.ContainsAny(name, `;/\`), strings.ContainsFunc(name, unicode.IsControl):
			t.Fatalf("%q becomes %q, which has a forbidden character", sent, name)
		case CleanFileName(name) != name:
			t.Fatalf("%q becomes %q, and then %q", sent, name, CleanFileName(name))
		}
		second := UniqueFileName(name, func(n string) bool { return n == name })
		if second == name || len(second) > MaxFileName || !utf8.ValidString(second) {
			t.Fatalf("a second %q becomes %q", name, second)
		}
		if _, ext := splitExt(name); path.Ext(second) != ext && ext != "" {
			t.Fatalf("a second %q becomes %q", name, second)
		}
	})
}
