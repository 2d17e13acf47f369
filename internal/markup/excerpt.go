package markup

import (
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	byteOrderMark = "\ufeff"
	noBreakSpace  = "\u00a0"
)

// excerpt is text that was cut out of a page: freed of indentation, entities
// and the like, it still knows where each character came from.
type excerpt struct {
	text  string
	marks []mark // by at
}

// mark maps the text from offset at on, up to the next mark, to offset src of the page.
type mark struct{ at, src int }

// cutter puts an excerpt together.
type cutter struct {
	text  strings.Builder
	marks []mark
}

// add appends text that stands at src on the page. What is beyond the limit
// of a block is left out, bar the little that shows that it is too long.
func (c *cutter) add(text string, src int) {
	if c.full() {
		return
	}
	if last := len(c.marks) - 1; last < 0 || c.marks[last].src-c.marks[last].at != src-c.text.Len() {
		c.marks = append(c.marks, mark{c.text.Len(), src})
	}
	if room := MaxBlockBytes + utf8.UTFMax - c.text.Len(); len(text) > room {
		text = strings.ToValidUTF8(text[:room], "")
	}
	c.text.WriteString(text)
}

func (c *cutter) full() bool { return c.text.Len() > MaxBlockBytes }

func (c *cutter) excerpt() *excerpt { return &excerpt{c.text.String(), c.marks} }

// pageOffset returns the offset on the page of the byte at the given offset of the text.
func (e *excerpt) pageOffset(at int) int {
	i := sort.Search(len(e.marks), func(i int) bool { return e.marks[i].at > at }) - 1
	if i < 0 {
		return 0
	}
	return e.marks[i].src + at - e.marks[i].at
}

// offsetOf returns the page offset of a line and column of the text; of the
// line's end when the column is beyond it.
func (e *excerpt) offsetOf(s spot) int {
	at := 0
	for range s.line - 1 {
		next := strings.IndexByte(e.text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	for range s.col - 1 {
		r, n := utf8.DecodeRuneInString(e.text[at:])
		if n == 0 || r == '\n' {
			break
		}
		at += n
	}
	return e.pageOffset(at)
}

// from returns the excerpt without its first n bytes.
func (e *excerpt) from(n int) *excerpt {
	rest := &excerpt{text: e.text[n:], marks: []mark{{0, e.pageOffset(n)}}}
	for _, m := range e.marks {
		if m.at > n {
			rest.marks = append(rest.marks, mark{m.at - n, m.src})
		}
	}
	return rest
}

// spaced writes no-break spaces as plain ones: editors insert them unasked, and
// they are invisible. Other characters that YAML takes for line ends are
// spaces, too, so that lines stay what the page's author sees as lines. It
// replaces rune by rune: columns stay right.
var spaced = strings.NewReplacer(noBreakSpace, " ", "\u0085", " ", "\u2028", " ", "\u2029", " ", "\r", " ")

// isPrintable tells which characters YAML takes as they stand.
func isPrintable(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return true
	case r < ' ', 0x7f <= r && r < 0xa0:
		return false
	default:
		return r != '\u2028' && r != '\u2029' && r != '\ufeff' && r != '\ufffe' && r != '\uffff'
	}
}

// blockText returns the text for the YAML parser, and the excerpt that its
// lines and columns belong to. A block that begins right behind its opening
// tag may have a first line whose indentation says nothing about the others.
func blockText(e *excerpt) (*excerpt, string) {
	lead := len(e.text) - len(strings.TrimLeft(e.text, blanks))
	if lead > 0 && dedents(e.text[lead:], utf8.RuneCountInString(e.text[:lead])) {
		e = e.from(lead)
	}
	return e, spaced.Replace(e.text)
}

const blanks = " \t" + noBreakSpace

// dedents reports whether a line after the first is indented less than that.
func dedents(text string, indent int) bool {
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		content := strings.TrimLeft(line, blanks)
		if content != "" && content != "\n" && utf8.RuneCountInString(line)-utf8.RuneCountInString(content) < indent {
			return true
		}
	}
	return false
}
