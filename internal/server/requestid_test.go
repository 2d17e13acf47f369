package server

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestID(t *testing.T) {
	c := newTestChain(Options{})
	for _, test := range []struct {
		given string
		kept  bool
	}{
		{"", false},
		{"a", true},
		{"Az09._-", true},
		{strings.Repeat("x", 64), true},
		{strings.Repeat("x", 65), false},
		{"two words", false},
		{"a\"b", false},
		{"ü", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if test.given != "" {
			r.Header.Set("X-Request-Id", test.given)
		}
		got := c.serve(r).Header().Get("X-Request-Id")
		if test.kept && got != test.given {
			t.Errorf("%q became %q", test.given, got)
		}
		if !test.kept && (got == test.given || !validRequestID(got)) {
			t.Errorf("%q became %q", test.given, got)
		}
	}
}

func TestGeneratedRequestIDsAreRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id, foreign := requestID(httptest.NewRequest("GET", "/", nil))
		if seen[id] || foreign || len(id) != 16 || !validRequestID(id) {
			t.Fatalf("id %q twice, or foreign: %v", id, foreign)
		}
		seen[id] = true
	}
	// A counter keeps all but its last characters from one id to the next.
	for i := range 16 {
		values := map[byte]bool{}
		for id := range seen {
			values[id[i]] = true
		}
		if len(values) < 16 {
			t.Errorf("character %d has %d values in a thousand ids", i, len(values))
		}
	}
}
