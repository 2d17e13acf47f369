package table

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/flate"

	"github.com/formulary/formulary/internal/forms"
)

const (
	// maxRows is how many rows a sheet can have.
	maxRows = 1_048_576
	// maxCell is how much text a cell can hold, in UTF-16 code units.
	maxCell = 32_767
	// maxNotes bounds the notes, which stay in memory until the sheets end.
	maxNotes = 10_000
	// sheetBytes is how much of a sheet is gathered before it is compressed.
	sheetBytes = 32 << 10
)

// XLSX writes a table as an Office Open XML workbook. Its methods append to
// dst. Texts are inline strings: a table of shared strings would have to be in
// memory until the end.
type XLSX struct {
	columns *Columns
	maxRows int

	zip     *zip.Writer
	zipped  bytes.Buffer // what zip has written and was not taken yet
	sheet   io.Writer    // within zip
	xml     []byte       // of the sheet, not yet written to it
	row     int          // of the sheet, from 1
	width   int          // of the sheet, in columns
	results int          // sheets of results
	notes   []note
	more    int   // values that would have had a note beyond maxNotes
	err     error // the first one; nothing more is sent after it

	names   []string           // of the columns: ids, also where the header has labels
	kinds   []forms.Validation // by column; see kindOf
	formats []numberFormat     // of number cells; their styles follow the fixed ones
	styles  map[numberFormat]int
}

// kindOf is Numeric or DateOnly where the cells of a field are numbers or dates, as far
// as their texts allow it. Other cells are texts.
func kindOf(field *forms.Field) forms.Validation {
	notNumeric := func(option string) bool { return !forms.IsDecimal(option) }
	if field.Validation == forms.OneOf && !slices.ContainsFunc(field.Options, notNumeric) {
		return forms.Numeric
	}
	return field.Validation
}

// note is a row about a value that its cell can't hold.
type note [4]string

var tooLong = fmt.Sprintf("This value is longer than the %d characters that a cell can hold, and is left out here. "+
	"CSV and JSON have it.", maxCell)

// NewXLSX ends the first pass and begins a workbook.
func NewXLSX(columns *Columns) *XLSX {
	columns.fix()
	w := &XLSX{columns: columns, maxRows: maxRows, styles: map[numberFormat]int{}}
	w.names = columns.header(false)
	kinds := make([]forms.Validation, len(columns.widths))
	kinds[idColumn] = forms.Numeric
	for rank, field := range columns.form.Fields {
		kinds[columns.fields+rank] = kindOf(field)
	}
	w.kinds = pick(columns, kinds)
	w.zip = zip.NewWriter(&w.zipped)
	w.zip.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestSpeed)
	})
	return w
}

// columnName returns A for 0, Z for 25, AA for 26.
func columnName(i int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	last := letters[i%len(letters) : i%len(letters)+1]
	if i < len(letters) {
		return last
	}
	return columnName(i/len(letters)-1) + last
}

// Begin writes what comes before the rows.
func (w *XLSX) Begin(dst []byte) ([]byte, error) {
	w.writeParts(partsBefore)
	w.beginResults()
	return w.take(dst)
}

// Row writes a submission.
func (w *XLSX) Row(dst []byte, sub forms.Submission) ([]byte, error) {
	if err := w.columns.read(sub); err != nil {
		return dst, err
	}
	if w.row == w.maxRows {
		w.endSheet()
		w.beginResults()
	}
	w.appendSubmission(sub)
	if len(w.xml) >= sheetBytes {
		w.flushSheet()
	}
	return w.take(dst)
}

// End writes the notes and what names the sheets.
func (w *XLSX) End(dst []byte) ([]byte, error) {
	w.endSheet()
	if len(w.notes) > 0 {
		w.writeNotes()
	}
	w.writeParts(partsAfter(w.columns, w.results, len(w.notes) > 0, w.formats))
	w.fail(w.zip.Close())
	return w.take(dst)
}

func (w *XLSX) fail(err error) { w.err = cmp.Or(w.err, err) }

// take moves what zip has written so far to dst.
func (w *XLSX) take(dst []byte) ([]byte, error) {
	dst = append(dst, w.zipped.Bytes()...)
	w.zipped.Reset()
	return dst, w.err
}

