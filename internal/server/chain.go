package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/formulary/formulary/internal/problem"
)

// chain is the middleware of every request, outermost first: request id, client
// address, access log with metrics and write deadlines, panic recovery, security
// headers, own endpoints, handler.
//
// It is one type instead of nested handlers because all of it shares the
// recorder, and because it runs on every request.
type chain struct {
	opts     Options
	believed []string // canonical names of headers that only trusted proxies may send
	ignored  rate.Sometimes
	own      map[string]http.Handler // by path
	inFlight atomic.Int64
	closing  atomic.Bool // answers carry "Connection: close"
}

func newChain(opts Options, ready *readiness) *chain {
	c := &chain{opts: opts, ignored: rate.Sometimes{Interval: time.Minute}, own: ownEndpoints(opts, ready)}
	for _, name := range opts.ProxyHeaders {
		c.believed = append(c.believed, http.CanonicalHeaderKey(name))
	}
	if opts.Metrics != nil {
		opts.Metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "formulary_http_requests_in_flight", Help: "Requests being handled.",
		}, func() float64 { return float64(c.inFlight.Load()) }))
	}
	return c
}

func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, foreign := requestID(r)
	peer := r.RemoteAddr
	if !trustedProxies(c.opts.TrustedProxies).resolve(r) {
		c.ignoreHeaders(r, peer)
	}

	// Not pooled: a goroutine that outlives its handler could write into another
	// request.
	now := time.Now()
	rec := &recorder{
		w:         w,
		start:     now,
		moved:     now,
		write:     c.opts.Timeouts.Write,
		id:        [1]string{id},
		foreignID: foreign,
		head:      r.Method == http.MethodHead,
	}
	r = withDeadlines(r, rec, c.opts.Timeouts.Read)

	inFlight := c.inFlight.Add(1)
	defer c.finish(rec, r)
	defer c.recoverPanic(rec, r)

	c.setHeaders(rec, r)
	if own := c.own[r.URL.Path]; own != nil {
		rec.own = true
		r.Pattern = r.URL.Path
		rec.Header().Set("Cache-Control", "no-store")
		own.ServeHTTP(rec, r)
		return
	}
	if inFlight > int64(c.opts.MaxConnections) { // with HTTP/2 only: otherwise connections are bounded
		rec.Header().Set("Retry-After", "2")
		problem.Write(rec, http.StatusServiceUnavailable,
			"The server has too many requests under way. Try again in a moment.")
		return
	}
	c.opts.Handler.ServeHTTP(rec, r)
}

// ignoreHeaders removes what only trusted proxies may say. A proxy that the operator
// has forgotten to trust is told in the log, once in a while.
func (c *chain) ignoreHeaders(r *http.Request, peer string) {
	for _, name := range c.believed {
		if _, sent := r.Header[name]; sent {
			delete(r.Header, name)
			c.ignored.Do(func() {
				c.opts.Logger.Warn("a header is ignored because its sender is no trusted proxy", "header", name, "sender", peer)
			})
		}
	}
}

// finish runs for every request, aborted ones included.
func (c *chain) finish(rec *recorder, r *http.Request) {
	c.inFlight.Add(-1)
	now := time.Now()
	if c.opts.Metrics != nil {
		c.opts.Metrics.observe(r, rec, now)
	}
	if c.opts.AccessLog != nil {
		logRequest(c.opts.AccessLog, r, rec, now)
	}
}

// recoverPanic must be deferred directly: recover works nowhere else.
func (c *chain) recoverPanic(rec *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	rec.failed = true
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
		panic(v) // the handler wants the connection closed, and net/http does it
	}
	c.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "panic while handling a request",
		slog.String("panic", truncate(fmt.Sprint(v), 1024)),
		slog.String("method", truncate(r.Method, maxLoggedMethod)),
		slog.String("path", truncate(r.URL.Path, maxLoggedPath)),
		slog.String("request_id", rec.RequestID()),
		slog.String("stack", string(debug.Stack())))
	if rec.status != 0 {
		// A part of the response is sent. To close the connection is the only way
		// left to tell the client that the response is incomplete.
		panic(http.ErrAbortHandler)
	}
	clear(rec.Header()) // the headers describe a response that is not sent
	c.setHeaders(rec, r)
	problem.Write(rec, http.StatusInternalServerError,
		"The server failed to handle this request. Its log says why, under the id in X-Request-Id.")
}

// The values are shared by all requests, which saves the allocations of Set. Do not
// modify them.
var (
	nosniff         = []string{"nosniff"}
	noReferrer      = []string{"no-referrer"}
	sameOrigin      = []string{"same-origin"}
	strictTransport = []string{"max-age=31536000"}
)

// setHeaders runs before the handler, which may override the headers.
func (c *chain) setHeaders(rec *recorder, r *http.Request) {
	h := rec.Header()
	h["X-Request-Id"] = rec.id[:]
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	if r.TLS != nil {
		h["Strict-Transport-Security"] = strictTransport
	}
	if c.closing.Load() || ambiguousEnd(r) {
		h.Set("Connection", "close")
	}
}

// ambiguousEnd reports whether a proxy may see another end of the request than
// net/http does, which allows request smuggling: a request with both Content-Length and Transfer-Encoding, and one of
// HTTP/1.0 with Transfer-Encoding. net/http hides the header that it ignores,
// so the connection is closed after every request that may have been
// one of these.
func ambiguousEnd(r *http.Request) bool {
	return !r.ProtoAtLeast(1, 1) || r.ProtoMajor == 1 && len(r.TransferEncoding) > 0
}

const (
	maxRequestID   = 64
	requestIDBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// requestID returns the id that the client or a proxy sent, if it is safe to
// repeat in headers and logs, and a new id otherwise.
func requestID(r *http.Request) (id string, foreign bool) {
	given := r.Header.Get("X-Request-Id")
	if given != "" && len(given) <= maxRequestID && strings.Trim(given, requestIDBytes) == "" {
		return given, true
	}
	// A counter would tell clients how many requests others make.
	return strconv.FormatUint(rand.Uint64()|1<<63, 16), false //nolint:gosec // an id is no secret
}
