package pagehtml

import (
	"fmt"
	"strings"
)

// hostile makes texts of about n bytes that are hard to parse.
var hostile = map[string]func(n int) string{
	"backticks": func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i) + "a")
		}
		return b.String()[:n]
	},
	"quotes in quotes": func(n int) string { return strings.Repeat(strings.Repeat(">", 90)+"a\n", n/92) },
	"lists in lists": func(n int) string {
		return numbered(n, func(i int) string { return strings.Repeat(" ", 2*(i%45)) + "- a\n" })
	},
	"definitions": func(n int) string { return numbered(n, func(i int) string { return fmt.Sprintf("[%d]: /a\n", i) }) },
	"definitions apart": func(n int) string {
		return numbered(n, func(i int) string { return fmt.Sprintf("[%d]: /a\n\n", i) })
	},
	"headings": func(n int) string {
		return numbered(n, func(i int) string { return fmt.Sprintf("# a-%d\n# a\n", i/2) })
	},
	"references":             func(n int) string { return "[a]: /u\n\n" + strings.Repeat("[a]", n/3) },
	"brackets":               func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"links in links":         func(n int) string { return strings.Repeat("[", n/5) + "a" + strings.Repeat("](u)", n/5) },
	"images in images":       func(n int) string { return strings.Repeat("![", n/6) + "a" + strings.Repeat("](u)", n/6) },
	"columns":                func(n int) string { return tableOf(n/6) + strings.Repeat("|a", n/6) },
	"columns by rows":        func(n int) string { return tableOf(n/12) + strings.Repeat("|\n", n/3) },
	"500 columns":            func(n int) string { return tableOf(500) + strings.Repeat("|\n", n/2-1000) },
	"15 columns":             func(n int) string { return tableOf(15) + strings.Repeat("|\n", n/2-100) },
	"escaped pipes":          func(n int) string { return "|a|\n|-|\n|" + strings.Repeat("`\\|`", n/4) },
	"escaped cells":          func(n int) string { return "|a|\n|-|\n" + strings.Repeat("|`\\|`\n", n/6) },
	"emphasis":               func(n int) string { return strings.Repeat("*a ", n/5) + strings.Repeat("b*", n/5) },
	"long heading":           func(n int) string { return "# " + strings.Repeat("*a_", n/3) },
	"long address":           func(n int) string { return "www.a.b/" + strings.Repeat(")", n) },
	"entities in an address": func(n int) string { return "http://a.b/" + strings.Repeat("&a;", n/3) },
	"spaces":                 func(n int) string { return "a" + strings.Repeat(" ", n) + "b" },
	"paragraphs":             repeat(strings.Repeat("*a_[", 100) + "\n\n"),
	"short paragraphs":       repeat(strings.Repeat("[a](", 20) + "\n\n"),
}

func init() {
	for _, s := range []string{
		"[", "![", "](", "[a](", "[a](<b", "[a](b \"", "*a_", "*a ", "a**b", "**a *b ", "_", "*", "a*", "~~a ", "~a~~", "`a ``b ",
		"<", "<a ", "<!--", "x<!--", "x<?", "x<![CDATA[", "x<!A ", "x<a href=\"", "<http:", "&a", "&#1", "\\", "\\\n",
		"http://a.b/(", "www.", "a@", "a.a@a.a", "a", "http:// ", "a.", "(http://a.b", " a@b.c", "_www.a.b", "*http://a.b*",
		"> a\n", "- a\n", "* a\n\n", "a\n", "\n", "# a\n", "a\n=\n", "[a]: /u \"a\n", "[a]: /u 'a\n\n", "[\n", "[a]: \n", "[a]:\n\n",
		"\t", "```\n", "~~~ form\na\n~~~\n", "```form\nform: a\n```\n", "<div>\n", "<div>\n\n", "<script>\n\n", "- [ ] ", "- [x] a\n", "|", "|-|\n", "|a\n|-\n", "a|b\n-|-\n\n",
		"***a** b* ", "*a\n", "`\n", "<b\n", "![a](b)", "[a](b) ", "http://a.b ", "**a** ", "a  \n", "1. a\n", "---\n", "[a]: <", "é*", "\x01",
	} {
		hostile[s] = repeat(s)
	}
}

func repeat(s string) func(n int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)) }
}

func numbered(n int, line func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(line(i))
	}
	return b.String()[:n]
}

// tableOf is the head of a table.
func tableOf(columns int) string {
	return strings.Repeat("|a", columns) + "\n" + strings.Repeat("|-", columns) + "\n"
}
