package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
	"unicode/utf8"
)

// Clients choose both, up to the size of a header.
const (
	maxLoggedPath   = 512
	maxLoggedMethod = 32
)

// accessLog writes a line per request. It never sees headers, bodies or the
// query, which may hold personal data.
type accessLog struct {
	// The handler and not a Logger: a Logger looks up its caller for every
	// line, which costs as much as the rest of the chain.
	handler slog.Handler
}

func (l *accessLog) write(r *http.Request, rec *recorder, now time.Time) {
	status := rec.finalStatus()
	if rec.own && status < 400 {
		return // probes come every few seconds, and say nothing
	}
	ctx := context.Background()
	if !l.handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	line := slog.NewRecord(now, slog.LevelInfo, "request", 0)
	var attrs [8]slog.Attr // added at once, or the record grows step by step
	a := append(attrs[:0],
		slog.String("method", truncate(r.Method, maxLoggedMethod)),
		slog.String("path", truncate(r.URL.Path, maxLoggedPath)),
		slog.Int("status", status),
		slog.Int64("bytes", rec.bytes),
		slog.Duration("duration", now.Sub(rec.start)))
	if id := rec.loggedID(); id != "" {
		a = append(a, slog.String("request_id", id))
	}
	if rec.anonymous {
		a = append(a, slog.Bool("anonymous", true))
	} else {
		a = append(a, slog.String("remote", hostOf(r.RemoteAddr)))
		if rec.user != "" {
			a = append(a, slog.String("user", rec.user))
		}
	}
	line.AddAttrs(a...)
	// There is nobody to tell that the log can't be written.
	_ = l.handler.Handle(ctx, line)
}

func hostOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

// truncate cuts s to at most limit bytes, between characters.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
