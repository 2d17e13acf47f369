package service

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/gabriel-vasile/mimetype"

	"github.com/formulary/formulary/internal/forms"
)

// zipOf is an archive of empty files.
func zipOf(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAccept(t *testing.T) {
	const wordType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	const (
		anything = "\x01\x02\x03\x04"
		plain    = "some text"
		pdf      = "%PDF-1.7\n"
		png      = "\x89PNG\r\n\x1a\n"
		jpeg     = "\xff\xd8\xff\xe0"
		svg      = `<svg xmlns="http://www.w3.org/2000/svg"/>`
		html     = "<!DOCTYPE html><html></html>"
		exe      = "MZ\x90\x00"
		drawing  = "AC1015"
	)
	archive, docx := zipOf(t, "a.bin"), zipOf(t, "[Content_Types].xml", "_rels/.rels", "word/document.xml")
	office := "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600)
	for _, tt := range []struct {
		accept         []string
		name, declared string
		content        string
		want           bool
	}{
		{nil, "anything.exe", "", exe, true},
		{[]string{".pdf"}, "a.pdf", "application/pdf", pdf, true},
		{[]string{".pdf"}, "A.PDF", "", pdf, true},
		{[]string{".pdf"}, "a.txt", "application/pdf", pdf, false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", plain, false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", "", false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", anything, false},
		{[]string{".pdf", "image/*"}, "a.png", "image/png", png, true},
		{[]string{"image/*"}, "a.png", "image/png", html, false},
		{[]string{"image/*"}, "a.png", "text/html", png, false},
		{[]string{"image/*"}, "a.png", "application/octet-stream", png, true},
		{[]string{"image/*"}, "a.svg", "image/svg+xml", svg, true},
		{[]string{"image/png"}, "a.png", "IMAGE/PNG; x=1", png, true},
		{[]string{"image/png"}, "a.png", "image/jpeg", png, false},
		{[]string{"image/png"}, "a.png", "image/png", jpeg, false},
		{[]string{"image/jpeg"}, "a.jpg", "image/jpg", jpeg, true},
		{[]string{"image/jpg"}, "a.jpg", "image/jpeg", jpeg, true},
		{[]string{"application/x-pdf"}, "a.pdf", "application/pdf", pdf, true},
		{[]string{".jpg"}, "a.jpeg", "image/jpeg", jpeg, false}, // as in HTML: the extension is compared as written
		{[]string{".jpeg"}, "a.jpeg", "image/jpeg", jpeg, true},
		{[]string{".docx"}, "a.docx", wordType, docx, true},
		{[]string{".docx"}, "a.docx", wordType, archive, true},
		{[]string{".docx"}, "a.docx", wordType, pdf, false},
		{[]string{wordType}, "a.docx", wordType, archive, true},
		{[]string{wordType}, "a.docx", wordType, plain, false},
		{[]string{".doc"}, "a.doc", "application/msword", office, true},
		{[]string{"application/msword"}, "a.doc", "application/msword", office, true},
		{[]string{"application/zip"}, "a.zip", "application/x-zip-compressed", archive, true},
		{[]string{".tar.gz"}, "a.tar.gz", "", "\x1f\x8b\x08", true},
		{[]string{".txt"}, "a.txt", "text/plain", html, true}, // a page is a text, too, and is never shown as a page
		{[]string{".txt"}, "a.txt", "text/plain", png, false},
		{[]string{".csv"}, "a.csv", "application/vnd.ms-excel", plain, true},
		{[]string{"text/csv"}, "a.csv", "text/csv", plain, true},
		{[]string{"text/csv"}, "a.csv", "application/csv", plain, false},
		{[]string{"text/*"}, "a.md", "text/markdown", plain, true},
		{[]string{"text/markdown"}, "a.md", "text/markdown", plain, true},
		{[]string{"text/markdown"}, "a.md", "text/markdown", pdf, false},
		{[]string{".md"}, "a.md", "", plain, true},
		{[]string{".md"}, "a.md", "", pdf, false},
		{[]string{".step"}, "a.step", "", anything, true},
		{[]string{".step"}, "a.step", "", exe, false},
		{[]string{".dwg"}, "a.dwg", "", drawing, true},
		{[]string{"*/*"}, "a.exe", "x/y", exe, true},
	} {
		f := &forms.Field{ID: "f", Type: forms.File, Accept: tt.accept}
		content := mimetype.Detect([]byte(tt.content))
		if got := accepts(f, tt.name, tt.declared, content); got != tt.want {
			t.Errorf("accept %v, %q declared as %q, content %v: %t", tt.accept, tt.name, tt.declared, content, got)
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
