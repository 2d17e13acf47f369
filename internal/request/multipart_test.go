package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

const page = "```form\n" + `form: files
fields:
  - {id: title, type: textfield, label: Title, required: true}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: tags, type: checkbox, label: Tags, options: [a, b, c]}
  - {id: doc, type: file, label: Document}
  - {id: pic, type: file, label: Picture, accept: [image/*, .pdf], maxSize: 1kB}
  - {id: kind, type: radio, label: Kind, options: [plain, proof]}
  - {id: proof, type: file, label: Proof, required: true, accept: [.pdf], showIf: {field: kind, equals: proof}}
` + "```\n"

const maxFile = 4_000

// countedFiles tells how many contents are staged.
type countedFiles struct {
	store.Files
	staged atomic.Int64
}

func (f *countedFiles) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	file, err := f.Files.StageFile(ctx, r)
	if err == nil {
		f.staged.Add(1)
	}
	return file, err
}

func (f *countedFiles) DropFile(id int64) {
	f.Files.DropFile(id)
	f.staged.Add(-1)
}

// env decodes bodies for one form.
type env struct {
	backend *Backend
	access  *service.Access
	files   *countedFiles
}

func newEnv(t testing.TB, on enginetest.Engine) *env {
	t.Helper()
	dir := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "8-files.md"), []byte(page), 0o600))
	source, err := pages.OpenDirectory(dir, nil, slog.New(slog.DiscardHandler))
	testkit.Must(t, err)
	engine := on.Open(t)
	e := &env{files: &countedFiles{Files: engine}}
	svc := service.New(service.Options{
		Pages: source, Store: engine, Files: e.files, AnonymousKey: []byte("a key of thirty-two bytes, or so"),
		Now: time.Now, MaxSubmission: DefaultMaxBody, MaxFile: maxFile,
	})
	e.backend = NewBackend(Options{Service: svc})
	if e.access, err = svc.Form(t.Context(), auth.Identity{Name: "alice"}, 8, "files"); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *env) decode(t *testing.T, body []byte, extra url.Values) ([]forms.Answer, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)).WithContext(t.Context())
	r.Header.Set("Content-Type", MultipartType+"; boundary=a-boundary")
	c := e.backend.NewCall(httptest.NewRecorder(), r, auth.Identity{Name: "alice"})
	defer c.End()
	return DecodeMultipart(httptest.NewRecorder(), c, e.access, extra)
}

// part is one part of a body: a text if fileName is "-".
type part struct{ name, fileName, content string }

func text(name, value string) part { return part{name, "-", value} }

func bodyOf(parts ...part) []byte {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary("a-boundary")
	for _, p := range parts {
		disposition := fmt.Sprintf(`form-data; name="%s"`, p.name)
		if p.fileName != "-" {
			disposition += fmt.Sprintf(`; filename="%s"`, p.fileName)
		}
		pw, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}}) // a bytes.Buffer takes everything
		_, _ = pw.Write([]byte(p.content))
	}
	_ = w.Close()
	return b.Bytes()
}

// The answers hold all that was sent, in the order of the fields' first parts:
// what a digest of the request is made of.
func TestAnswers(t *testing.T) { enginetest.One(t, testAnswers) }

func testAnswers(t *testing.T, on enginetest.Engine) {
	e := newEnv(t, on)
	answers, err := e.decode(t, bodyOf(
		part{"doc", "a", "one"}, text("tags", "b"), part{"doc", "a", "two"}, text("tags", "c"), text("title", "x")), nil)
	testkit.Must(t, err)
	var got []string
	for _, a := range answers {
		got = append(got, fmt.Sprint(a.FieldID, a.Value, a.List))
		for _, f := range a.Files {
			got = append(got, f.Name+" "+f.SHA256[:6])
		}
	}
	want := []string{"doca;a (2)[]", "a 7692c3", "a (2) 3fc4cc", "tags[b c]", "titlex[]"}
	testkit.Diff(t, "answers", got, want)
}

// Texts whose name begins with "_" are no answers, if the caller asks for them.
func TestExtraTexts(t *testing.T) {
	e := newEnv(t, enginetest.SQLite)
	body := bodyOf(text("_charset_", "UTF-8"), text("_key", "k"), text("title", "x"), text("_key", "l"), text("_", ""))
	extra := url.Values{}
	answers, err := e.decode(t, body, extra)
	testkit.Must(t, err)
	testkit.Diff(t, "extra", extra, url.Values{"_key": {"k", "l"}, "_": {""}})
	testkit.Diff(t, "answers", answers, []forms.Answer{{FieldID: "title", Value: "x"}})
	answers, err = e.decode(t, body, nil)
	testkit.Must(t, err)
	want := []forms.Answer{{FieldID: "_key", IsList: true, List: []string{"k", "l"}}, {FieldID: "title", Value: "x"}, {FieldID: "_"}}
	testkit.Diff(t, "answers without extra", answers, want)
}

