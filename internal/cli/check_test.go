package cli

import (
	"strings"
	"testing"
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
		if text != tt.text {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.text)
		}
		if runes := []rune(text); len(caret) >= len(runes) || runes[len(caret)] != '!' {
			t.Errorf("%s: the caret is not below the column:\n%s\n%s^", tt.name, text, caret)
		}
	}
	if text, caret := excerpt(x(200), 201); text != "…"+x(99) || len(caret) != 100 {
		t.Errorf("behind the end: got\n%s\n%s^", text, caret)
	}
	if text, caret := excerpt("\ta\x1b!", 4); text != "\ta\uFFFD!" || caret != "\t  " {
		t.Errorf("tab and escape: got %q, %q", text, caret)
	}
}