// file begins a file of the workbook.
func (w *XLSX) file(name string, method uint16) io.Writer {
	f, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	if err != nil {
		w.fail(err)
		return io.Discard
	}
	return f
}

// writeParts writes small files. They are not worth a compressor.
func (w *XLSX) writeParts(parts []workbookPart) {
	for _, p := range parts {
		_, err := io.WriteString(w.file(p.name, zip.Store), p.text)
		w.fail(err)
	}
}

// beginResults begins a sheet with its header.
func (w *XLSX) beginResults() {
	w.results++
	widths := slices.Clone(w.columns.widths)
	widths[idColumn], widths[timeColumn], widths[changedColumn] = idWidth, timestampWidth, timestampWidth
	w.beginSheet(w.results, w.columns.header(w.columns.opts.Labels), pick(w.columns, widths))
}

// beginSheet begins a sheet with its header. Columns are as wide as their
// values, and their header if that is not long.
func (w *XLSX) beginSheet(number int, header []string, widths []int) {
	w.sheet = w.file(fmt.Sprintf("xl/worksheets/sheet%d.xml", number), zip.Deflate)
	w.row, w.width = 0, len(header)
	w.xml = append(w.xml[:0], sheetBegin...)
	for i, name := range header {
		width := max(widths[i], min(len(name), maxWidth/2)) + padding
		w.xml = fmt.Appendf(w.xml, `<col min="%d" max="%[1]d" width="%d" customWidth="1"/>`, i+1, width)
	}
	w.xml = append(w.xml, colsEnd...)
	w.beginRow()
	for i, name := range header {
		w.appendText(i, name, "", headerStyle)
	}
	w.endRow()
}

// endSheet ends a sheet with a filter on its header.
func (w *XLSX) endSheet() {
	w.xml = fmt.Appendf(w.xml, `</sheetData><autoFilter ref="A1:%s%d"/></worksheet>`, columnName(w.width-1), w.row)
	w.flushSheet()
}

func (w *XLSX) flushSheet() {
	_, err := w.sheet.Write(w.xml)
	w.fail(err)
	w.xml = w.xml[:0]
}

func (w *XLSX) beginRow() {
	w.row++
	w.xml = append(w.xml, `<row r="`...)
	w.xml = append(strconv.AppendInt(w.xml, int64(w.row), 10), `">`...)
}

func (w *XLSX) endRow() { w.xml = append(w.xml, "</row>"...) }

func (w *XLSX) appendSubmission(sub forms.Submission) {
	id := strconv.FormatInt(sub.ID, 10)
	w.beginRow()
	if w.columns.nameless() {
		id = strconv.Itoa(w.row)
	}
	for i, column := range w.columns.order {
		switch {
		case column >= w.columns.fields:
			text, err := w.columns.text(column - w.columns.fields)
			w.fail(err)
			w.appendCell(i, text, id)
		case column == idColumn:
			w.appendCell(i, id, id)
		case column == timeColumn:
			w.appendTimestamp(i, sub.Created)
		case column == nameColumn:
			w.appendText(i, sub.Username, id, plainStyle)
		case column == changedColumn:
			w.appendTimestamp(i, sub.Changed)
		}
	}
	w.endRow()
}

// appendTimestamp writes a time of the submission. A date cell has no zone: it holds
// what a clock in the zone shows.
func (w *XLSX) appendTimestamp(column int, t time.Time) {
	text, style := string(w.columns.appendTime(nil, t)), timestampStyle
	if w.columns.opts.Zone != nil {
		t, _ = time.Parse(w.columns.layout(), text) // zero for none, which no cell can hold
		if w.columns.form.Anonymous {
			style = dateStyle
		}
	}
	if !w.appendTime(column, t, style) {
		w.appendText(column, text, "", plainStyle) // it fits: there will be no note
	}
}

