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

// excerpt is a text from a page, without indentation, entities and the like. Its
// marks are a source map: they give the page offset of each character.
type excerpt struct {
	text  string
	marks []mark // sorted by at
	lines []int  // offsets of the lines in the text; nil until one is asked for
}

// mark maps offset at of the text to offset src of the page. It holds up to the
// next mark.
type mark struct{ at, src int }

// excerptBuilder makes an excerpt piece by piece.
type excerptBuilder struct {
	text  strings.Builder
	marks []mark
}

// add appends text whose page offset is src. Text beyond the limit of a block is
// left out, except for a few bytes that show that the block is too long.
func (b *excerptBuilder) add(text string, src int) {
	if b.full() {
		return
	}
	if last := len(b.marks) - 1; last < 0 || b.marks[last].src-b.marks[last].at != src-b.text.Len() {
		b.marks = append(b.marks, mark{b.text.Len(), src})
	}
	if room := MaxBlockBytes + utf8.UTFMax - b.text.Len(); len(text) > room {
		text = strings.ToValidUTF8(text[:room], "")
	}
	b.text.WriteString(text)
}

func (b *excerptBuilder) full() bool { return b.text.Len() > MaxBlockBytes }

func (b *excerptBuilder) excerpt() *excerpt { return &excerpt{text: b.text.String(), marks: b.marks} }

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
	if e.lines == nil {
		start := 0
		for line := range strings.Lines(e.text) {
			e.lines = append(e.lines, start)
			start += len(line)
		}
		e.lines = append(e.lines, start)
	}
	at := e.lines[min(max(s.line, 1), len(e.lines))-1]
	for range s.col - 1 {
		r, n := utf8.DecodeRuneInString(e.text[at:])
		if n == 0 || r == '\n' {
			break
		}
		at += n
	}
	return e.pageOffset(at)
}

// from returns the excerpt from byte n on.
func (e *excerpt) from(n int) *excerpt {
	rest := &excerpt{text: e.text[n:], marks: []mark{{0, e.pageOffset(n)}}}
	for _, m := range e.marks {
		if m.at > n {
			rest.marks = append(rest.marks, mark{m.at - n, m.src})
		}
	}
	return rest
}

// plainSpaces replaces no-break spaces, which look like spaces in an editor, by
// spaces. It does the same with characters that YAML takes for line ends but
// editors don't show as such. Each rune becomes one rune, so columns stay right.
var plainSpaces = strings.NewReplacer(noBreakSpace, " ", "\u0085", " ", "\u2028", " ", "\u2029", " ", "\r", " ")

// isPrintable reports whether YAML allows the character unescaped.
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
// lines and columns belong to. A block that begins right after its opening
// tag may have a first line that is indented further than the others: its
// indentation is then left out.
func blockText(e *excerpt) (*excerpt, string) {
	lead := len(e.text) - len(strings.TrimLeft(e.text, blanks))
	if lead > 0 && dedents(e.text[lead:], utf8.RuneCountInString(e.text[:lead])) {
		e = e.from(lead)
	}
	return e, plainSpaces.Replace(e.text)
}

const blanks = " \t" + noBreakSpace

// dedents reports whether a line after the first is indented less than indent.
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
