package table

import (
	"fmt"
	"strings"
)

const (
	xmlBegin = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainNS   = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	docTypes = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	relTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	relsNS   = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`

	// The column of timestamps is as wide as they are.
	sheetBegin = xmlBegin + `<worksheet ` + mainNS + `><cols><col min="2" max="2" width="26" customWidth="1"/></cols><sheetData>`
	sheetEnd   = `</sheetData></worksheet>`
)

// partsBefore are the parts that do not depend on how many sheets there will
// be. Programs that tell a file's type by its beginning look for the first of
// them. Whatever it does not name is a sheet.
var partsBefore = []struct{ name, text string }{
	{"[Content_Types].xml", xmlBegin + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="` + docTypes + `worksheet+xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="` + docTypes + `sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="` + docTypes + `styles+xml"/></Types>`},
	{"_rels/.rels", xmlBegin + `<Relationships ` + relsNS + `>` +
		`<Relationship Id="rId1" Type="` + relTypes + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	// Style 1 shows a timestamp as CSV has it.
	{"xl/styles.xml", xmlBegin + `<styleSheet ` + mainNS + `>` +
		`<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd&quot;T&quot;hh:mm:ss.000&quot;Z&quot;"/></numFmts>` +
		`<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>` +
		`<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>` +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`},
}

// workbookParts are the parts that name the sheets.
func workbookParts(results int, notes bool) (workbook, relations string) {
	names := []string{"results"}
	for i := 2; i <= results; i++ {
		names = append(names, fmt.Sprintf("results %d", i))
	}
	if notes {
		names = append(names, "notes")
	}
	var sheets, targets strings.Builder
	for i, name := range names {
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%d" r:id="rId%[2]d"/>`, name, i+1)
		fmt.Fprintf(&targets, `<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%[1]d.xml"/>`, i+1, relTypes)
	}
	workbook = xmlBegin + `<workbook ` + mainNS + ` xmlns:r="` + relTypes + `"><sheets>` + sheets.String() + `</sheets></workbook>`
	relations = xmlBegin + `<Relationships ` + relsNS + `>` + targets.String() +
		fmt.Sprintf(`<Relationship Id="rId%d" Type="%s/styles" Target="styles.xml"/></Relationships>`, len(names)+1, relTypes)
	return workbook, relations
}