// A file is never extra: it is refused as one of a field that is not known.
func TestExtraFileIsRefused(t *testing.T) {
	e := newEnv(t, enginetest.SQLite)
	for file, name := range map[part]string{{"_x", "a", "content"}: "a", {"_x", "", ""}: "file"} {
		extra := url.Values{}
		answers, err := e.decode(t, bodyOf(text("title", "x"), file), extra)
		testkit.Must(t, err)
		want := []forms.Answer{{FieldID: "title", Value: "x"}, {FieldID: "_x", Value: name, Malformed: forms.MsgUnknownField}}
		if diff := cmp.Diff(want, answers); diff != "" || len(extra) != 0 {
			t.Errorf("%+v: extra %v, answers (-want +got):\n%s", file, extra, diff)
		}
	}
	testkit.Same(t, "files are staged", e.files.staged.Load(), 0)
}

// A page tells all files that are wrong by their names.
func TestFaultyFilesAreNamed(t *testing.T) {
	e := newEnv(t, enginetest.SQLite)
	const accept = "“Picture” takes only pictures and PDF files, and %s is neither"
	large := "%PDF-1.7" + strings.Repeat("x", 993)
	for name, tt := range map[string]struct {
		parts []part
		want  map[string]string
	}{
		"one": {[]part{{"pic", "a.exe", "MZ"}}, map[string]string{"pic": fmt.Sprintf(accept, "a.exe")}},
		"two": {[]part{{"pic", "a.exe", "MZ"}, {"pic", "b.exe", "MZ"}}, map[string]string{"pic": fmt.Sprintf(accept+"; "+accept, "a.exe", "b.exe")}},
		"a good one between": {
			[]part{{"pic", "a.exe", "MZ"}, {"pic", "b.pdf", "%PDF-1.7"}, {"pic", "c.exe", "MZ"}, {"doc", "d", "x"}},
			map[string]string{"pic": fmt.Sprintf(accept+"; "+accept, "a.exe", "c.exe")},
		},
		"for other reasons": {
			[]part{{"pic", "a.pdf", "%PDF-1.7"}, {"pic", "b.pdf", large}, {"pic", "c.pdf", "text"}, {"pic", "d.pdf", large}},
			map[string]string{"pic": fmt.Sprintf("%s; "+accept+"; %s", "“Picture” must be at most 1 kB, and b.pdf is larger", "c.pdf", "“Picture” must be at most 1 kB, and d.pdf is larger")},
		},
		"of two fields": {
			[]part{{"pic", "a.exe", "MZ"}, {"proof", "b.exe", "MZ"}},
			map[string]string{"pic": fmt.Sprintf(accept, "a.exe"), "proof": "“Proof” takes only PDF files, and b.exe is something else"},
		},
	} {
		answers, err := e.decode(t, bodyOf(tt.parts...), url.Values{})
		testkit.Must(t, err)
		got := map[string]string{}
		for _, a := range answers {
			if a.Misfit != nil {
				got[a.FieldID] = a.Misfit.String()
			}
		}
		testkit.Diff(t, name, got, tt.want)
		e.access.DropFiles(service.StagedFiles(answers))
	}
	testkit.Same(t, "files are staged", e.files.staged.Load(), 0)
	if _, err := e.decode(t, bodyOf(part{"pic", "a.exe", "MZ"}, part{"doc", "b", strings.Repeat("x", maxFile+1)}), url.Values{}); err == nil {
		t.Error("a file beyond the limit of the server is taken, after another that is wrong")
	}
}

// Extra texts count for the limits of a body as answers do.
func TestExtraTextsAreBounded(t *testing.T) {
	e := newEnv(t, enginetest.SQLite)
	many := make([]part, MaxNames+1)
	for i := range many {
		many[i] = text("_x", "")
	}
	for name, body := range map[string][]byte{
		"one text":   bodyOf(text("_x", strings.Repeat("x", DefaultMaxBody))),
		"two texts":  bodyOf(text("_x", strings.Repeat("x", DefaultMaxBody/2)), text("title", strings.Repeat("x", DefaultMaxBody/2))),
		"many parts": bodyOf(many...),
	} {
		_, err := e.decode(t, body, url.Values{})
		var status *StatusError
		if !errors.As(err, &status) || status.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %v, want 413", name, err)
		}
	}
}

