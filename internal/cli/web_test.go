package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestFrameAncestors(t *testing.T) {
	for _, good := range []string{
		"https://wiki.example.org", "http://wiki", "https://wiki.example.org:8443", "http://127.0.0.1:8090", "https://xn--bcher-kva.example",
		" https://wiki.example.org ", // after a comma in a list
	} {
		if got, err := parseOrigins([]string{good}); err != nil || !slices.Equal(got, []string{strings.TrimSpace(good)}) {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{
		"", " ", "*", "https:", "https://", "https://*", "https://*.example.org", "'self'", "'none'", "self", "none", "null", "data:", "wiki.example.org",
		"//wiki.example.org", "https://wiki.example.org/", "https://wiki.example.org/wiki", "https://wiki.example.org?", "https://wiki.example.org#a",
		"https://wiki.example.org;", "https://wiki.example.org; script-src *", "https://a.example https://b.example", "https://a.example,https://b.example",
		"https://wiki.example.org:", "https://wiki.example.org:0", "https://wiki.example.org:65536", "https://wiki.example.org:*", "https://wiki.example.org:8x",
		"https://WIKI.example.org", "HTTPS://wiki.example.org", "https://user@wiki.example.org", "https://[::1]", "https://[::1]:8443", "https://bücher.example",
		"https://wiki..example.org", "https://.example.org", "https://wiki.example.org.", "https://-wiki.example.org", "https://wiki_1.example.org",
		"ftp://wiki.example.org", "javascript:alert(1)", "https://wiki.example.org\nx", "\"https://wiki.example.org\"", "https://wiki.example.org\x00",
		"https://wiki\r\nX-Evil: 1", "https:\\\\wiki.example.org", "blob:https://wiki.example.org",
	} {
		got, err := parseOrigins([]string{"https://good.example", bad})
		if err == nil || !strings.Contains(err.Error(), "--frame-ancestors ") || !strings.Contains(err.Error(), "https://wiki.example.org") {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}
