package request

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// gzipWrapper offers gzip and nothing else: every client knows it, and its
// encoder needs little memory.
var gzipWrapper = func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.ContentTypeFilter(compressible))
	if err != nil {
		panic(err) // the options are constant
	}
	return wrap
}()

// XLSXType is the media type of XLSX.
const XLSXType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// compressible is false of what is compressed already.
func compressible(contentType string) bool {
	return contentType != XLSXType && gzhttp.DefaultContentTypeFilter(contentType)
}

// Compress compresses what h answers to clients that accept gzip.
func Compress(h http.Handler) http.HandlerFunc {
	wrapped := gzipWrapper(h)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Contains(strings.ToLower(r.Header.Get("Accept-Encoding")), "gzip") {
			w = withoutLength{w}
		}
		wrapped(w, r)
	}
}

// withoutLength answers HEAD without Content-Length and body. An answer to HEAD
// is not compressed, so that its length may differ from that of GET.
type withoutLength struct{ http.ResponseWriter }

func (w withoutLength) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w withoutLength) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w withoutLength) Write(p []byte) (int, error) { return len(p), nil }

// NoCompression has an answer sent as it is: one with a strong ETag, of which
// parts can be asked for.
func NoCompression(h http.Header) { h.Set(gzhttp.HeaderNoCompression, "1") }
