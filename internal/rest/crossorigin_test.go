package rest

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// A browser adds Basic credentials to the requests of any site.
func TestWritesOnBehalfOfOtherSitesAreRefused(t *testing.T) {
	e := newHouse(t)
	for _, row := range testkit.Rows(`
		alice POST | | 201
		alice POST | Sec-Fetch-Site: same-origin | 201
		alice POST | Sec-Fetch-Site: none | 201
		alice GET | Sec-Fetch-Site: cross-site | 200
		alice POST | Sec-Fetch-Site: cross-site | 403
		alice POST | Sec-Fetch-Site: same-site | 403
		alice POST | Origin: https://elsewhere.example | 403
		POST | Sec-Fetch-Site: cross-site | 401
	`) {
		r := ask(row[0], allPath+"/submission").with(readJSONHeader(row[1]))
		if r.method == "POST" {
			r.body = nestedBody("name", "Ann")
		}
		e.expectText(t, row[2], r)
	}
}
