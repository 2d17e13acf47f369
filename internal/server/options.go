package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// DefaultMaxConnections is how many connections may be open unless configured otherwise.
const DefaultMaxConnections = 10_000

// Options configure a server. Handler, Ready and Logger are required.
type Options struct {
	// Listen is host:port. Port 0 takes a free one, see [Server.Addr].
	Listen string

	// TLSCert and TLSKey are PEM files; both or neither. They are read again
	// when they change.
	TLSCert, TLSKey string

	// TrustedProxies are the peers whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix

	// ProxyHeaders are the names of headers that the handler believes. They are
	// removed from requests of all but trusted proxies.
	ProxyHeaders []string

	// Handler answers everything but /healthz, /readyz and /metrics, its own
	// 404 and 405 included.
	Handler http.Handler

	// Ready returns nil when everything the service needs can be reached. It
	// is called by one goroutine at a time and has two seconds.
	Ready func(context.Context) error

	Logger *slog.Logger

	// AccessLog gets a line for every request; nil for none.
	AccessLog *slog.Logger

	// Metrics are counted and served at /metrics; nil means neither.
	Metrics *Metrics

	// MaxConnections bounds open connections, and requests in flight, of which
	// an HTTP/2 connection has many. Default [DefaultMaxConnections].
	MaxConnections int

	// ShutdownTimeout is how long requests in flight may take to finish once
	// Run's context is done. Default 7 s.
	ShutdownTimeout time.Duration

	// Timeouts against slow clients; zero fields get their default.
	Timeouts Timeouts
}

// Timeouts are what a client may take.
type Timeouts struct {
	ReadHeader time.Duration // to send the request's header; default 10 s
	Read       time.Duration // to send each next 16 KiB of the body; default 60 s
	Write      time.Duration // to read each next 128 KiB of the response; default 120 s
	Idle       time.Duration // between two requests; default 120 s
}

func (o Options) withDefaults() Options {
	o.Timeouts = Timeouts{
		ReadHeader: cmp.Or(o.Timeouts.ReadHeader, 10*time.Second),
		Read:       cmp.Or(o.Timeouts.Read, 60*time.Second),
		Write:      cmp.Or(o.Timeouts.Write, 120*time.Second),
		Idle:       cmp.Or(o.Timeouts.Idle, 120*time.Second),
	}
	// The process must end within 10 s after SIGTERM: this leaves a second for
	// stragglers, and one to close the store.
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, 7*time.Second)
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	return o
}
