package markup

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/formulary/formulary/internal/forms"
)

// Severity is what a diagnostic means for the form that has it.
type Severity string

// An Error keeps the form, or the page, from being used. With a Warning
// the form is used, but probably does not do what its author wants.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is an error or a warning at a position on the page.
type Diagnostic struct {
	Line     int      `json:"line,omitempty"` // from 1, as columns, which count characters
	Column   int      `json:"column,omitempty"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // how to solve it
}

// reader reads one page. Positions are offsets in src.
type reader struct {
	src         []byte // line ends are \n, whatever the file has
	body        int    // offset of what follows a byte order mark and the front matter
	pageID      int64
	pageLang    string // see Meta.Lang
	server      *Options
	zone        *time.Location // of times without one
	diagnostics []offsetDiagnostic
	unlisted    Severity // the highest of the diagnostics beyond MaxDiagnostics, "" for none
	unreadable  bool
	failed      bool // an error was reported in the front matter, or in the block that is being read
	blocks      []Block
	found       []rawBlock     // all blocks, of which the first MaxForms were read
	formLines   map[string]int // by form id: the line of the first form with it
	translating bool           // the form was read before, in another language
	toldMissing bool           // that a text lacks a language of the form
	defined     int            // bytes of the forms' definitions
	tree        ast.Node       // of a Markdown page, with its inlines and tables; nil if they take too much work
}

// offsetDiagnostic is a Diagnostic whose Line and Column are not set yet.
type offsetDiagnostic struct {
	at int
	Diagnostic
}

func newReader(src []byte) *reader {
	if len(src) > MaxPageBytes {
		src = nil // check refuses it by its size
	}
	if bytes.IndexByte(src, '\r') >= 0 {
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
		src = bytes.ReplaceAll(src, []byte("\r"), []byte("\n"))
	}
	text := bytes.TrimPrefix(src, []byte(byteOrderMark))
	return &reader{src: src, body: len(src) - len(text), formLines: map[string]int{}}
}

// check refuses pages that are too large or not UTF-8.
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
	p.errorf(at, hint, format, args...)
}

func (p *reader) errorf(at int, hint, format string, args ...any) {
	p.failed = true
	p.report(at, Error, hint, format, args...)
}

func (p *reader) warnf(at int, hint, format string, args ...any) {
	if !p.translating { // else it was reported
		p.report(at, Warning, hint, format, args...)
	}
}

func (p *reader) report(at int, severity Severity, hint, format string, args ...any) {
	if !p.full() {
		d := Diagnostic{Severity: severity, Message: fmt.Sprintf(format, args...), Hint: hint}
		p.diagnostics = append(p.diagnostics, offsetDiagnostic{at, d})
	} else if p.unlisted != Error {
		p.unlisted = severity
	}
}

func (p *reader) full() bool { return len(p.diagnostics) >= MaxDiagnostics }

// sorted returns the diagnostics by line and column. The target of an alias is read
// each time the alias is used, but its diagnostics are listed once.
func (p *reader) sorted() []Diagnostic {
	if p.unlisted != "" {
		last := Diagnostic{Severity: p.unlisted, Message: "too many problems: the others are not listed"}
		p.diagnostics = append(p.diagnostics, offsetDiagnostic{len(p.src), last})
	}
	slices.SortStableFunc(p.diagnostics, func(a, b offsetDiagnostic) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Severity, b.Severity))
	})
	var diagnostics []Diagnostic
	for _, q := range slices.Compact(p.diagnostics) {
		q.Line, q.Column = p.position(q.at)
		diagnostics = append(diagnostics, q.Diagnostic)
	}
	return diagnostics
}

// position turns an offset into line and column. It counts lines for each
// diagnostic, since most pages have none and need no index of lines.
func (p *reader) position(at int) (line, column int) {
	before := p.src[:min(at, len(p.src))]
	start := bytes.LastIndexByte(before, '\n') + 1
	if start == 0 && bytes.HasPrefix(before, []byte(byteOrderMark)) {
		start = len(byteOrderMark) // editors don't show it
	}
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// line returns the line of an offset, for a message.
func (p *reader) line(at int) int {
	if p.full() {
		return 0 // the message will not be listed
	}
	line, _ := p.position(at)
	return line
}

const quotedRunes = 60

// quote prepares an author's text for a message: short, on one line, and with
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
	return "use one of " + strings.Join(forms.Names(words), ", ")
}
