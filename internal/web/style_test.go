package web

import (
	"regexp"
	"strings"
	"testing"
)

// maxStyle is the size of all stylesheets together, compressed.
const maxStyle = 12_000

// Spaces, sizes and weights of text, colours and breakpoints come from tokens.css.
func TestStylesUseTokens(t *testing.T) {
	space := `(0|auto|-1px|1px|var\(--[a-z0-9]+\)|calc\(-1 \* var\(--[a-z0-9]+\)\)|(calc|max)\([^;]*var\(--[^;]*\))`
	rules := []struct {
		what, property, value string // expressions for the name and for the values that it may have
	}{
		{"a space", `(margin|padding|gap|row-gap|column-gap)(-(block|inline|top|bottom)(-(start|end))?)?`, space + `( ` + space + `)*`},
		{"a size of text", `font-size`, `(var\(--(small|text|large|title)\)|inherit|0\.9em|max\(1rem, 16px\))`},
		{"a weight", `font-weight`, `var\(--(plain|bold)\)`},
		{"a radius", `border(-[a-z]+)*-radius`, `(0|50%|inherit|var\(--(radius|round)\))`},
	}
	colour := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|(rgb|hsl|oklch)a?\(|:[^;]*\b(black|white)\b[^-][^;]*;`)
	width := regexp.MustCompile(`\((?:min-width|max-width|width)[^)]*?([0-9.]+rem)\)`)
	comments := regexp.MustCompile(`(?s)/\*.*?\*/`)
	declaration := regexp.MustCompile(`([a-z-]+):\s*([^;{}]+);`)
	var all strings.Builder
	for _, name := range stylesheets {
		text := string(readStatic(name))
		all.WriteString(text)
		if name == "tokens.css" {
			continue
		}
		text = comments.ReplaceAllString(text, "")
		for _, found := range colour.FindAllString(text, -1) {
			t.Errorf("%s has a colour of its own: %s", name, found)
		}
		for _, found := range width.FindAllStringSubmatch(text, -1) {
			if found[1] != "40rem" && found[1] != "60rem" && !strings.Contains(found[0], "36rem") {
				t.Errorf("%s has a breakpoint of its own: %s", name, found[0])
			}
		}
		if name == "print.css" {
			continue // paper has sizes of its own
		}
		for _, d := range declaration.FindAllStringSubmatch(text, -1) {
			for _, rule := range rules {
				value := strings.TrimSuffix(strings.TrimSpace(d[2]), " !important")
				if regexp.MustCompile("^"+rule.property+"$").MatchString(d[1]) && !regexp.MustCompile("^"+rule.value+"$").MatchString(value) {
					t.Errorf("%s has %s of its own: %s", name, rule.what, d[0])
				}
			}
		}
	}
	if size := compressed(all.String()); size > maxStyle {
		t.Errorf("the stylesheets have %d bytes, more than %d", size, maxStyle)
	}
}
