package rest

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

const filesPage = "---\nview: [alice, bob, carol]\nedit: [carol]\n---\n```form\n" + `form: files
fields:
  - {id: title, type: textfield, label: Title, required: true}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: tags, type: checkbox, label: Tags, options: [a, b, c]}
  - {id: doc, type: file, label: Document}
  - {id: pic, type: file, label: Picture, accept: [image/*, .pdf], maxSize: 1kB}
  - {id: kind, type: radio, label: Kind, options: [plain, proof]}
  - {id: proof, type: file, label: Proof, required: true, accept: [.pdf], showIf: {field: kind, equals: proof}}
` + "```\n"

var filesPath = form(8, "files")

// newFilesEnv serves a form with file fields, and takes files of 4,000 bytes.
func newFilesEnv(t testing.TB) *env {
	t.Helper()
	return newEnv(t, map[string]string{"8-files.md": filesPage})
}

const testBoundary = "a-boundary"

// part is one part of a multipart body: a text if fileName is "-".
type part struct {
	name, fileName, content string
	header                  []string // further ones: pairs of a name and a value
}

func textPart(name, value string) part { return part{name: name, fileName: "-", content: value} }

func filePart(name, fileName, content string) part {
	return part{name: name, fileName: fileName, content: content, header: []string{"Content-Type", "application/octet-stream"}}
}

// multipartOf is a body in which names stand as they are.
func multipartOf(parts ...part) string {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary(testBoundary)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, p.name)
		if p.fileName != "-" {
			disposition += fmt.Sprintf(`; filename="%s"`, p.fileName)
		}
		h.Set("Content-Disposition", disposition)
		for i := 0; i < len(p.header); i += 2 {
			h.Set(p.header[i], p.header[i+1])
		}
		pw, _ := w.CreatePart(h) // a bytes.Buffer takes everything
		_, _ = pw.Write([]byte(p.content))
	}
	_ = w.Close()
	return b.String()
}

var multipartHeader = headerOf("Content-Type", request.MultipartType+"; boundary="+testBoundary)

func uploadOf(path string, parts ...part) testRequest {
	return ask("alice POST", path, multipartOf(parts...)).with(multipartHeader)
}

// createFiles submits parts and returns the path of the new submission.
func (e *env) createFiles(t testing.TB, parts ...part) string {
	t.Helper()
	return e.expect(t, 201, uploadOf(filesPath+"/submission", parts...)).header.Get("Location")
}

// expectNothingStaged waits until no content is left that belongs to no
// submission. A refusal may be read before the handler has ended.
func (e *env) expectNothingStaged(t testing.TB) {
	t.Helper()
	testkit.Eventually(t, "no staged contents are left", func() bool { return len(e.Store.Staged()) == 0 })
}

func TestUpload(t *testing.T) {
	e := newFilesEnv(t)
	content := strings.Repeat("0123456789", 30_000) + "\x00\xff"
	path := e.createFiles(t,
		textPart("_charset_", "UTF-8"),
		textPart("title", "Ünïcode; \r\n--a-bound"),
		filePart("doc", "report.txt", content),
		textPart("tags", "a"),
		filePart("doc", "report.txt", ""),
		textPart("tags", "c"),
		filePart("pic", "", ""), // a browser's field without a file
		filePart("doc", `C:\docs\a;b%22.zip`, "PK\x03\x04"),
	)
	sub := e.get(t, "alice", path)
	for _, want := range []string{
		`"fieldId":"title","value":"Ünïcode; \r\n--a-bound"`, `"fieldId":"tags","value":"a;c"`,
		`"fieldId":"doc","value":"report.txt;report (2).txt;a_b\".zip"`,
	} {
		testkit.Contains(t, "is not in", sub, want)
	}
	if strings.Contains(sub, `"pic"`) {
		t.Errorf("an empty file field is an answer: %s", sub)
	}
	for name, want := range map[string]string{"report.txt": content, "report%20(2).txt": "", "a_b%22.zip": "PK\x03\x04"} {
		if got := e.get(t, "alice", path+"/file/doc/"+name); got != want {
			t.Errorf("%s has %d bytes, want %d", name, len(got), len(want))
		}
	}
	testkit.Contains(t, "flat", e.get(t, "alice", result(path)), `"doc":"report.txt;report (2).txt;a_b\".zip"`)
	e.expectNothingStaged(t)
}