// appendCell writes a number or a date where the column has such cells and the
// text is one, else a text.
func (w *XLSX) appendCell(column int, text, id string) {
	switch w.kinds[column] {
	case forms.Numeric:
		if format, ok := formatOf(text); ok {
			w.appendNumber(column, text, format)
			return
		}
	case forms.DateOnly:
		if day, err := time.Parse(time.DateOnly, text); err == nil && w.appendTime(column, day, dateStyle) {
			return
		}
	}
	w.appendText(column, text, id, plainStyle)
}

// appendNumber writes a number cell that shows the digits of text.
func (w *XLSX) appendNumber(column int, text string, format numberFormat) {
	style, known := w.styles[format]
	if !known {
		style = fixedStyles + len(w.formats)
		w.formats, w.styles[format] = append(w.formats, format), style
	}
	w.beginCell(column, style)
	w.xml = append(w.xml, `"><v>`...)
	w.xml = append(append(w.xml, text...), "</v></c>"...)
}

// beginCell writes a cell up to the quote that ends its style.
func (w *XLSX) beginCell(column, style int) {
	w.xml = append(append(w.xml, `<c r="`...), columnName(column)...)
	w.xml = strconv.AppendInt(w.xml, int64(w.row), 10)
	w.xml = strconv.AppendInt(append(w.xml, `" s="`...), int64(style), 10)
}

// appendText writes a text cell. A text that is too long for a cell becomes an
// error cell (#N/A), and a row in the sheet of notes.
func (w *XLSX) appendText(column int, text, id string, style int) {
	if text == "" {
		return
	}
	w.beginCell(column, style)
	begun := len(w.xml)
	w.xml = append(w.xml, `" t="inlineStr"><is><t xml:space="preserve">`...)
	var length int
	var err error
	w.xml, length, err = appendXML(w.xml, text)
	w.fail(err)
	if length <= maxCell {
		w.xml = append(w.xml, "</t></is></c>"...)
		return
	}
	w.xml = append(w.xml[:begun], `" t="e"><v>#N/A</v></c>`...)
	if len(w.notes) == maxNotes {
		w.more++
		return
	}
	w.notes = append(w.notes, note{id, w.names[column], strconv.Itoa(length), tooLong})
}

// A serial number counts days from the end of 1899, and the times of a day as
// fractions. Before March 1900 spreadsheets disagree.
const (
	dayMillis   = 24 * 60 * 60 * 1000
	unixSerial  = 25_569
	serialFirst = 61        // 1900-03-01
	serialLast  = 2_958_465 // 9999-12-31
)

// appendTime writes a date cell. It is false, and writes nothing, if
// spreadsheets have no such date.
func (w *XLSX) appendTime(column int, t time.Time, style int) bool {
	millis := t.UnixMilli()
	day, rest := millis/dayMillis+unixSerial, millis%dayMillis
	if rest < 0 {
		day, rest = day-1, rest+dayMillis
	}
	if day < serialFirst || day > serialLast {
		return false
	}
	w.beginCell(column, style)
	w.xml = append(w.xml, `"><v>`...)
	w.xml = strconv.AppendInt(w.xml, day, 10)
	if rest > 0 {
		const scale = 10_000_000_000 // ten digits tell every millisecond
		fraction := strconv.AppendInt(nil, scale+(rest*scale+dayMillis/2)/dayMillis, 10)
		w.xml = append(append(w.xml, '.'), fraction[1:]...)
	}
	w.xml = append(w.xml, "</v></c>"...)
	return true
}

// writeNotes writes the sheet of values that their cells can't hold.
func (w *XLSX) writeNotes() {
	header := []string{w.columns.opts.metadata()[idColumn], "column", "characters", "problem"}
	if w.columns.nameless() {
		header[0] = "row"
	}
	w.beginSheet(w.results+1, header, []int{idWidth, maxWidth / 2, idWidth, maxWidth})
	w.kinds = []forms.Validation{forms.Numeric, forms.NoValidation, forms.Numeric, forms.NoValidation}
	if w.more > 0 {
		more := fmt.Sprintf("%d further values are too long, too. Their cells say #N/A.", w.more)
		w.notes = append(w.notes, note{3: more})
	}
	for _, row := range w.notes {
		w.beginRow()
		for column, text := range row {
			w.appendCell(column, text, "")
		}
		w.endRow()
	}
	w.endSheet()
}
