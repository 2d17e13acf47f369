package markup

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rewrite replaces what a pattern matches.
type rewrite struct {
	pattern     *regexp.Regexp
	replacement string
}

func rewriteAll(s string, list []rewrite) string {
	for _, r := range list {
		s = r.pattern.ReplaceAllString(s, r.replacement)
	}
	return s
}

const (
	omitted   = "…"      // replaces a template
	breakMark = "\uE000" // replaces a line break while a text is escaped

	wikiNoText = `(?:ref|gallery|math|syntaxhighlight|source|pre)`    // elements
	wikiWhole  = `((?:[^<]|<br/>|<a [^>]*>[^<]*</a>|<b>[^<]*</b>)+?)` // a text with whole elements in it
)

var (
	// wikiOmissions leave out what is no plain text. What is never closed ends with the
	// text: to search for the end of each would take too long.
	wikiOmissions = []rewrite{
		{regexp.MustCompile(`(?is)<!--.*?(?:-->|\z)|` +
			`<` + wikiNoText + `(?:\s[^<>]*)?(?:/>|>.*?(?:</` + wikiNoText + `>|\z))|__[A-Z]+__`), ""},
		{regexp.MustCompile(`(?ms)^[ \t:]*\{\|.*?(?:^[ \t]*\|\}|\z)`), "\n"},
		{regexp.MustCompile(`(?i)<br\s*/?>`), breakMark},
		{regexp.MustCompile(`</?[a-zA-Z][^<>]*>`), ""},
	}
	wikiTemplate = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	wikiEscapes  = strings.NewReplacer("<", "&lt;", ">", "&gt;", `"`, "&#34;", breakMark, "<br/>")
	wikiHeading  = regexp.MustCompile(`^(={1,6})\s*(.*?[^\s=].*?)\s*={1,6}$`)
	// wikiInlines make elements of links and of bold and italic parts.
	wikiInlines = []rewrite{
		{regexp.MustCompile(`(?i)\[\[\s*(?:file|image|media|category|datei|bild|kategorie)\s*:[^\[\]]*\]\]`), ""},
		{regexp.MustCompile(`\[\[(?:[^\[\]]*\|)?\s*:?([^\[\]|]+)\]\]`), "$1"},
		{regexp.MustCompile(`\[(https?://[^\s\]]+)\]`), `<a href="$1">$1</a>`},
		{regexp.MustCompile(`\[(https?://[^\s\]]+) ([^\[\]]+)\]`), `<a href="$1">$2</a>`},
		{regexp.MustCompile(`(^|[\s(])(https?://[^\s<>\[\]]*[^\s<>\[\].,;:!?)])`), `$1<a href="$2">$2</a>`},
		{regexp.MustCompile(`'''''` + wikiWhole + `'''''`), `<b><i>$1</i></b>`},
		{regexp.MustCompile(`'''` + wikiWhole + `'''`), `<b>$1</b>`},
		{regexp.MustCompile(`''` + wikiWhole + `''`), `<i>$1</i>`},
		{regexp.MustCompile(`''+`), ""}, // not closed, or crossing another
	}
)

// wikiWriter writes storage format.
type wikiWriter struct {
	strings.Builder
	open []string // what closes the open paragraph, or the open lists
}

// wikiToStorage translates the plain part of wikitext to storage format.
func wikiToStorage(s string) string {
	const nesting = 10
	w := &wikiWriter{}
	for range nesting {
		s = wikiTemplate.ReplaceAllString(s, omitted)
	}
	for line := range strings.Lines(rewriteAll(s, wikiOmissions)) {
		line = rewriteAll(wikiEscapes.Replace(strings.TrimSpace(line)), wikiInlines)
		w.line(line, strings.TrimLeft(line, "*#:;"))
	}
	w.close(0)
	return w.String()
}

func (w *wikiWriter) line(line, content string) {
	heading := wikiHeading.FindStringSubmatch(line)
	prefix := strings.Trim(line[:len(line)-len(content)], ":;")
	inParagraph := slices.Contains(w.open, "</p>")
	switch {
	case strings.Trim(content, omitted+" ") == "", strings.HasPrefix(line, "----"), line[0] == '|', line[0] == '!':
		w.close(0)
	case heading != nil:
		w.close(0)
		tag := "h" + strconv.Itoa(len(heading[1])) + ">"
		w.WriteString("<" + tag + heading[2] + "</" + tag)
	case inParagraph && content == line:
		w.WriteString("\n" + line)
	case prefix != "":
		if inParagraph {
			w.close(0)
		}
		w.item(prefix)
		w.WriteString(strings.TrimSpace(content))
	default:
		w.close(0)
		w.begin("<p>"+strings.TrimSpace(content), "</p>")
	}
}

func (w *wikiWriter) begin(tags, closing string) {
	w.WriteString(tags)
	w.open = append(w.open, closing)
}

// close closes open elements until depth are left.
func (w *wikiWriter) close(depth int) {
	for len(w.open) > depth {
		w.WriteString(w.open[len(w.open)-1])
		w.open = w.open[:len(w.open)-1]
	}
}

// item begins an item of a list, which is one level deeper than the one before at most.
func (w *wikiWriter) item(prefix string) {
	depth, tag := min(len(prefix), len(w.open)+1), "ul>"
	if prefix[depth-1] == '#' {
		tag = "ol>"
	}
	w.close(depth)
	if len(w.open) == depth && w.open[depth-1] == "</li></"+tag {
		w.WriteString("</li><li>")
		return
	}
	w.close(depth - 1)
	w.begin("<"+tag+"<li>", "</li></"+tag)
}
