package markup

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// TestFormsPage holds docs/forms.md against the parser: the page is one that has
// forms itself, and it has a row for every key, type, validation and operator.
func TestFormsPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/forms.md")
	testkit.Must(t, err)
	page := Parse(Markdown, 1, text, nil)
	for _, p := range page.Diagnostics {
		t.Errorf("line %d: %s; %s", p.Line, p.Message, p.Hint)
	}
	testkit.Same(t, "forms", len(page.Blocks), 12)
	var rows []string
	for line := range strings.Lines(string(text)) {
		if name, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |"); row {
			for _, word := range strings.Split(name, ", ") {
				rows = append(rows, strings.TrimSuffix(strings.Trim(word, "`"), ": true"))
			}
		}
	}
	for _, key := range metaKeys {
		testkit.Contains(t, key, string(text), "\n"+key+": ")
	}
	for _, word := range words() {
		if !slices.Contains(rows, word) {
			t.Errorf("no row for %q", word)
		}
	}
}

func words() []string {
	words := forms.Names(forms.Operators)
	words = slices.Concat(words, formKeys, fieldKeys, optionKeys, sectionKeys)
	for _, v := range forms.FieldTypes {
		words = append(words, string(v))
	}
	for _, v := range forms.Validations {
		words = append(words, string(v))
	}
	return words
}
