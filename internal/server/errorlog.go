package server

import (
	"bytes"
	"context"
	"log/slog"
)

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