func TestUploadReplacesAndMergeKeeps(t *testing.T) {
	e := newFilesEnv(t)
	path := e.createFiles(t, textPart("title", "x"), filePart("doc", "a", "one"), filePart("doc", "b", "two"), filePart("pic", "p.pdf", "%PDF-1.7"))
	files := func(want map[string]string) {
		t.Helper()
		for _, name := range []string{"doc/a", "doc/b", "doc/c", "pic/p.pdf"} {
			a := e.do(t, ask("alice GET", path+"/file/"+name))
			if content, there := want[name]; there != (a.status == 200) || (there && a.body != content) {
				t.Errorf("%s: status %d, %q; want %q", name, a.status, clip(a.body), content)
			}
		}
	}
	files(map[string]string{"doc/a": "one", "doc/b": "two", "pic/p.pdf": "%PDF-1.7"})

	// What was read can be sent back, in both models.
	e.expect(t, 200, ask("alice POST", path, e.get(t, "alice", path)))
	e.expect(t, 200, ask("alice PUT", result(path), e.get(t, "alice", result(path))))
	files(map[string]string{"doc/a": "one", "doc/b": "two", "pic/p.pdf": "%PDF-1.7"})

	e.expect(t, 200, ask("alice POST", path, nestedBody("doc", "b;note")))
	files(map[string]string{"doc/b": "two", "pic/p.pdf": "%PDF-1.7"})
	a := e.expect(t, 200, uploadOf(path, filePart("doc", "c", "three"), filePart("doc", "b", "four")))
	testkit.Contains(t, "after files were replaced", a.body, `"value":"c;b"`)
	files(map[string]string{"doc/b": "four", "doc/c": "three", "pic/p.pdf": "%PDF-1.7"})
	e.expect(t, 200, uploadOf(path, textPart("pic", ""), textPart("title", "y")))
	files(map[string]string{"doc/b": "four", "doc/c": "three"})
	// A name that once was a file's is a text now.
	e.expect(t, 200, ask("alice PUT", result(path), `{"pic":"p.pdf"}`))
	files(map[string]string{"doc/b": "four", "doc/c": "three"})

	e.expect(t, 204, ask("carol DELETE", result(path)))
	e.expect(t, 404, ask("carol GET", path+"/file/doc/c"))
}

// fieldFaults have texts (name=value) and files (name@file=content), and are refused for what is wrong with fields.
const fieldFaults = `
	required text is missing | doc@a.txt=content | {"title":"is required"}
	a text is wrong | title=x & doc@a.txt=content & mail=x | {"mail":"must be an e-mail address such as name@example.org"}
	a text is wrong, before a file | mail=x & doc@a.txt=content & title=x | {"mail":"must be an e-mail address such as name@example.org"}
	repeated single value | title=x & title=x & doc@a.txt=content | {"title":"must be a single text, not a list"}
	unknown field | title=x & doc@a.txt=content & nope=x | {"nope":"is not a field of this form"}
	file for an unknown field | title=x & doc@a.txt=content & nope@a=b | {"nope":"is not a field of this form"}
	file for a text field | title=x & doc@a.txt=content & mail@a=b | {"mail":"takes no files"}
	text for a file field | title=x & doc=a.txt | {"doc":"must be sent as a file: the part needs a filename"}
	text and file for a field | title=x & doc@a.txt=content & doc= | {"doc":"must be sent as files only"}
	content against accept | title=x & doc@a.txt=content & pic@a.png=<html> | {"pic":"takes only pictures and PDF files, and a.png is neither"}
	a shown field's file | title=x & proof@a.pdf=text & kind=proof | {"proof":"takes only PDF files, and a.pdf is something else"}
	a shown field without a file | title=x & doc@a.txt=content & kind=proof | {"proof":"is required"}
	a file and then a text, after a fault | mail=x & title=x & doc@a.txt=content & doc= | {"doc":"must be sent as files only","mail":"must be an e-mail address such as name@example.org"}
`

