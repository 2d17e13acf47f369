package table

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
)

// CSV writes a table as RFC 4180 has it, in UTF-8. Its methods append to dst.
type CSV struct{ columns *Columns }

// NewCSV ends the first pass and begins a table.
func NewCSV(columns *Columns) *CSV {
	columns.fix()
	return &CSV{columns}
}

// Begin writes the header.
func (w *CSV) Begin(dst []byte) ([]byte, error) {
	if w.columns.opts.BOM {
		dst = append(dst, "\ufeff"...)
	}
	for i, name := range w.columns.header(w.columns.opts.Labels) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.appendText(dst, name)
	}
	return append(dst, "\r\n"...), nil
}

// Row writes a submission.
func (w *CSV) Row(dst []byte, sub forms.Submission) ([]byte, error) {
	if err := w.columns.read(sub); err != nil {
		return dst, err
	}
	for i, column := range w.columns.order {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case column >= w.columns.fields:
			text, err := w.columns.text(column - w.columns.fields)
			if err != nil {
				return dst, err
			}
			dst = w.appendText(dst, text)
		case column == idColumn:
			dst = strconv.AppendInt(dst, sub.ID, 10)
		case column == timeColumn:
			dst = w.columns.appendTime(dst, sub.Created)
		case column == nameColumn:
			dst = w.appendText(dst, sub.Username)
		case column == changedColumn:
			dst = w.columns.appendTime(dst, sub.Changed)
		}
	}
	return append(dst, "\r\n"...), nil
}

// End writes nothing: a table in CSV just ends.
func (w *CSV) End(dst []byte) ([]byte, error) { return dst, nil }

// appendText appends a value, in quotes where it needs them. An apostrophe
// goes before what a spreadsheet would run as a formula.
func (w *CSV) appendText(dst []byte, text string) []byte {
	if !w.columns.opts.NoGuard {
		text = guard(text)
	}
	if !needsQuotes(text) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// cellBreaks begin another cell in some spreadsheets: ";" where it separates
// columns, as in many European regions, the others when text is pasted.
const cellBreaks = ";\t\r\n"

// guard puts an apostrophe before each formula: at the beginning of the text, and
// after a cell break.
func guard(text string) string {
	var guarded []byte
	start := 0
	if text != "" && (text[0] == '\t' || text[0] == '\r') {
		guarded = append(guarded, '\'')
	}
	for at := 0; at < len(text); {
		end := strings.IndexAny(text[at:], cellBreaks)
		if end < 0 {
			end = len(text) - at
		}
		if runnable(text[at : at+end]) {
			guarded = append(append(guarded, text[start:at]...), '\'')
			start = at
		}
		at += end + 1
	}
	return string(guarded) + text[start:]
}

// needsQuotes is true of spaces at an end, too: not every reader keeps them
// otherwise.
func needsQuotes(text string) bool {
	return strings.ContainsAny(text, ",\"\r\n") || strings.Trim(text, " \t") != text
}

// runnable reports whether a spreadsheet may take the text for a formula. A
// plain decimal is none.
func runnable(text string) bool {
	switch sign, _ := utf8.DecodeRuneInString(text); sign {
	case '=', '+', '@', '＝', '＋', '－', '＠':
		return true
	case '-':
		return !forms.IsDecimal(text)
	default:
		return false
	}
}
