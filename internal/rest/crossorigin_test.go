package rest

import (
	"net/http"
	"testing"
)

// A browser adds Basic credentials to the requests of any site.
func TestWritesOnBehalfOfOtherSitesAreRefused(t *testing.T) {
	e := newEnv(t, house())
	body := nestedBody("name", "Ann")
	for _, test := range []struct {
		name, user, method, header, value string
		status                            int
	}{
		{"no browser", "alice", "POST", "", "", http.StatusCreated},
		{"same origin", "alice", "POST", "Sec-Fetch-Site", "same-origin", http.StatusCreated},
		{"typed in", "alice", "POST", "Sec-Fetch-Site", "none", http.StatusCreated},
		{"read by another site", "alice", "GET", "Sec-Fetch-Site", "cross-site", http.StatusOK},
		{"write by another site", "alice", "POST", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"write by another origin of the site", "alice", "POST", "Sec-Fetch-Site", "same-site", http.StatusForbidden},
		{"old browser", "alice", "POST", "Origin", "https://elsewhere.example", http.StatusForbidden},
		{"credentials come first", "", "POST", "Sec-Fetch-Site", "cross-site", http.StatusUnauthorized},
	} {
		r := testRequest{user: test.user, method: test.method, path: allPath + "/submission"}
		if test.method == "POST" {
			r.body = body
		}
		r.header = http.Header{"Content-Type": {"application/json"}}
		if test.header != "" {
			r.header.Set(test.header, test.value)
		}
		t.Run(test.name, func(t *testing.T) { e.expect(t, test.status, r) })
	}
}
