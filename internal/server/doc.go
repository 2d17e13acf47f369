// Package server puts an http.Handler on the network: listener, TLS, timeouts,
// middleware, health and metrics endpoints, graceful shutdown.
//
// It knows nothing of forms, pages or users. Its handler, [Options.Handler], finds:
//
//   - the client's address in [http.Request.RemoteAddr], as "IP:port", already
//     taken from X-Forwarded-For behind trusted proxies (the port is 0 when the
//     proxy sent the address only);
//   - the request id in the response header X-Request-Id;
//   - a ResponseWriter which is a [Reporter], and has Unwrap for
//     [http.ResponseController].
//
// The route in metrics is [http.Request.Pattern]. A ServeMux sets it on the
// request that it is given, so middleware between this package and the mux
// must not copy the request (WithContext, Clone), or the route is "other".
package server

// Reporter is implemented by the ResponseWriter that [Options.Handler] gets. The
// last report counts. Without one, the access log has the client's address and no
// user. Packages that must not import this one declare the methods that they need.
// All methods are for the goroutine that runs the handler.
type Reporter interface {
	// SetUser adds the authenticated user to the line of the access log, or
	// removes it if the name is "".
	SetUser(name string)
	// Anonymous keeps everything that may identify the user out of the log: name,
	// address, and a request id that came from outside.
	Anonymous()
	// RequestID is the request id as the access log would have it now: "" if the
	// request is anonymous and the id came from outside.
	RequestID() string
	// Working grants the client another write timeout, for a handler that reads
	// much before it has something to send.
	Working()
}

var _ Reporter = (*recorder)(nil)
