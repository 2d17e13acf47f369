package markup

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formulary/formulary/internal/testkit"
)

var update = flag.Bool("update", false, "write the parser's results into the txtar cases")

var leadingNumber = regexp.MustCompile(`^[0-9]+`)

// TestCases runs testdata/*.txtar: pages, each followed by a file of the same
// name with ".want" that holds the expected result.
func TestCases(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { runArchive(t, name) })
	}
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
		page := parseFile(t, f)
		checkPage(t, page)
		got := dump(page)
		if diff := cmp.Diff(want[f.Name+".want"], got); diff != "" && !*update {
			t.Errorf("%s: (-want +got):\n%s", f.Name, diff)
		}
		fresh.Files = append(fresh.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(got)})
	}
	if *update {
		testkit.Must(t, os.WriteFile(name, txtar.Format(fresh), 0o644))
	}
}

// parseFile parses a page. Its name begins with its id. Some characters are
// invisible in an archive, or get lost: pages write them as ⟨nbsp⟩ and the like.
func parseFile(t *testing.T, f txtar.File) Page {
	t.Helper()
	format, ok := FormatOf(f.Name)
	if !ok {
		t.Fatalf("%s has no format", f.Name)
	}
	id, _ := strconv.ParseInt(leadingNumber.FindString(f.Name), 10, 64)
	return read(format, id, []byte(visible.Replace(string(f.Data))))
}

// read is Parse without the recovery from panics.
func read(format Format, nameID int64, src []byte) (page Page) {
	page.read(format, nameID, src, nil, nil)
	return page
}

var visible = strings.NewReplacer(
	"⟨nbsp⟩", "\u00a0", "⟨tab⟩", "\t", "⟨cr⟩", "\r", "⟨nul⟩", "\x00", "⟨bom⟩", "\ufeff", "⟨ls⟩", "\u2028", "⟨nel⟩", "\u0085", "⟨bad⟩", "\xff", "⟨zwsp⟩", "\u200b",
)

// The example of the documentation is the same form in every format. TestCases
// compares each page with what is expected of it.
func TestFormatsAgree(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/example.txtar")
	testkit.Must(t, err)
	want, pages := string(archive.Files[1].Data), 0
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".want") {
			pages++
			testkit.Diff(t, f.Name, string(f.Data), want)
		}
	}
	testkit.Same(t, "pages", pages, 5)
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{
		"123.md": Markdown, "123-team.MD": Markdown, "a/b/1.xml": Confluence, "1.Wiki": Wikitext,
		"1.markdown": Markdown, "1.xhtml": Confluence, "1.WikiText": Wikitext, "1.mediawiki": Wikitext,
		"1.txt": 0, "md": 0, "1.md.bak": 0, "": 0, "1.html": 0,
	} {
		got, ok := FormatOf(name)
		if got != want || ok != (want != 0) {
			t.Errorf("FormatOf(%q) = %v, %v; want %v", name, got, ok, want)
		}
	}
}
