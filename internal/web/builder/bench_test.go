package builder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/web/builder"
)

// BenchmarkClick is a click on a form of 100 questions, and its cards.
func BenchmarkClick(b *testing.B) {
	var text strings.Builder
	text.WriteString("form: f\nfields:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "  - id: q%d\n    type: radio\n    label: Question %d\n    options: [a, b, c, {value: d, label: D}]\n", i, i)
		if i > 0 {
			fmt.Fprintf(&text, "    showIf: {field: q%d, equals: a}\n", i-1)
		}
	}
	c := known(text.String())
	form, err := builder.Read(builder.Result{Text: text.String(), Open: "50"}, c)
	if err != nil {
		b.Fatal(err)
	}
	sent := echo(form)
	sent.Set("q-label", "Another label")
	for b.Loop() {
		result, _ := builder.Do(text.String(), "down:50", sent, c)
		if _, err := builder.Read(result, c); err != nil || result.At != "51" {
			b.Fatal(err, result.Notice)
		}
	}
}
