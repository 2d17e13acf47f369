package wiki

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Bounds of the cookies that a browser's session may have.
const (
	maxCookies     = 16
	maxCookieBytes = 8 << 10
)

// selectCookies returns the first cookie of each name that is wanted, in an order that
// does not depend on the browser. Those that can't be sent are left out. It returns
// none if they are more than a session has.
func selectCookies(cookies []*http.Cookie, wanted func(name string) bool) []*http.Cookie {
	var found []*http.Cookie
	size := 0
	for _, c := range cookies {
		sent := &http.Cookie{Name: c.Name, Value: c.Value} //nolint:gosec // attributes are not sent
		if wanted(c.Name) && c.Value != "" && sent.Valid() == nil && !hasCookie(found, c.Name) {
			found = append(found, sent)
			size += len(c.Name) + len(c.Value)
		}
	}
	if len(found) > maxCookies || size > maxCookieBytes {
		return nil
	}
	slices.SortFunc(found, func(a, b *http.Cookie) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

func hasCookie(cookies []*http.Cookie, name string) bool {
	return slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return c.Name == name })
}

func cookieHeader(cookies []*http.Cookie) http.Header {
	var pairs []string
	for _, c := range cookies {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return http.Header{"Cookie": {strings.Join(pairs, "; ")}}
}
