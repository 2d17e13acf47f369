package forms

import "testing"

// What a sniffer finds, the most specific type first.
var (
	anything = []Sniffed{{"application/octet-stream", ""}}
	plain    = []Sniffed{{"text/plain", ".txt"}, {"application/octet-stream", ""}}
	pdf      = []Sniffed{{"application/pdf", ".pdf"}, {"application/octet-stream", ""}}
	png      = []Sniffed{{"image/png", ".png"}, {"application/octet-stream", ""}}
	jpeg     = []Sniffed{{"image/jpeg", ".jpg"}, {"application/octet-stream", ""}}
	svg      = []Sniffed{{"image/svg+xml", ".svg"}, {"text/plain", ".txt"}, {"application/octet-stream", ""}}
	html     = []Sniffed{{"text/html", ".html"}, {"text/plain", ".txt"}, {"application/octet-stream", ""}}
	archive  = []Sniffed{{"application/zip", ".zip"}, {"application/octet-stream", ""}}
	exe      = []Sniffed{{"application/vnd.microsoft.portable-executable", ".exe"}, {"application/octet-stream", ""}}
	docx     = append([]Sniffed{{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"}}, archive...)
	drawing  = []Sniffed{{"image/vnd.dwg", ".dwg"}, {"application/octet-stream", ""}}
)

func TestAccept(t *testing.T) {
	const wordType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for _, tt := range []struct {
		accept         []string
		name, declared string
		content        []Sniffed
		want           bool
	}{
		{nil, "anything.exe", "", exe, true},
		{[]string{".pdf"}, "a.pdf", "application/pdf", pdf, true},
		{[]string{".pdf"}, "A.PDF", "", pdf, true},
		{[]string{".pdf"}, "a.txt", "application/pdf", pdf, false},
		{[]string{".pdf"}, "pdf", "application/pdf", pdf, false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", plain, false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", html, false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", exe, false},
		{[]string{".pdf"}, "a.pdf", "application/pdf", nil, false},
		{[]string{".pdf", "image/*"}, "a.png", "image/png", png, true},
		{[]string{"image/*"}, "a.png", "image/png", html, false},
		{[]string{"image/*"}, "a.png", "text/html", png, false},
		{[]string{"image/*"}, "a.png", "application/octet-stream", png, true},
		{[]string{"image/*"}, "a", "", png, true},
		{[]string{"image/*"}, "a.svg", "image/svg+xml", svg, true},
		{[]string{"image/png"}, "a.png", "IMAGE/PNG; x=1", png, true},
		{[]string{"image/png"}, "a.png", "image/jpeg", png, false},
		{[]string{"image/png"}, "a.png", "image/png", jpeg, false},
		{[]string{"image/jpeg"}, "a.jpg", "image/jpg", jpeg, true},
		{[]string{"image/jpg"}, "a.jpg", "image/jpeg", jpeg, true},
		{[]string{".jpg"}, "a.jpeg", "image/jpeg", jpeg, false}, // as in HTML: the extension is compared as written
		{[]string{".jpeg"}, "a.jpeg", "image/jpeg", jpeg, true},
		{[]string{".docx"}, "a.docx", wordType, docx, true},
		{[]string{".docx"}, "a.docx", wordType, archive, true},
		{[]string{".docx"}, "a.docx", wordType, pdf, false},
		{[]string{wordType}, "a.docx", wordType, archive, true},
		{[]string{wordType}, "a.docx", wordType, plain, false},
		{[]string{".zip"}, "a.zip", "application/x-zip-compressed", docx, true},
		{[]string{"application/zip"}, "a.zip", "application/x-zip-compressed", archive, true},
		{[]string{".txt"}, "a.txt", "text/plain", html, true}, // a page is a text, too, and is never shown as a page
		{[]string{".txt"}, "a.txt", "text/plain", png, false},
		{[]string{".csv"}, "a.csv", "application/vnd.ms-excel", plain, true},
		{[]string{"text/csv"}, "a.csv", "text/csv", plain, true},
		{[]string{"text/*"}, "a.md", "text/markdown", plain, true},
		{[]string{"text/*"}, "a.md", "text/markdown", anything, false},
		{[]string{".md"}, "a.md", "", plain, true},
		{[]string{".md"}, "a.md", "", pdf, false},
		{[]string{".step"}, "a.step", "", anything, true},
		{[]string{".step"}, "a.step", "", exe, false},
		{[]string{".dwg"}, "a.dwg", "", drawing, true},
		{[]string{"*/*"}, "a.exe", "x/y", exe, true},
	} {
		f := Field{ID: "f", Type: File, Accept: tt.accept}
		if got := f.CheckFile(tt.name, tt.declared, tt.content); (got == "") != tt.want {
			t.Errorf("accept %v, %q declared as %q, content %v: %q", tt.accept, tt.name, tt.declared, tt.content, got)
		}
	}
}

func TestMaxSize(t *testing.T) {
	f := Field{Type: File, MaxSize: 5_000_000}
	for size, want := range map[int64]string{0: "", 5_000_000: "", 5_000_001: "must not be larger than 5000000 bytes"} {
		if got := f.CheckFileSize(size); got != want {
			t.Errorf("%d bytes: %q, want %q", size, got, want)
		}
	}
	if got := (&Field{Type: File}).CheckFileSize(1 << 40); got != "" {
		t.Errorf("without a limit: %q", got)
	}
}
