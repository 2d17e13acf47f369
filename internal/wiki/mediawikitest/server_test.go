package mediawikitest_test

import (
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

func get(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	testkit.Must(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", res.StatusCode, err, body)
	}
	return string(body)
}

// Package wiki tests what its client sees of a server. This is the rest.
func TestServer(t *testing.T) {
	s := mediawikitest.Start(t)
	s.Write("A page", "some text")
	s.Stop()
	s.Restart()
	const raw = "/index.php?title=A_page&action=raw"
	testkit.Same(t, "after the restart the page", get(t, s.URL+raw), "some text")
	other := mediawikitest.Start(t)
	other.Write("A page", "another text")
	testkit.Same(t, "beside another wiki the page", get(t, s.URL+raw), "some text")
	get(t, s.API+"?action=query&meta=siteinfo&format=json")
	get(t, s.API+"?action=query&prop=info&meta=userinfo&titles=A_page&format=json")
	if got, want := s.Calls(), []string{"siteinfo", "info"}; !slices.Equal(got, want) {
		t.Errorf("calls are %q, want %q", got, want)
	}
}
