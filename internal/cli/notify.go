package cli

import (
	"log/slog"
	"net"
	"os"
)

// notify tells systemd what the server does, as sd_notify(3) does. Without a
// unit of Type=notify, NOTIFY_SOCKET is not set, and notify does nothing.
func notify(log *slog.Logger, state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		log.Warn("systemd can't be notified", "error", err)
	}
}
