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
		if !test.kept && (got == test.given || len(got) != 16) {
			t.Errorf("%q became %q", test.given, got)
		}
	}
}

// A counter would tell clients how many requests others make.
func TestGeneratedRequestIDsAreRandom(t *testing.T) {
	first, foreign := requestID(httptest.NewRequest("GET", "/", nil))
	second, _ := requestID(httptest.NewRequest("GET", "/", nil))
	if foreign || len(first) != 16 || first[:8] == second[:8] {
		t.Errorf("ids %q and %q, foreign: %v", first, second, foreign)
	}
}
