package table

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/formulary/formulary/internal/forms"
)

const (
	xmlBegin = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainNS   = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	docTypes = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	relTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	relsNS   = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`

	// The header stays in view.
	sheetBegin = xmlBegin + `<worksheet ` + mainNS + `><sheetViews><sheetView workbookViewId="0">` +
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>`
	colsEnd = `</cols><sheetData>`

	// Widths in characters.
	padding        = 3 // with the button of the filter
	idWidth        = 8
	timestampWidth = 24

	numberFormats = 164 // below are those that every spreadsheet has
)

// workbookPart is a file of a workbook.
type workbookPart struct{ name, text string }

// partsBefore are the parts that do not depend on how many sheets there will
// be. Programs that tell a file's type by its beginning look for the first of
// them. Parts that it does not name are sheets.
var partsBefore = []workbookPart{
	{"[Content_Types].xml", xmlBegin + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="` + docTypes + `worksheet+xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="` + docTypes + `sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="` + docTypes + `styles+xml"/></Types>`},
	{"_rels/.rels", xmlBegin + `<Relationships ` + relsNS + `>` +
		`<Relationship Id="rId1" Type="` + relTypes + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
}

// Styles of cells. Those of number formats follow.
const (
	plainStyle = iota
	timestampStyle
	dateStyle
	headerStyle
	fixedStyles
)

// exactDigits is how many digits of a number a spreadsheet keeps.
const exactDigits = 15

// numberFormat is how a cell shows a number: with the digits that were sent. It
// is 0.00 for 9.80, and 000 for 007.
type numberFormat struct {
	whole, fraction int  // digits
	minusZero       bool // a spreadsheet knows no negative zero
}

// formatOf returns the format of a decimal. It is false for any other text, and
// for a decimal of too many digits.
func formatOf(text string) (f numberFormat, ok bool) {
	if len(text) > exactDigits+len("-.") || !forms.IsDecimal(text) {
		return f, false
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if len(whole)+len(fraction) > exactDigits {
		return f, false
	}
	f.whole, f.fraction = 1, len(fraction)
	if whole[0] == '0' {
		f.whole = len(whole)
	}
	f.minusZero = text[0] == '-' && strings.Trim(text, "-0.") == ""
	return f, true
}

func (f numberFormat) code() string {
	code := strings.Repeat("0", f.whole)
	if f.fraction > 0 {
		code += "." + strings.Repeat("0", f.fraction)
	}
	if f.minusZero {
		code = `\-` + code
	}
	return code
}

// stylesPart holds the styles. A timestamp is shown as CSV has it.
func stylesPart(opts Options, formats []numberFormat) string {
	codes := []string{`yyyy\-mm\-dd&quot;T&quot;hh:mm:ss.000&quot;Z&quot;`, `yyyy\-mm\-dd`}
	if opts.Zone != nil {
		codes[0] = `yyyy\-mm\-dd\ hh:mm:ss`
	}
	const xf = `<xf numFmtId="%d" fontId="%d" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`
	styles := fmt.Sprintf(xf+xf+xf+xf, 0, 0, numberFormats, 0, numberFormats+1, 0, 0, 1)
	for _, f := range formats {
		styles += fmt.Sprintf(xf, numberFormats+len(codes), 0)
		codes = append(codes, f.code())
	}
	var numFmts strings.Builder
	for i, code := range codes {
		fmt.Fprintf(&numFmts, `<numFmt numFmtId="%d" formatCode="%s"/>`, numberFormats+i, code)
	}
	return xmlBegin + `<styleSheet ` + mainNS + `>` +
		fmt.Sprintf(`<numFmts count="%d">%s</numFmts>`, len(codes), numFmts.String()) +
		`<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		fmt.Sprintf(`<cellXfs count="%d">%s</cellXfs>`, fixedStyles+len(formats), styles) +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
}

// notesSheet is the name of the sheet of notes.
const notesSheet = "notes"

// sheetName is the name of the n-th sheet of results. A name has at most 31 characters,
// as UTF-16 counts them, and not all of them may be in it. Names are unique, upper and
// lower case alike.
func sheetName(title string, n int) string {
	const most = 31
	suffix := ""
	if n > 1 {
		suffix = fmt.Sprintf(" %d", n)
	}
	title = strings.TrimSpace(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:\/?*[]'`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, title))
	// A spreadsheet has a history of its own.
	if lower := strings.ToLower(title); lower == "" || lower == notesSheet || lower == "history" {
		title += "_"
	}
	units := utf16.Encode([]rune(title))
	units = units[:min(len(units), most-len(suffix))]
	return strings.TrimRight(string(utf16.Decode(units)), " \ufffd") + suffix // half a character becomes the latter
}

// partsAfter are the parts that name the sheets, and the styles.
func partsAfter(columns *Columns, results int, notes bool, formats []numberFormat) []workbookPart {
	var names []string
	for i := range results {
		name, _, _ := appendXML(nil, sheetName(columns.title(), i+1)) // it is valid: IsPrint holds for all of it
		names = append(names, string(name))
	}
	if notes {
		names = append(names, notesSheet)
	}
	var sheets, targets strings.Builder
	for i, name := range names {
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%d" r:id="rId%[2]d"/>`, name, i+1)
		fmt.Fprintf(&targets, `<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%[1]d.xml"/>`, i+1, relTypes)
	}
	return []workbookPart{
		{"xl/styles.xml", stylesPart(columns.opts, formats)},
		{"xl/workbook.xml", xmlBegin + `<workbook ` + mainNS + ` xmlns:r="` + relTypes + `"><bookViews><workbookView/></bookViews><sheets>` +
			sheets.String() + `</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", xmlBegin + `<Relationships ` + relsNS + `>` + targets.String() +
			fmt.Sprintf(`<Relationship Id="rId%d" Type="%s/styles" Target="styles.xml"/></Relationships>`, len(names)+1, relTypes)},
	}
}