// seeds are bodies that take each turn of the decoder.
func seeds() (list [][]byte) {
	// Texts are name=value, files name@file=content.
	for body := range strings.Lines(`title=x&doc@a=content
title=x&doc@a=b&doc@a=c&tags=a&tags=b
mail=x&doc@a=content&title=x
title=x&title=x&doc@a=content
title=x&doc@a=content&nope=x
title=x&nope@a=b
title=x&nope@=
title=x&doc@=
title=x&doc@a=content&mail@a=b
title=x&doc=a
title=x&doc@a=content&doc=
=x
a"; name="b=x
` + "\xff=x\ntitle=\xff\x00" + `
_charset_=windows-1252
_charset_=utf-8&_key=k&title=x
_x@a=b
title=x&pic@a.png=<html>
title=x&pic@a.pdf=%PDF-1.7` + strings.Repeat("x", 993) + `
title=x&proof@a.pdf=text&kind=proof
title=x&doc@../%22a/\b=c
`) {
		var parts []part
		for p := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "&") {
			i := strings.LastIndex(p, "=")
			name, fileName, isFile := strings.Cut(p[:i], "@")
			if !isFile {
				fileName = "-"
			}
			parts = append(parts, part{name, fileName, p[i+1:]})
		}
		list = append(list, bodyOf(parts...))
	}
	whole := list[0]
	list = append(list, nil, []byte("title=x"), append(bytes.Clone(whole), "more"...),
		[]byte("--a-boundary\r\nContent-Disposition\r\n\r\nx\r\n--a-boundary--\r\n"))
	for _, header := range []string{
		"X: y", "Content-Disposition: attachment; name=title", "Content-Disposition: form-data; name=doc; filename*=UTF-8''%e2%82%ac",
		"Content-Disposition: form-data; name=title\r\nContent-Transfer-Encoding: base64",
		"Content-Disposition: form-data; name=title\r\nContent-Type: text/plain; charset=iso-8859-1",
		"Content-Disposition: form-data; name=doc; filename=a\r\nContent-Type: multipart/mixed; boundary=x",
	} {
		list = append(list, []byte("--a-boundary\r\n"+header+"\r\n\r\nz\r\n--a-boundary--\r\n"))
	}
	for n := 0; n < len(whole); n += 10 { // cut off
		list = append(list, whole[:n])
	}
	return list
}

// FuzzMultipart: no body makes the decoder panic, a refusal is always the
// client's fault, nothing stays staged that is not in the answers, and extra
// takes texts and nothing else away from them.
func FuzzMultipart(f *testing.F) {
	for _, body := range seeds() {
		f.Add(body)
	}
	e := newEnv(f, enginetest.SQLite)
	f.Fuzz(func(t *testing.T, body []byte) {
		answers, err := e.decode(t, body, nil)
		e.check(t, body, answers, err)
		extra := url.Values{}
		fewer, err2 := e.decode(t, body, extra)
		e.check(t, body, fewer, err2)
		if err == nil && err2 == nil && len(fewer)+len(extra) < len(answers) {
			t.Fatalf("%q: answers %+v, with extra %v: %+v", body, answers, extra, fewer)
		}
		for name := range extra {
			if !strings.HasPrefix(name, "_") || name == charsetPart {
				t.Fatalf("%q: extra %v", body, extra)
			}
		}
	})
}

// check holds the outcome against the rules, and drops the files.
func (e *env) check(t *testing.T, body []byte, answers []forms.Answer, err error) {
	t.Helper()
	var invalid *forms.Invalid
	var status *StatusError
	switch {
	case errors.As(err, &invalid) && invalid.Err() != nil:
	case errors.As(err, &status) && status.Status >= 400 && status.Status < 500:
	case err != nil:
		t.Fatalf("%q: %v", body, err)
	}
	fields := map[string]bool{}
	for _, a := range answers {
		if fields[a.FieldID] || !utf8.ValidString(a.FieldID) {
			t.Fatalf("%q: answers %+v", body, answers)
		}
		fields[a.FieldID] = true
		for _, file := range a.Files {
			if forms.CleanFileName(file.Name) != file.Name || file.FieldID != a.FieldID {
				t.Fatalf("%q: file %+v", body, file)
			}
		}
	}
	files := service.StagedFiles(answers)
	if staged := e.files.staged.Load(); staged != int64(len(files)) {
		t.Fatalf("%q: %d contents are staged for %d files", body, staged, len(files))
	}
	e.access.DropFiles(files)
}

const partsType = MultipartType + "; boundary=a-boundary"

// The header of a part is bounded, wherever a body is read.
func TestPartHeaders(t *testing.T) {
	e := newEnv(t, enginetest.SQLite)
	disposition := func(n int) string {
		return `Content-Disposition: form-data; name="title"; x="` + strings.Repeat("x", n-len(`form-data; name="title"; x=""`)) + `"`
	}
	for header, want := range map[string]int{
		disposition(maxPartField):     0,
		disposition(maxPartField + 1): http.StatusRequestEntityTooLarge,
		disposition(100) + "\r\nContent-Type: " + strings.Repeat("x", maxPartField+1): http.StatusRequestEntityTooLarge,
		disposition(100) + "\r\nX: " + strings.Repeat("x", maxPartHeader-1000):        0,
		disposition(100) + "\r\nX: " + strings.Repeat("x", maxPartHeader):             http.StatusRequestEntityTooLarge,
	} {
		body := []byte("--a-boundary\r\n" + header + "\r\n\r\nx\r\n--a-boundary--\r\n")
		_, decodeErr := e.decode(t, body, nil)
		_, readErr := ReadForm(http.Header{"Content-Type": {partsType}}, bytes.NewReader(body))
		for _, err := range []error{decodeErr, readErr} {
			var status *StatusError
			if errors.As(err, &status); (want == 0) != (err == nil) || want != 0 && status.Status != want {
				t.Errorf("%.60s…, %d bytes: %v, want %d", header, len(header), err, want)
			}
		}
	}
}
