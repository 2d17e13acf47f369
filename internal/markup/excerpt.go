package markup

import (
	"html"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	byteOrderMark = "\ufeff"
	noBreakSpace  = "\u00a0"
)

// excerpt is a text from a page, without indentation, entities and the like. It is
// made piece by piece. Its marks are a source map: they give the page offset of
// each character.
type excerpt struct {
	builder strings.Builder
	marks   []mark // sorted by at
	end     int    // the page offset after the text
}

// mark maps offset at of the text to offset src of the page. It holds up to the
// next mark.
type mark struct{ at, src int }

func (e *excerpt) text() string { return e.builder.String() }

// add appends text whose page offset is src. Text beyond the limit of a block is
// left out, except for a few bytes that show that the block is too long.
func (e *excerpt) add(text string, src int) {
	if e.full() {
		return
	}
	if last := len(e.marks) - 1; last < 0 || e.marks[last].src-e.marks[last].at != src-e.builder.Len() {
		e.marks = append(e.marks, mark{e.builder.Len(), src})
	}
	if room := MaxBlockBytes + utf8.UTFMax - e.builder.Len(); len(text) > room {
		text = strings.ToValidUTF8(text[:room], "")
	}
	e.builder.WriteString(text)
	e.end = src + len(text)
}

// entity matches a character reference that ends in a semicolon, as MediaWiki and
// XML require: html.UnescapeString would find "sect" in "terms&sections".
var entity = regexp.MustCompile(`^&#?[0-9A-Za-z]{1,38};`)

// addUnescaped is add for a text with entities, which it replaces once.
func (e *excerpt) addUnescaped(text string, src int) {
	for !e.full() {
		amp := strings.IndexByte(text, '&')
		if amp < 0 {
			break
		}
		name := entity.FindString(text[amp:])
		char := html.UnescapeString(name)
		if name == "" || char != ";" && strings.HasSuffix(char, ";") { // unknown, or known only in part
			name, char = "&", "&"
		}
		e.add(text[:amp], src)
		e.add(char, src+amp)
		end := amp + len(name)
		text, src = text[end:], src+end
	}
	e.add(text, src)
}

func (e *excerpt) full() bool { return e.builder.Len() > MaxBlockBytes }

// pageOffset returns the offset on the page of the byte at the given offset of the text.
func (e *excerpt) pageOffset(at int) int {
	if at == e.builder.Len() {
		return e.end
	}
	i := sort.Search(len(e.marks), func(i int) bool { return e.marks[i].at > at }) - 1
	return e.marks[i].src + at - e.marks[i].at
}

// locator returns a function that gives the offset of a line and column of a text.
// A column beyond the line's end gives that end. It takes linear time in all if it
// is asked in the order of the text.
func locator(text string) func(line, column int) int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	line, column, at := 1, 1, 0
	return func(l, c int) int {
		l = min(max(l, 1), len(starts))
		if l != line || c < column {
			line, column, at = l, 1, starts[l-1]
		}
		for ; column < c; column++ {
			r, n := utf8.DecodeRuneInString(text[at:])
			if n == 0 || r == '\n' {
				break
			}
			at += n
		}
		return at
	}
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
