package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// maxHeaderBytes is plenty for a browser with cookies, and little enough for
// many connections.
const maxHeaderBytes = 32 << 10

// stragglerGrace is how long Run waits for handlers to notice that their
// connection was cut, so that the store isn't closed under them.
const stragglerGrace = time.Second

// Server listens from New on and serves from Run on.
type Server struct {
	opts           Options
	http           *http.Server
	listener       *boundedListener
	certificate    *certificate // nil without TLS
	chain          *chain
	ready          *readiness
	cancelRequests context.CancelFunc
}

// New binds the listener and loads the certificate, so that errors of either are
// known before anything is served.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()

	var cert *certificate
	var tlsConfig *tls.Config
	if opts.TLSCert != "" || opts.TLSKey != "" {
		var err error
		cert, err = loadCertificate(opts.TLSCert, opts.TLSKey, opts.Logger)
		if err != nil {
			return nil, err
		}
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert.get}
	}
	listener, err := listen(opts.Listen, opts.MaxConnections, opts.TrustedProxies)
	if err != nil {
		return nil, err
	}

	ready := &readiness{check: opts.Ready}
	s := &Server{opts: opts, listener: listener, certificate: cert, ready: ready, chain: newChain(opts, ready)}
	// Requests may outlive Run's context, but not the end of the shutdown.
	requests, cancel := context.WithCancel(context.Background())
	s.cancelRequests = cancel
	s.http = newHTTPServer(requests, opts, s.chain, tlsConfig)
	s.http.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			listener.release(conn)
		}
	}
	return s, nil
}

func newHTTPServer(base context.Context, opts Options, h http.Handler, tlsConfig *tls.Config) *http.Server {
	t := opts.Timeouts
	return &http.Server{
		Handler:           h,
		TLSConfig:         tlsConfig,
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		// "OPTIONS *" is the handler's to refuse, like any other path.
		DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{
			// Streams have their own deadlines. Frames that belong to no stream would
			// wait for ever for a peer that has stopped reading.
			WriteByteTimeout: t.Write,
			// The others bound what a connection holds in memory before any handler has
			// looked at it: net/http's defaults allow 1 MiB of frames and 1 MiB of bodies.
			MaxConcurrentStreams:          100,
			MaxReadFrameSize:              16 << 10,
			MaxReceiveBufferPerConnection: 128 << 10,
			MaxReceiveBufferPerStream:     64 << 10,
		},
		ErrorLog:    log.New(errorLog{opts.Logger}, "", 0),
		BaseContext: func(net.Listener) context.Context { return base },
	}
}

// Reload reads the certificate and its key now. Without TLS there is nothing to do.
func (s *Server) Reload(ctx context.Context) {
	if s.certificate != nil {
		s.certificate.watcher.Reload(ctx)
	}
}

// Addr is the address listened on, with the port that was really taken.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is where a client on this machine finds the server.
func (s *Server) URL() string {
	scheme := "http"
	if s.certificate != nil {
		scheme = "https"
	}
	return scheme + "://" + reachable(s.listener.boundAddr())
}

// Exposed reports whether other machines can connect without TLS, so that
// passwords travel in clear text.
func (s *Server) Exposed() bool {
	return s.certificate == nil && !s.listener.boundAddr().IP.IsLoopback()
}

// Run serves until ctx is done, then shuts down: /readyz fails at once, responses
// carry "Connection: close", and requests in flight may finish within the shutdown
// timeout. Those that don't are cut off. Neither the end of ctx nor a request that
// is cut off is an error.
func (s *Server) Run(ctx context.Context) error {
	defer s.cancelRequests()
	failed := make(chan error, 1)
	go func() { failed <- s.serve() }()
	if s.certificate != nil {
		go s.certificate.watcher.Run(ctx)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", s.Addr(), err)
	case <-ctx.Done():
		return s.shutdown() //nolint:contextcheck // ctx is over, and that is why
	}
}

func (s *Server) serve() error {
	if s.certificate != nil {
		return s.http.ServeTLS(s.listener, "", "")
	}
	return s.http.Serve(s.listener)
}

func (s *Server) shutdown() error {
	s.ready.draining.Store(true)
	s.opts.Logger.Info("shutting down", "in_flight", s.chain.inFlight.Load())

	ctx, cancel := context.WithTimeout(context.Background(), s.opts.ShutdownTimeout)
	defer cancel()
	// New connections are refused, and requests on open ones answered with "Connection: close" for a moment. Without it,
	// a request could be on its way while its idle connection is closed, and a client such as a proxy could not tell
	// whether the request was carried out.
	s.chain.closing.Store(true)
	_ = s.listener.Close() // an error means that it is closed already
	waitUntilZero(s.listener.open, min(linger, s.opts.ShutdownTimeout/2))
	err := s.http.Shutdown(ctx)
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("shut down: %w", err)
	}

	s.opts.Logger.Warn("requests didn't finish in time and were cut off",
		"in_flight", s.chain.inFlight.Load(), "timeout", s.opts.ShutdownTimeout)
	s.cancelRequests()
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("close connections: %w", err)
	}
	waitUntilZero(s.chain.inFlight.Load, stragglerGrace)
	return nil
}

// linger is how long clients have to close their idle connections.
const linger = 500 * time.Millisecond

// waitUntilZero polls n until it is zero, for at most limit.
func waitUntilZero(n func() int64, limit time.Duration) {
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n() > 0 {
		select {
		case <-deadline:
			return
		case <-tick.C:
		}
	}
}

// CertificateError is returned by [New] if the certificate or its key can't be
// used.
type CertificateError struct{ error }

// Unwrap returns the error that names the files.
func (e *CertificateError) Unwrap() error { return e.error }

// errorLog logs the messages of net/http about connections. They contain addresses
// and protocol errors, never headers or bodies.
type errorLog struct{ logger *slog.Logger }

func (l errorLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug // port scanners, and browsers that distrust a certificate
	}
	l.logger.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
