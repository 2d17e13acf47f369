package auth

import "testing"

func TestClientHost(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:80":                 "192.0.2.1",
		"192.0.2.1":                    "192.0.2.1",
		"[::ffff:192.0.2.1]:80":        "192.0.2.1",
		"::ffff:192.0.2.1":             "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80":    "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::1":         "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]":       "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":            "fe80::/64",
		"client.example:80":            "client.example",
		"@":                            "@",
		"":                             "",
		"/run/formulary.sock":          "/run/formulary.sock",
		"2001:db8:1:2:3:4:5:6:7:8:9:a": "2001:db8:1:2:3:4:5:6:7:8:9:a",
	} {
		if got := clientHost(addr).String(); got != want {
			t.Errorf("clientHost(%q) = %q, want %q", addr, got, want)
		}
	}
}
