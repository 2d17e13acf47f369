package rest

import (
	"testing"
)

// A browser adds Basic credentials to the requests of any site.
func TestWritesOnBehalfOfOtherSitesAreRefused(t *testing.T) {
	e := newHouse(t)
	body := nestedBody("name", "Ann")
	for _, test := range []struct {
		name, user, method, header, value string
		status                            int
	}{
		{"no browser", "alice", "POST", "", "", 201},
		{"same origin", "alice", "POST", "Sec-Fetch-Site", "same-origin", 201},
		{"typed in", "alice", "POST", "Sec-Fetch-Site", "none", 201},
		{"read by another site", "alice", "GET", "Sec-Fetch-Site", "cross-site", 200},
		{"write by another site", "alice", "POST", "Sec-Fetch-Site", "cross-site", 403},
		{"write by another origin of the site", "alice", "POST", "Sec-Fetch-Site", "same-site", 403},
		{"old browser", "alice", "POST", "Origin", "https://elsewhere.example", 403},
		{"credentials come first", "", "POST", "Sec-Fetch-Site", "cross-site", 401},
	} {
		r := ask(test.user+" "+test.method, allPath+"/submission")
		if test.method == "POST" {
			r.body = body
		}
		r.header = headerOf("Content-Type", "application/json")
		if test.header != "" {
			r.header.Set(test.header, test.value)
		}
		t.Run(test.name, func(t *testing.T) { e.expect(t, test.status, r) })
	}
}
