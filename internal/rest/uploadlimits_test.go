package rest

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// stalledUploads are bodies of which a part of a file has been sent.
func (e *env) stalledUploads(t *testing.T, user string, count int) (conns []net.Conn) {
	t.Helper()
	held := e.api.Limiters.Uploads.Taken()
	head := "--a-boundary\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a\"\r\n\r\n" + strings.Repeat("x", 10_000)
	for i := range count {
		framing := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", request.LargeBody+1, head)
		if i%2 == 0 {
			framing = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(head), head)
		}
		conns = append(conns, e.beginAs(t, user, "POST", filesPath+"/submission", multipartHeader.Get("Content-Type"), framing))
	}
	await(t, e.api.Limiters.Uploads, held+count)
	return conns
}

func TestUploadsAtATimeAreBounded(t *testing.T) {
	everyone := strings.Replace(filesPage, "view: [alice, bob, carol]\n", "", 1)
	e := newEnv(t, map[string]string{"8-files.md": everyone})
	e.Users.Set(five)
	large := uploadOf(filesPath+"/submission", textPart("title", "x"), filePart("doc", "a", strings.Repeat("x", request.LargeBody)))
	small := uploadOf(filesPath+"/submission", textPart("title", "x"), filePart("doc", "a", "small"))
	as := func(user string, r testRequest) testRequest { r.user = user; return r }

	conns := e.stalledUploads(t, "alice", 16)
	e.refused(t, 429, as("alice", large))
	e.expect(t, 201, as("alice", small))
	e.expect(t, 201, as("bob", large))
	e.create(t, "alice", filesPath, nestedBody("title", "x"))

	conns = append(conns, e.stalledUploads(t, "bob", 16)...)
	conns = append(conns, e.stalledUploads(t, "carol", 8)...)
	e.refused(t, 503, as("erin", large))
	e.expect(t, 201, as("erin", small))

	// Clients that go away leave neither slots nor contents.
	for _, conn := range conns {
		closeConn(t, conn)
	}
	await(t, e.api.Limiters.Uploads, 0)
	e.expectNothingStaged(t)
	e.expect(t, 201, as("erin", large))
}

// What the page and the rights are when an upload has come in counts, and
// nothing is left of one that is no longer wanted.
func TestFormChangesDuringAnUpload(t *testing.T) {
	e := newFilesEnv(t)
	own := e.createFiles(t, textPart("title", "old"), filePart("doc", "old", "old"))
	unchanged := e.unchanged(t)
	parts := []part{textPart("title", "x"), filePart("doc", "a", strings.Repeat("x", 600_000)), filePart("doc", "b", strings.Repeat("y", 600_000))}
	for _, tt := range []struct {
		name   string
		do     func()
		status int
	}{
		{"the field goes", func() {
			e.Write(t, "8-files.md", strings.Replace(filesPage, "id: doc, type: file", "id: other, type: file", 1))
		}, 400},
		{"the field becomes a text", func() {
			e.Write(t, "8-files.md", strings.Replace(filesPage, "id: doc, type: file", "id: doc, type: textfield", 1))
		}, 400},
		{"the page is closed", func() { e.Write(t, "8-files.md", strings.Replace(filesPage, "view: [alice, ", "view: [", 1)) }, 404},
	} {
		for _, path := range []string{filesPath + "/submission", own} {
			e.Users.Set(testsite.Everybody)
			e.Write(t, "8-files.md", filesPage)
			if n := e.sendSlowly(t, uploadOf(path, parts...), tt.do); n.Code != tt.status {
				t.Errorf("%s during POST %s: status %d, want %d: %s", tt.name, path, n.Code, tt.status, n.Body)
			}
			e.expectNothingStaged(t)
		}
	}
	e.Write(t, "8-files.md", filesPage)
	unchanged()
}

// A length that promises more than arrives is a body that did not arrive.
func TestUploadWithAWrongLength(t *testing.T) {
	e := newFilesEnv(t)
	unchanged := e.unchanged(t)
	body := multipartOf(textPart("title", "x"), filePart("doc", "a", "content"))
	for _, sent := range []string{body, body[:len(body)-30]} {
		conn := e.beginAs(t, "alice", "POST", filesPath+"/submission", multipartHeader.Get("Content-Type"),
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+100, sent))
		testkit.Must(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("answered with %q, %v", clip(string(answer)), err)
		}
	}
	unchanged()
	e.expectNothingStaged(t)
}

// Faults of the store on the way leave nothing acknowledged and nothing staged.
func TestUploadWhenTheStoreFails(t *testing.T) {
	e := newFilesEnv(t)
	parts := []part{textPart("title", "x"), filePart("doc", "a", "one"), filePart("doc", "b", "two")}
	unchanged := e.unchanged(t)
	for _, operation := range []string{"stage", "create"} {
		e.fails(store.ErrFull, operation)
		e.expect(t, 507, uploadOf(filesPath+"/submission", parts...))
		e.expectNothingStaged(t)
	}
	e.fails(nil)
	unchanged()
	path := e.createFiles(t, parts...)
	e.fails(store.ErrUnavailable, "open")
	e.expect(t, 503, ask("alice GET", path+"/file/doc/a"))
}

// Neither the name nor the content of a file is logged, whatever happens to it.
func TestFilesAreNotLogged(t *testing.T) {
	e := newFilesEnv(t)
	secret := filePart("doc", "SecretName.txt", "SecretContent")
	e.createFiles(t, textPart("title", "x"), secret)
	e.expect(t, 400, uploadOf(filesPath+"/submission", secret))
	e.Store.FailWith(func(_ context.Context, op string) error { return fmt.Errorf("broken at %s", op) })
	e.expect(t, 500, uploadOf(filesPath+"/submission", textPart("title", "x"), secret))
	e.expect(t, 500, ask("alice GET", filesPath+"/submission/1/file/doc/SecretName.txt"))
	if logs := e.Logs.String(); strings.Contains(logs, "Secret") || !strings.Contains(logs, "broken at") {
		t.Errorf("logged: %s", logs)
	}
}
