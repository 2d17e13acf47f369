package table

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
)

// CSV writes a table as RFC 4180 has it, in UTF-8. Its methods append to dst.
type CSV struct {
	columns *Columns
	opts    Options
	text    []byte // of a value that had to be decoded; reused
	guarded []byte // a value with its apostrophes; reused
}

// NewCSV ends the first pass and begins a table.
func NewCSV(columns *Columns, opts Options) (*CSV, error) {
	return &CSV{columns: columns, opts: opts}, columns.fix()
}

// Begin writes the header.
func (w *CSV) Begin(dst []byte) ([]byte, error) {
	if w.opts.BOM {
		dst = append(dst, "\ufeff"...)
	}
	for i, name := range w.columns.header(w.opts.Labels) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.appendText(dst, []byte(name))
	}
	return append(dst, "\r\n"...), nil
}

// Row writes a submission.
func (w *CSV) Row(dst []byte, sub forms.Submission) ([]byte, error) {
	if err := w.columns.read(sub); err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(dst, sub.ID, 10)
	dst = append(forms.AppendTime(append(dst, ','), sub.Created), "Z,"...)
	w.text = append(w.text[:0], sub.Username...)
	dst = w.appendText(dst, w.text)
	for _, v := range w.columns.values {
		text, err := decode(v, &w.text)
		if err != nil {
			return dst, err
		}
		dst = w.appendText(append(dst, ','), text)
	}
	return append(dst, "\r\n"...), nil
}

// End writes nothing: a table in CSV just ends.
func (w *CSV) End(dst []byte) ([]byte, error) { return dst, nil }

// appendText appends a value, in quotes where it needs them. An apostrophe
// goes before what a spreadsheet would run as a formula.
func (w *CSV) appendText(dst, text []byte) []byte {
	if !w.opts.NoGuard {
		text = w.guard(text)
	}
	if !needsQuotes(text) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	start := 0
	for i, b := range text {
		if b == '"' {
			dst = append(append(dst, text[start:i+1]...), '"')
			start = i + 1
		}
	}
	return append(append(dst, text[start:]...), '"')
}

// cellBreaks begin another cell in some spreadsheets: ";" where it separates
// columns, as in many European regions, the others when text is pasted.
const cellBreaks = ";\t\r\n"

// guard puts an apostrophe before each formula: at the beginning of the text, and
// after a cell break. The result is valid until the next call.
func (w *CSV) guard(text []byte) []byte {
	w.guarded = w.guarded[:0]
	start := 0
	if len(text) > 0 && (text[0] == '\t' || text[0] == '\r') {
		w.guarded = append(w.guarded, '\'')
	}
	for at := 0; at < len(text); {
		end := bytes.IndexAny(text[at:], cellBreaks)
		if end < 0 {
			end = len(text) - at
		}
		if runnable(text[at : at+end]) {
			w.guarded = append(append(w.guarded, text[start:at]...), '\'')
			start = at
		}
		at += end + 1
	}
	if len(w.guarded) == 0 {
		return text
	}
	return append(w.guarded, text[start:]...)
}

// quotedBytes is a table because every byte of every value is looked up.
var quotedBytes = [256]bool{',': true, '"': true, '\r': true, '\n': true}

// needsQuotes is true of spaces at an end, too: not every reader keeps them
// otherwise.
func needsQuotes(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	for _, b := range text {
		if quotedBytes[b] {
			return true
		}
	}
	return isBlank(text[0]) || isBlank(text[len(text)-1])
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// runnable reports whether a spreadsheet may take the text for a formula. A
// plain decimal is none.
func runnable(text []byte) bool {
	switch sign, _ := utf8.DecodeRune(text); sign {
	case '=', '+', '@', '＝', '＋', '－', '＠':
		return true
	case '-':
		return !forms.IsDecimal(string(text))
	default:
		return false
	}
}
