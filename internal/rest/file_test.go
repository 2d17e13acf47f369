package rest

import (
	"archive/zip"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

func pathEscape(name string) string { return url.PathEscape(name) }

func TestDownload(t *testing.T) {
	e := newFilesEnv(t)
	content := strings.Repeat("<!DOCTYPE html><script>alert(1)</script>\n", 20_000) // several chunks
	path := e.createFiles(t, textPart("title", "x"), filePart("doc", "Über %2250%%22.html", content)) + "/file/doc/" + pathEscape(`Über "50%".html`)
	get := func(method string, status int, header ...string) answer {
		t.Helper()
		r := ask("alice "+method, path).with(http.Header{})
		for i := 0; i < len(header); i += 2 {
			r.header.Set(header[i], header[i+1])
		}
		return e.expect(t, status, r)
	}
	a := get("GET", 200, "Accept-Encoding", "gzip")
	if a.body != content {
		t.Errorf("%d bytes, want %d", len(a.body), len(content))
	}
	for name, want := range map[string]string{
		"Content-Type":            "text/html; charset=utf-8",
		"Content-Disposition":     `attachment; filename="_ber _50__.html"; filename*=UTF-8''%C3%9Cber%20%2250%25%22.html`,
		"Content-Security-Policy": "sandbox",
		"X-Content-Type-Options":  "nosniff",
		"Cache-Control":           "no-store",
		"Accept-Ranges":           "bytes",
		"Content-Length":          "820000",
		"Content-Encoding":        "",
	} {
		testkit.Same(t, name, a.header.Get(name), want)
	}
	tag := a.header.Get("ETag")
	if head := get("HEAD", 200); head.header.Get("Content-Length") != "820000" || head.header.Get("ETag") != tag || head.body != "" {
		t.Errorf("HEAD: %v", head.header)
	}
	get("GET", 304, "If-None-Match", tag)
	get("HEAD", 304, "If-None-Match", `"other", W/`+tag)
	get("GET", 200, "If-None-Match", `"other"`)
	get("GET", 412, "If-Match", `"other"`)
	get("GET", 200, "If-Match", tag)
	for spec, want := range map[string]string{
		"bytes=0-14": content[:15], "bytes=-5": content[len(content)-5:], "bytes=262100-600000": content[262100:600001], "bytes=819999-": "\n",
	} {
		a := get("GET", 206, "Range", spec)
		if a.body != want || a.header.Get("ETag") != tag || a.header.Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("%s: %d bytes, want %d; %v", spec, len(a.body), len(want), a.header)
		}
	}
	if a := get("GET", 206, "Range", "bytes=0-0,5-6"); !strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %v", a.header)
	}
	get("GET", 206, "Range", "bytes=0-0"+strings.Repeat(",5-5", request.MaxRanges-1))
	for _, ignored := range []string{"bytes=0-0" + strings.Repeat(",5-5", request.MaxRanges), "lines=0-1"} {
		if a := get("GET", 200, "Range", ignored); a.body != content {
			t.Errorf("%s: %d bytes, want %d", ignored, len(a.body), len(content))
		}
	}
	get("GET", 206, "Range", "bytes=0-1", "If-Range", tag)
	get("GET", 200, "Range", "bytes=0-1", "If-Range", `"other"`)
	if a := get("GET", 416, "Range", "bytes=820000-"); a.header.Get("Content-Range") != "bytes */820000" || a.header.Get("Content-Disposition") != "" {
		t.Errorf("beyond the end: %v", a.header)
	}
}

// What scripts could hide in comes back with its own type, and yet only as
// something to save.
func TestDownloadsNeverRun(t *testing.T) {
	e := newFilesEnv(t)
	for name, f := range map[string]struct{ content, mediaType string }{
		"a.svg":  {`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, "image/svg+xml"},
		"a.html": {`<html><script>alert(1)</script></html>`, "text/html; charset=utf-8"},
		"a.txt":  {`<html><script>alert(1)</script></html>`, "text/html; charset=utf-8"},
		"a.zip":  {zipped(t, "a.html", "<script>"), "application/zip"},
		"a.bin":  {"\x00\x01\x02", "application/octet-stream"},
		"empty":  {"", "text/plain"},
		"a.js":   {"#!/usr/bin/env node\nalert(1)\n", "text/plain; charset=utf-8"},
	} {
		path := e.createFiles(t, textPart("title", "x"), filePart("doc", name, f.content))
		a := e.expect(t, 200, ask("alice GET", path+"/file/doc/"+name))
		h := a.header
		if a.body != f.content || h.Get("Content-Type") != f.mediaType || h.Get("Content-Security-Policy") != "sandbox" ||
			!strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q with %v", name, clip(a.body), h)
		}
	}
}

// zipped is an archive. Nobody ever looks into it.
func zipped(t *testing.T, name, content string) string {
	t.Helper()
	var b strings.Builder
	archive := zip.NewWriter(&b)
	w, err := archive.Create(name)
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	testkit.Must(t, errors.Join(err, archive.Close()))
	return b.String()
}

// Ids of fields are escaped in paths like anything else.
func TestFilesOfOddFields(t *testing.T) {
	ids := []string{"a//b", "a/../b", "..", "ä ö?", "%2F"}
	page := "```form\nform: odd\nfields:\n"
	for _, id := range ids {
		page += "  - {id: '" + id + "', type: file, label: x}\n"
	}
	e := newEnv(t, map[string]string{"8-odd.md": page + "```\n"})
	for _, id := range ids {
		a := e.expect(t, 201, uploadOf(form(8, "odd")+"/submission", filePart(id, "a", "content of "+id)))
		path := a.header.Get("Location") + "/file/" + strings.ReplaceAll(pathEscape(id), ".", "%2E") + "/a"
		req := e.newRequest(t, ask("alice GET", path))
		resp, err := e.client.Do(req)
		testkit.Must(t, err)
		content, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || string(content) != "content of "+id {
			t.Errorf("%s: status %d, %q, %v", path, resp.StatusCode, content, err)
		}
	}
}

// Only users who may read a submission may read its files.
func TestWhoMayReadFiles(t *testing.T) {
	e := newFilesEnv(t)
	path := e.createFiles(t, textPart("title", "x"), filePart("doc", "a", "content"))
	other := e.createFiles(t, textPart("title", "x"))
	for user, status := range map[string]int{"alice": 200, "bob": 404, "carol": 200, "dave": 404, "": 401} {
		for _, method := range []string{"GET", "HEAD"} {
			e.expect(t, status, ask(user+" "+method, path+"/file/doc/a"))
		}
	}
	for _, missing := range []string{
		path + "/file/doc/b", path + "/file/doc/A", path + "/file/pic/a", path + "/file/nope/a", path + "/file/doc/a%2F", path + "/file/doc/a/",
		path + "/file/doc", path + "/file", path + "/file/doc/%2e%2e", path + "/file//a", path + "/file/doc/" + strings.Repeat("x", 5000),
		path + "/file/doc/%FF", path + "/file/doc/a%00", other + "/file/doc/a", filesPath + "/submission/99/file/doc/a",
		strings.Replace(path, "/page/8/", "/page/7/", 1) + "/file/doc/a",
	} {
		e.expect(t, 404, ask("alice GET", missing))
	}
	e.expect(t, 405, ask("alice DELETE", path+"/file/doc/a"))

	// Another's submission does not take files, and none are left of them.
	unchanged := e.unchanged(t)
	bob := uploadOf(path, filePart("doc", "b", "bob's"))
	bob.user = "bob"
	e.expect(t, 404, bob)
	unchanged()
	e.expectNothingStaged(t)
}
