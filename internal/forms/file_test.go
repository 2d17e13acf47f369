package forms

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestFilesSurviveStorage(t *testing.T) {
	files := []StoredFile{
		{ID: 1<<62 + 1, FieldID: `f"1`, Name: "Übersicht <1>.pdf", Size: 25 << 20, SHA256: "ab01", Type: "application/pdf"},
		{ID: 7, FieldID: "g", Name: "\u2028.txt", Type: "text/plain; charset=utf-8"},
	}
	for _, want := range [][]StoredFile{nil, files[:1], files} {
		text := EncodeFiles(want)
		if (text == nil) != (want == nil) {
			t.Fatalf("encode %d files: %q", len(want), text)
		}
		got, err := DecodeFiles(text)
		testkit.Must(t, err)
		testkit.Diff(t, "files", got, want)
	}
}

func TestDamagedFilesAreAnError(t *testing.T) {
	for _, text := range []string{"{", `{"id":1}`, `[{"id":"1"}]`, "[1]"} {
		if files, err := DecodeFiles([]byte(text)); err == nil {
			t.Errorf("%s: %v, want an error", text, files)
		}
	}
}

func TestSizeText(t *testing.T) {
	for size, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 1999: "1.9 kB", 5_000_000: "5 MB", 5_999_999: "5.9 MB", 1_500_000: "1.5 MB", 128_000: "128 kB",
		1 << 10: "1 KiB", 100 << 10: "100 KiB", 25 << 20: "25 MiB", 25<<20 + 1: "26.2 MB", 4 << 30: "4 GiB", 10236 << 10: "10.4 MB",
	} {
		testkit.Same(t, size, SizeText(size).String(), want)
	}
}
