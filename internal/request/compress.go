package request

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/formulary/formulary/internal/encode"
)

// gzipWrapper offers gzip and nothing else: every client knows it, and its
// encoder needs little memory. The options are constant: there is no error.
var gzipWrapper, _ = gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.ContentTypeFilter(compressible))

// compressible is false of what is compressed already.
func compressible(contentType string) bool {
	return contentType != encode.XLSX.MediaType && gzhttp.DefaultContentTypeFilter(contentType)
}

// Compress compresses what h answers to clients that accept gzip.
func Compress(h http.Handler) http.HandlerFunc {
	wrapped := gzipWrapper(h)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && acceptsGzip(r.Header) {
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

// Asset is content that stays the same while the program runs. It is compressed once:
// anybody may ask for it, as often as they like.
type Asset struct {
	Content []byte
	gzip    func() []byte
}

// NewAsset makes an asset. It is compressed when it is asked for first.
func NewAsset(content []byte) *Asset {
	return &Asset{Content: content, gzip: sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(content) // a buffer takes all
		_ = z.Close()
		return b.Bytes()
	})}
}

// Send answers with the content.
func (a *Asset) Send(w http.ResponseWriter, r *http.Request) {
	h, body := w.Header(), a.Content
	h.Add("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that is gone can't be told
}

// acceptsGzip reports whether the client names gzip, and not with the quality 0.
func acceptsGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.ToLower(strings.Join(h["Accept-Encoding"], ",")), ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" {
			return quality == "" || strings.Trim(quality, " q=0.") != ""
		}
	}
	return false
}
