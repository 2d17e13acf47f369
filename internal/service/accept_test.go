package service

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/gabriel-vasile/mimetype"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// zipOf is an archive of empty files.
func zipOf(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		testkit.Must(t, testkit.ErrorOf(w.Create(name)))
	}
	testkit.Must(t, w.Close())
	return b.String()
}

func TestAccept(t *testing.T) {
	contents := map[string]string{
		"":         "",
		"anything": "\x01\x02\x03\x04",
		"plain":    "some text",
		"pdf":      "%PDF-1.7\n",
		"png":      "\x89PNG\r\n\x1a\n",
		"jpeg":     "\xff\xd8\xff\xe0",
		"svg":      `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		"html":     "<!DOCTYPE html><html></html>",
		"exe":      "MZ\x90\x00",
		"drawing":  "AC1015",
		"gzip":     "\x1f\x8b\x08",
		"archive":  zipOf(t, "a.bin"),
		"docx":     zipOf(t, "[Content_Types].xml", "_rels/.rels", "word/document.xml"),
		"office":   "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600),
	}
	// What a field accepts, the name, the type and the content of a file. As in HTML, an extension is
	// compared as written. A page is a text, too, and is never shown as a page.
	const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for _, row := range testkit.Rows(strings.ReplaceAll(`
		 | anything.exe | | exe | taken
		.pdf | a.pdf | application/pdf | pdf | taken
		.pdf | A.PDF | | pdf | taken
		.pdf | a.txt | application/pdf | pdf | refused
		.pdf | a.pdf | application/pdf | plain | refused
		.pdf | a.pdf | application/pdf | | refused
		.pdf | a.pdf | application/pdf | anything | refused
		.pdf image/* | a.png | image/png | png | taken
		image/* | a.png | image/png | html | refused
		image/* | a.png | text/html | png | refused
		image/* | a.png | application/octet-stream | png | taken
		image/* | a.svg | image/svg+xml | svg | taken
		image/png | a.png | IMAGE/PNG; x=1 | png | taken
		image/png | a.png | image/jpeg | png | refused
		image/png | a.png | image/png | jpeg | refused
		image/jpeg | a.jpg | image/jpg | jpeg | taken
		image/jpg | a.jpg | image/jpeg | jpeg | taken
		application/x-pdf | a.pdf | application/pdf | pdf | taken
		.jpg | a.jpeg | image/jpeg | jpeg | refused
		.jpeg | a.jpeg | image/jpeg | jpeg | taken
		.docx | a.docx | WORD | docx | taken
		.docx | a.docx | WORD | archive | taken
		.docx | a.docx | WORD | pdf | refused
		WORD | a.docx | WORD | archive | taken
		WORD | a.docx | WORD | plain | refused
		.doc | a.doc | application/msword | office | taken
		application/msword | a.doc | application/msword | office | taken
		application/zip | a.zip | application/x-zip-compressed | archive | taken
		.tar.gz | a.tar.gz | | gzip | taken
		.txt | a.txt | text/plain | html | taken
		.txt | a.txt | text/plain | png | refused
		.csv | a.csv | application/vnd.ms-excel | plain | taken
		text/csv | a.csv | text/csv | plain | taken
		text/csv | a.csv | application/csv | plain | refused
		text/* | a.md | text/markdown | plain | taken
		text/markdown | a.md | text/markdown | plain | taken
		text/markdown | a.md | text/markdown | pdf | refused
		.md | a.md | | plain | taken
		.md | a.md | | pdf | refused
		.step | a.step | | anything | taken
		.step | a.step | | exe | refused
		.dwg | a.dwg | | drawing | taken
		*/* | a.exe | x/y | exe | taken
	`, "WORD", word)) {
		text, known := contents[row[3]]
		f := &forms.Field{ID: "f", Type: forms.File, Accept: strings.Fields(row[0])}
		content := mimetype.Detect([]byte(text))
		if got := accepts(f, row[1], row[2], content); !known || got != (row[4] == "taken") {
			t.Errorf("%q, content %v: %t", row, content, got)
		}
	}
}

// A name that the library does not know would leave an extension unchecked.
func TestSignedTypesAreKnown(t *testing.T) {
	for _, name := range signedTypes {
		if m := mimetype.Lookup(name); m == nil || m.Extension() == "" || signedExtensions[m.Extension()] != m {
			t.Errorf("%s is %v", name, m)
		}
	}
	for other := range otherExtensions {
		if signedExtensions[other] == nil {
			t.Errorf("%s has no type", other)
		}
	}
}

func TestFileKinds(t *testing.T) {
	for accept, want := range map[string]string{
		"":                               "",
		".pdf":                           "PDF files",
		".pdf image/*":                   "PDF files and pictures",
		".pdf application/pdf .jpg":      "PDF files and JPG files",
		"video/* audio/* image/png .odt": "videos, sound files, PNG files and ODT files",
		"*/*":                            "all files",
		"application/x-unknown":          "application/x-unknown files",
	} {
		testkit.Same(t, accept, FileKinds(&forms.Field{Accept: strings.Fields(accept)}).String(), want)
	}
}
