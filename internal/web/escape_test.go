package web

import (
	"html"
	"html/template"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzAppendEscaped holds the escaping of tables against that of templates.
func FuzzAppendEscaped(f *testing.F) {
	for _, seed := range []string{"", "plain", `<script>alert("x")</script>`, "a&b&amp;c", "'\"`=", "\x00", "\xff<\xfe", "\u202eabc", "é<ü>😀", "<!--table-->"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := string(appendEscaped([]byte("before "), text))
		if want := "before " + template.HTMLEscapeString(text); got != want {
			t.Errorf("appendEscaped(%q) = %q, want %q", text, got, want)
		}
		if same := string(appendEscaped([]byte("before "), []byte(text))); same != got {
			t.Errorf("as bytes: %q, as a string: %q", same, got)
		}
		if strings.ContainsAny(got, `<>"'`) {
			t.Errorf("appendEscaped(%q) = %q has characters of markup", text, got)
		}
		if back := html.UnescapeString(got); back != "before "+strings.ReplaceAll(text, "\x00", "\uFFFD") {
			t.Errorf("a browser reads %q, want %q", back, text)
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("héllo", 2)
	f.Add("😀😀", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || !utf8.ValidString(text) {
			return // callers have neither
		}
		short, all := cut(text, limit)
		if !utf8.ValidString(short) || len(short) > limit || !strings.HasPrefix(text, short) || all != (short == text) {
			t.Errorf("cut(%q, %d) = %q, %t", text, limit, short, all)
		}
		if len(text)-len(short) > 0 && limit-len(short) >= utf8.UTFMax {
			t.Errorf("cut(%q, %d) = %q cuts too much", text, limit, short)
		}
	})
}
