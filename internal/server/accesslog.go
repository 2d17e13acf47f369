package server

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Clients choose paths and methods, up to the size of a header.
const (
	maxLoggedPath   = 512
	maxLoggedMethod = 32
)

// AccessLog writes a line per request, in the form of slog's handlers. It
// never sees headers, bodies or the query, which may hold personal data.
//
// It does not use slog: building a record of eight attributes and formatting it
// took a tenth of the time of a read.
type AccessLog struct {
	w    io.Writer
	json bool
}

// NewAccessLog returns a log that calls w.Write once for each line, from many
// goroutines concurrently.
func NewAccessLog(w io.Writer, json bool) *AccessLog { return &AccessLog{w, json} }

var logLines = sync.Pool{New: func() any {
	b := make([]byte, 0, 512)
	return &b
}}

func (l *AccessLog) write(r *http.Request, rec *recorder, now time.Time) {
	status := rec.finalStatus()
	if rec.own && status < 400 {
		return // probes, every few seconds, would fill the log
	}
	buf := logLines.Get().(*[]byte)
	defer logLines.Put(buf)
	line := logLine{b: (*buf)[:0], json: l.json}
	line.begin(now)
	line.text("method", truncate(r.Method, maxLoggedMethod))
	line.text("path", truncate(r.URL.Path, maxLoggedPath))
	line.number("status", int64(status))
	line.number("bytes", rec.bytes)
	line.duration("duration", now.Sub(rec.start))
	if id := rec.loggedID(); id != "" {
		line.text("request_id", id)
	}
	if rec.anonymous {
		line.setTrue("anonymous")
	} else {
		line.text("remote", hostOf(r.RemoteAddr))
		if rec.user != "" {
			line.text("user", rec.user)
		}
	}
	*buf = line.end()
	// An error of the log can't be logged.
	_, _ = l.w.Write(*buf)
}

// logLine formats a line, as text or as JSON.
type logLine struct {
	b    []byte
	json bool
}

const logTime = "2006-01-02T15:04:05.000Z07:00"

// LogTime is a slog.HandlerOptions.ReplaceAttr. It formats the time as the access
// log does, so that lines of both can be sorted.
func LogTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		a.Value = slog.StringValue(a.Value.Time().Format(logTime))
	}
	return a
}

func (l *logLine) begin(now time.Time) {
	if l.json {
		l.b = append(now.AppendFormat(append(l.b, `{"time":"`...), logTime), `","level":"INFO","msg":"request"`...)
		return
	}
	l.b = append(now.AppendFormat(append(l.b, "time="...), logTime), " level=INFO msg=request"...)
}

func (l *logLine) end() []byte {
	if l.json {
		return append(l.b, "}\n"...)
	}
	return append(l.b, '\n')
}

func (l *logLine) key(key string) {
	if l.json {
		l.b = append(append(append(l.b, `,"`...), key...), `":`...)
		return
	}
	l.b = append(append(append(l.b, ' '), key...), '=')
}

func (l *logLine) text(key, value string) {
	l.key(key)
	switch {
	case !l.json && isPlain(value):
		l.b = append(l.b, value...)
	case !l.json:
		l.b = strconv.AppendQuote(l.b, value)
	case isPlain(value):
		l.b = append(append(append(l.b, '"'), value...), '"')
	default:
		quoted, _ := json.Marshal(value) // a string always has a JSON form
		l.b = appendEscaped(l.b, quoted)
	}
}

// isPlain reports whether a value needs no quotes in a text line, nor escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= utf8.RuneSelf-1 || c == '"' || c == '=' || c == '\\' {
			return false
		}
	}
	return s != ""
}

func (l *logLine) number(key string, value int64) {
	l.key(key)
	l.b = strconv.AppendInt(l.b, value, 10)
}

func (l *logLine) setTrue(key string) {
	l.key(key)
	l.b = append(l.b, "true"...)
}

// duration is a number of seconds in JSON.
func (l *logLine) duration(key string, d time.Duration) {
	l.key(key)
	if l.json {
		l.b = strconv.AppendFloat(l.b, d.Seconds(), 'f', -1, 64)
		return
	}
	l.b = append(l.b, d.String()...)
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