// partsOf reads the parts of such a body.
func partsOf(text string) (parts []part) {
	for p := range strings.SplitSeq(text, " & ") {
		name, content, _ := strings.Cut(p, "=")
		if id, file, found := strings.Cut(name, "@"); found {
			parts = append(parts, filePart(id, file, content))
		} else {
			parts = append(parts, textPart(name, content))
		}
	}
	return parts
}

// multipartFault is refused with a validation result or a problem.
type multipartFault struct {
	name, body string
	status     int
	faults     string // of the validation result
}

func multipartFaults() []multipartFault {
	title := textPart("title", "x")
	doc := filePart("doc", "a.txt", "content")
	with := func(p part, header ...string) part { p.header = append(p.header, header...); return p }
	whole := multipartOf(title, doc)
	list := []multipartFault{
		{"no name", multipartOf(title, doc, textPart("", "x")), 400, `{},"errors":["part 3 must have one Content-Disposition: form-data; name=\"the id of a field\""]`},
		{"attachment", "--a-boundary\r\nContent-Disposition: attachment; name=\"title\"\r\n\r\nz\r\n--a-boundary--\r\n", 400, ""},
		{"two dispositions", "--a-boundary\r\nContent-Disposition: form-data; name=\"title\"\r\nContent-Disposition: form-data; name=\"doc\"\r\n\r\nz\r\n--a-boundary--\r\n", 400, ""},
		{"name not in UTF-8", multipartOf(title, doc, textPart("\xff", "x")), 400, `{},"errors":["the name of part 3 is not in UTF-8"]`},
		{"text not in UTF-8", multipartOf(textPart("title", "\xff"), doc), 400, `{"title":"must be valid text without NUL characters"},"errors":[]`},
		{"NUL", multipartOf(textPart("title", "\x00"), doc), 400, `{"title":"must be valid text without NUL characters"},"errors":[]`},
		{"transfer encoding", multipartOf(title, with(doc, "Content-Transfer-Encoding", "base64")), 400, `{"doc":"must be sent as it is, texts in UTF-8: without Content-Transfer-Encoding, and not as a multipart of its own"},"errors":[]`},
		{"charset of a part", multipartOf(with(title, "Content-Type", "text/plain; charset=iso-8859-1")), 400, `{"title":"must be sent as it is, texts in UTF-8: without Content-Transfer-Encoding, and not as a multipart of its own"},"errors":[]`},
		{"_charset_", multipartOf(textPart("_charset_", "windows-1252"), title), 400, `{},"errors":["_charset_ must be UTF-8: send the body in UTF-8"]`},
		{"nested multipart", multipartOf(title, with(doc, "Content-Type", "multipart/mixed; boundary=x")), 400, `{"doc":"must be sent as it is, texts in UTF-8: without Content-Transfer-Encoding, and not as a multipart of its own"},"errors":[]`},
		{"beyond maxSize", multipartOf(title, doc, filePart("pic", "a.pdf", "%PDF-1.7"+strings.Repeat("x", 993))), 400, `{"pic":"must be at most 1 kB, and a.pdf is larger"},"errors":[]`},
		{"empty", "", 400, `{},"errors":["the body is not valid multipart/form-data: it ends before its last boundary"]`},
		{"cut off after a name", strings.SplitN(whole, "\r\n\r\n", 2)[0], 400, ""},
		{"cut off in a file", whole[:len(whole)-20], 400, ""},
		{"cut off before the last boundary", strings.TrimSuffix(whole, "--a-boundary--\r\n"), 400, ""},
		{"broken header", "--a-boundary\r\nContent-Disposition\r\n\r\nx\r\n--a-boundary--\r\n", 400, `{},"errors":["the body is not valid multipart/form-data: part 1 can't be read"]`},
		{"much after the end", whole + strings.Repeat("x", 20_000), 400, `{},"errors":["the body has more after its last boundary"]`},
		{"header of a part", multipartOf(title, doc, with(title, "X", strings.Repeat("x", 40_000))), 413, ""},
		{"name of a part", multipartOf(title, doc, textPart(strings.Repeat("x", 1100), "x")), 413, ""},
		{"before the first part", strings.Repeat("x\r\n", 20_000) + whole, 413, ""},
		{"parts", multipartOf(append([]part{doc}, slices.Repeat([]part{textPart("tags", "a")}, request.MaxNames)...)...), 413, ""},
		{"files of a field", multipartOf(append([]part{title}, slices.Repeat([]part{doc}, 11)...)...), 413, ""},
		{"a file", multipartOf(title, doc, filePart("doc", "b", strings.Repeat("x", testMaxFile+1))), 413, ""},
		{"a file that is not stored", multipartOf(title, doc, filePart("nope", "b", strings.Repeat("x", testMaxFile+16<<10))), 413, ""},
		{"texts together", multipartOf(doc, textPart("title", strings.Repeat("x", request.DefaultMaxBody-100)), textPart("mail", strings.Repeat("x", 200))), 413, ""},
	}
	for _, row := range testkit.Rows(fieldFaults) {
		list = append(list, multipartFault{row[0], multipartOf(partsOf(row[1])...), 400, row[2] + `,"errors":[]`})
	}
	return list
}

