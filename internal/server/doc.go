// Package server puts an http.Handler on the network: listener, TLS, timeouts,
// middleware, health and metrics endpoints, graceful shutdown.
//
// It knows nothing of forms, pages or users. Its handler, [Options.Handler], finds:
//
//   - the client's address in [http.Request.RemoteAddr], as "IP:port", already
//     taken from X-Forwarded-For behind trusted proxies (the port is 0 when the
//     proxy sent the address only);
//   - the request id in the response header X-Request-Id;
//   - a ResponseWriter with the methods SetUser, Anonymous, RequestID and Working,
//     for the access log and for deadlines, and with Unwrap for
//     [http.ResponseController]. All are for the goroutine that runs the handler.
//
// The route in metrics is [http.Request.Pattern]. A ServeMux sets it on the
// request that it is given, so middleware between this package and the mux
// must not copy the request (WithContext, Clone), or the route is "other".
package server
