package request

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestAsset(t *testing.T) {
	content := strings.Repeat("body { color: black }\n", 200)
	asset := NewAsset([]byte(content))
	for _, tt := range []struct {
		accept string
		packed bool
	}{
		{"", false}, {"br", false}, {"gzip", true}, {"br, GZIP;q=0.5", true}, {"gzip;q=0", false}, {"gzip; q=0.000", false}, {"gzip;q=1.0", true},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", tt.accept)
		asset.Send(w, r)
		body := io.Reader(w.Body)
		if packed := w.Header().Get("Content-Encoding") == "gzip"; packed != tt.packed || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", tt.accept, w.Header())
		} else if packed {
			unpacked, err := gzip.NewReader(w.Body)
			testkit.Must(t, err)
			body = unpacked
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != content {
			t.Errorf("%q: %d bytes, %v", tt.accept, len(got), err)
		}
	}
}

// TestAssetIsCompressedOnce: the work of a request does not depend on how well the
// content can be compressed.
func TestAssetIsCompressedOnce(t *testing.T) {
	asset := NewAsset(make([]byte, 1<<20))
	first, second := asset.gzip(), asset.gzip()
	if &first[0] != &second[0] {
		t.Error("it was compressed again")
	}
}