// testMaxFile is small, so that tests reach it.
const testMaxFile = 1 << 20

// Whatever is wrong with a body is told with a status of the client's faults,
// and leaves nothing behind.
func TestMultipartFaults(t *testing.T) {
	e := newFilesEnv(t)
	path := e.createFiles(t, textPart("title", "old"), filePart("doc", "old", "old"))
	before := e.dump(t)
	for _, tt := range multipartFaults() {
		for _, chunked := range []bool{false, true} {
			a := e.do(t, testRequest{
				user: "alice", method: "POST", path: filesPath + "/submission", body: tt.body, header: multipartHeader, chunked: chunked,
			})
			if a.status != tt.status {
				t.Errorf("%s, chunked %t: status %d, want %d: %s", tt.name, chunked, a.status, tt.status, clip(a.body))
			}
			if want := `{"valid":false,"fieldErrors":` + tt.faults + "}"; tt.faults != "" && a.body != want {
				t.Errorf("%s, chunked %t: %s\nwant %s", tt.name, chunked, clip(a.body), want)
			}
		}
		if tt.name != "required text is missing" && tt.name != "a shown field without a file" { // a merge leaves them alone
			if a := e.do(t, ask("alice POST", path, tt.body).with(multipartHeader)); a.status != tt.status {
				t.Errorf("merge, %s: status %d, want %d: %s", tt.name, a.status, tt.status, clip(a.body))
			}
		}
		e.expectNothingStaged(t)
	}
	if after := e.dump(t); after != before && !strings.Contains(after, `"value":"proof"`) {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

func TestMultipartContentTypes(t *testing.T) {
	e := newFilesEnv(t)
	body := multipartOf(textPart("title", "x"))
	path := e.createFiles(t, textPart("title", "old"))
	for _, row := range testkit.Rows(`
		Content-Type: Multipart/Form-Data; Boundary="a-boundary" | 201
		Content-Type: multipart/form-data; boundary=a-boundary; charset=UTF-8 | 201
		Content-Type: multipart/form-data | 400
		Content-Type: multipart/form-data; boundary= | 415
		Content-Type: multipart/form-data; boundary=` + strings.Repeat("x", 71) + ` | 400
		Content-Type: multipart/form-data; boundary=a; boundary=b | 415
		Content-Type: multipart/form-data; boundary=a-boundary; charset=latin1 | 415
		Content-Type: multipart/form-data; boundary=a-boundary + Content-Type: application/json | 415
		Content-Type: multipart/form-data; boundary=a-boundary + Content-Encoding: gzip | 415
		Content-Type: multipart/mixed; boundary=a-boundary | 415
		Content-Type: application/x-www-form-urlencoded | 415
	`) {
		e.expectText(t, row[1], ask("alice POST", filesPath+"/submission", body).with(readHeader(row[0])))
	}
	e.expect(t, 415, ask("alice PUT", result(path), body).with(multipartHeader))
}
