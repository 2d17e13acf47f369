package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// nullWriter discards the response. Like that of net/http it has one header map for
// each request.
type nullWriter struct{ header http.Header }

func (w *nullWriter) Header() http.Header         { return w.header }
func (w *nullWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *nullWriter) WriteHeader(int)             {}

// BenchmarkChain measures what the middleware adds to a request.
func BenchmarkChain(b *testing.B) {
	body := []byte("{}")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pages/{id}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	proxies := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for _, bench := range []struct {
		name string
		opts *Options
	}{
		{"none", nil},
		{"plain", &Options{}},
		{"metrics", &Options{Metrics: NewMetrics()}},
		{"metrics,proxy", &Options{Metrics: NewMetrics(), TrustedProxies: proxies}},
		{"metrics,log", &Options{Metrics: NewMetrics(), AccessLog: NewAccessLog(io.Discard, true)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var h http.Handler = mux
			if bench.opts != nil {
				opts := *bench.opts
				opts.Handler, opts.Logger = mux, logger
				opts = opts.withDefaults()
				h = newChain(opts, &readiness{check: opts.Ready})
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				w := &nullWriter{http.Header{}}
				r := httptest.NewRequest("GET", "/pages/1", nil)
				r.Header.Set("X-Forwarded-For", "198.51.100.7")
				peer := r.RemoteAddr
				for pb.Next() {
					clear(w.header)
					r.RemoteAddr = peer
					h.ServeHTTP(w, r)
				}
			})
		})
	}
}
