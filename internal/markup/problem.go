package markup

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Severity tells what a problem does to the form it stands in.
type Severity int

// An Error keeps the form, or the page, from being used. A Warning says that
// the form will not do what its author seems to want.
const (
	Error Severity = iota + 1
	Warning
)

func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "severity " + strconv.Itoa(int(s))
	}
}

// Problem is something wrong at a position on the page.
type Problem struct {
	Line, Column int // from 1; columns count characters
	Severity     Severity
	Message      string
	Hint         string // what would be right; may be ""
}

// note is a problem that still knows its offset. Offsets become lines and
// columns at the end, for the problems that are listed and no others.
type note struct {
	at       int
	severity Severity
	message  string
	hint     string
}

// reader holds a page's text and what was found wrong with it.
type reader struct {
	src        []byte // line ends are \n, whatever the file has
	body       int    // offset of what follows the front matter
	notes      []note
	unlisted   Severity // the gravest of the problems beyond MaxProblems, 0 for none
	unreadable bool
	defined    int // bytes of the forms' definitions
}

func newReader(src []byte) *reader {
	if len(src) > MaxPageBytes {
		src = nil // check refuses it; no need to copy it before
	}
	if bytes.IndexByte(src, '\r') >= 0 {
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
		src = bytes.ReplaceAll(src, []byte("\r"), []byte("\n"))
	}
	// Without spare capacity, appending to a part of the page can't write into
	// the caller's buffer.
	return &reader{src: slices.Clip(src)}
}

// check refuses pages that no parser should see.
func (p *reader) check(size int) bool {
	if size > MaxPageBytes {
		p.refuse(0, "split it into several pages", "page of %d bytes, more than the %d allowed", size, MaxPageBytes)
		return false
	}
	for at := 0; at < len(p.src); {
		r, n := utf8.DecodeRune(p.src[at:])
		if r == utf8.RuneError && n == 1 {
			p.refuse(at, "save the page as UTF-8", "invalid UTF-8: byte 0x%02x", p.src[at])
			return false
		}
		at += n
	}
	return true
}

// refuse reports an error that makes the whole page unreadable.
func (p *reader) refuse(at int, hint, format string, args ...any) {
	p.unreadable = true
	p.report(at, Error, hint, format, args...)
}

func (p *reader) report(at int, severity Severity, hint, format string, args ...any) {
	if p.full() {
		if p.unlisted != Error {
			p.unlisted = severity
		}
		return
	}
	p.notes = append(p.notes, note{at, severity, fmt.Sprintf(format, args...), hint})
}

func (p *reader) full() bool { return len(p.notes) >= MaxProblems }

// sorted returns the problems by line and column.
func (p *reader) sorted() []Problem {
	if p.unlisted != 0 {
		p.notes = append(p.notes, note{len(p.src), p.unlisted, "too many problems: the others are not listed", ""})
	}
	slices.SortStableFunc(p.notes, func(a, b note) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.severity, b.severity))
	})
	var problems []Problem
	for _, n := range p.notes {
		line, column := p.position(n.at)
		problems = append(problems, Problem{line, column, n.severity, n.message, n.hint})
	}
	return problems
}

// position turns an offset into line and column. Counting anew for each
// problem is cheaper than an index that most pages have no use for.
func (p *reader) position(at int) (line, column int) {
	before := p.src[:min(at, len(p.src))]
	start := bytes.LastIndexByte(before, '\n') + 1
	if start == 0 && bytes.HasPrefix(before, []byte(byteOrderMark)) {
		start = len(byteOrderMark) // no editor shows it
	}
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

func (p *reader) line(at int) int {
	line, _ := p.position(at)
	return line
}

// spot is a position in the text of a block: line and column from 1 for YAML,
// an offset into the page in col for macros. It is converted to an offset only
// for a problem that is reported, since that reads the text again.
type spot struct{ line, col int }

// block reports the problems of one block, whose positions are spots.
type block struct {
	*reader
	offsetOf func(spot) int // offset in the page
	failed   bool
	reported map[finding]bool
	lines    map[spot]int // that messages have named
}

// finding is a message at a spot. The target of an alias is read as often as the
// alias is used, but each finding is reported once.
type finding struct {
	at      spot
	message string
}

func (b *block) errorf(at spot, hint, format string, args ...any) {
	b.failed = true
	b.add(at, Error, hint, fmt.Sprintf(format, args...))
}

func (b *block) warnf(at spot, hint, format string, args ...any) {
	b.add(at, Warning, hint, fmt.Sprintf(format, args...))
}

func (b *block) add(at spot, severity Severity, hint, message string) {
	if b.reported == nil {
		b.reported = map[finding]bool{}
	}
	switch r := (finding{at, message}); {
	case b.reported[r]:
	case b.full():
		b.report(0, severity, hint, "%s", message) // counted, not listed: its offset does not matter
	default:
		b.reported[r] = true
		b.report(b.offsetOf(at), severity, hint, "%s", message)
	}
}

// lineOf returns the line of a spot that a message refers to. It is cached: if
// a field is repeated a thousand times, as many messages refer to the first.
func (b *block) lineOf(at spot) int {
	if b.full() {
		return 0 // the message will not be listed
	}
	line, known := b.lines[at]
	if !known {
		line = b.line(b.offsetOf(at))
		if b.lines == nil {
			b.lines = map[spot]int{}
		}
		b.lines[at] = line
	}
	return line
}

const quotedRunes = 60

// quote makes author's text fit for a message: short, on one line, and with
// invisible characters shown.
func quote(s string) string {
	n := 0
	for i := range s {
		if n++; n > quotedRunes {
			return strconv.Quote(s[:i] + "…")
		}
	}
	return strconv.Quote(s)
}

// oneOf is the hint that lists what may be written.
func oneOf[T ~string](words []T) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	if len(list) == 1 {
		return "use " + list[0]
	}
	return "use one of " + strings.Join(list, ", ")
}
