package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// askPage asks for a page with the cookie of a session, and follows no redirect. The
// caller closes the body.
func (p *process) askPage(t *testing.T, method, path, cookie string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", cookie)
	resp, err := client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A download ends when its reader signs out.
func TestSignOutEndsADownload(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		p := start(t, s)
		const size = 24 << 20 // more than the buffers of a connection
		r, err := p.sendStream(t, bytes.NewReader(make([]byte, size)), "x")
		if err != nil || r.status != 201 {
			t.Fatalf("status %d, %v", r.status, err)
		}
		cookie := p.signIn(t, "ann")
		file := p.askPage(t, "GET", "/page/1/form/paper/submission/1/file/doc/large.bin", cookie)
		defer func() { _ = file.Body.Close() }()
		if _, err := io.ReadFull(file.Body, make([]byte, 1<<10)); err != nil || file.StatusCode != 200 {
			t.Fatalf("status %d, %v", file.StatusCode, err)
		}
		out := p.askPage(t, "POST", "/logout", cookie)
		if err := out.Body.Close(); err != nil || out.StatusCode != 303 {
			t.Fatalf("sign-out: status %d, %v", out.StatusCode, err)
		}
		rest, err := io.Copy(io.Discard, file.Body)
		if err == nil || rest > size/2 {
			t.Errorf("%d of %d bytes came after the sign-out, %v", rest, size, err)
		}
	})
}

func TestAnswersThatBrowsersAndSpreadsheetsRun(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	p.must(t, 201, "POST", "/note/submission", note("x;=1+41"))
	if csv := p.must(t, 200, "GET", "/note/result?format=csv", "").body; !strings.Contains(csv, "x;'=1+41") {
		t.Errorf("CSV: %s", csv)
	}
	r, err := p.sendStream(t, strings.NewReader("#!/usr/bin/env node\nalert(1)\n"), "a script")
	if err != nil || r.status != 201 {
		t.Fatalf("status %d, %v", r.status, err)
	}
	cookie := p.signIn(t, "ann")
	for _, tt := range []struct{ path, cookie, header, value string }{
		{"/page/1/form/paper/submission/2/file/doc/large.bin", cookie, "Content-Type", "text/plain; charset=utf-8"},
		{"/page/1/form/paper/submission/2/file/doc/none", cookie, "Content-Type", "text/html; charset=utf-8"},
		{"/static/none.js", "", "Content-Type", "text/html; charset=utf-8"},
		{"/", "", "Cache-Control", "no-store"}, // a redirect to the sign-in
	} {
		resp := p.askPage(t, "GET", tt.path, tt.cookie)
		_ = resp.Body.Close()
		if got := resp.Header.Get(tt.header); got != tt.value {
			t.Errorf("%s: %s is %q, want %q (status %d)", tt.path, tt.header, got, tt.value, resp.StatusCode)
		}
	}
}
