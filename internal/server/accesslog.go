package server

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Clients choose paths and methods, up to the size of a header.
const (
	maxLoggedPath   = 512
	maxLoggedMethod = 32
)

// logRequest logs a request that has ended. It never logs headers, bodies or the
// query, which may hold personal data.
func logRequest(log *slog.Logger, r *http.Request, rec *recorder, now time.Time) {
	status := rec.finalStatus()
	if rec.own && status < 400 {
		return // probes, every few seconds, would fill the log
	}
	attrs := append(make([]slog.Attr, 0, 8),
		slog.String("method", truncate(r.Method, maxLoggedMethod)),
		slog.String("path", truncate(r.URL.Path, maxLoggedPath)),
		slog.Int("status", status),
		slog.Int64("bytes", rec.bytes),
		slog.Duration("duration", now.Sub(rec.start)),
	)
	if id := rec.RequestID(); id != "" {
		attrs = append(attrs, slog.String("request_id", id))
	}
	if rec.anonymous {
		attrs = append(attrs, slog.Bool("anonymous", true))
	} else {
		host, _, _ := net.SplitHostPort(r.RemoteAddr) // it is always IP:port
		attrs = append(attrs, slog.String("remote", host))
		if rec.user != "" {
			attrs = append(attrs, slog.String("user", rec.user))
		}
	}
	line := slog.NewRecord(now, slog.LevelInfo, "request", 0)
	line.AddAttrs(attrs...)
	_ = log.Handler().Handle(r.Context(), line) // an error of the log can't be logged
}

// truncate cuts s to at most limit bytes, between characters.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
