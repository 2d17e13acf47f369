package auth

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestClientHost(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:80":              "192.0.2.1",
		"192.0.2.1":                 "192.0.2.1",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1",
		"::ffff:192.0.2.1":          "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::",
		"2001:db8:1:2:ffff::1":      "2001:db8:1:2::",
		"[fe80::1%eth0]:80":         "fe80::",
		"client.example:80":         "invalid IP",
		"":                          "invalid IP",
	} {
		testkit.Same(t, addr, ClientHost(addr).String(), want)
	}
}
