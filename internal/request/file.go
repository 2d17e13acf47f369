package request

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// SendFile answers with the content of a file. Browsers save it and never show
// it: what somebody has uploaded must not run as a page of this origin.
func (c *Call) SendFile(w http.ResponseWriter) error {
	access, id, err := c.Submission()
	if err != nil {
		return err
	}
	if c.Method != http.MethodHead {
		if err := c.HoldList(); err != nil {
			return err
		}
	}
	file, content, err := access.OpenFile(c.Context(), id, c.PathValue("fieldId"), c.PathValue("name"))
	if err != nil {
		return err
	}
	defer content.Close()
	// Units that are not known must be ignored (RFC 9110), and so may be requests for many ranges: the answer is the
	// whole file.
	if spec := c.Header.Get("Range"); !strings.HasPrefix(spec, "bytes=") || strings.Count(spec, ",") >= MaxRanges {
		c.Header.Del("Range")
	}
	from := &contentReader{ReadSeeker: content, check: func() error { return c.MayStillList(access) }}
	to := &contentWriter{ResponseWriter: w, header: fileHeader(file)}
	http.ServeContent(to, c.Request, "", time.Time{}, from)
	switch {
	case to.failed == http.StatusInternalServerError:
		return fmt.Errorf("read file %q: %w", file.Name, cmp.Or(from.err, errors.New("can't seek")))
	case to.failed != 0:
		return &StatusError{to.failed, contentErrors[to.failed]}
	case from.err != nil && c.Context().Err() == nil:
		// Breaking off the connection is the only way left to tell the client
		// that the file is not complete.
		c.LogError("file broken off", from.err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

func fileHeader(file forms.StoredFile) http.Header {
	h := http.Header{}
	h.Set("Content-Type", file.Type)
	if scriptType.MatchString(file.Type) { // neither an attachment nor a sandbox keeps a page from loading it
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	h.Set("Content-Disposition", Attachment(file.Name))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+file.SHA256+`"`)
	SetNoStore(h)
	return h
}

// MaxRanges bounds how many ranges a request may ask for. A chunk is read for
// each of them, however short it is.
const MaxRanges = 10

// scriptType matches the types that a page could load as a script or a stylesheet.
var scriptType = regexp.MustCompile(`(?i)^[^;/]*/(css|[^;]*javascript|[^;]*(ecmascript|jscript|livescript)[^;]*)(;|$)`)

// Attachment is the Content-Disposition of RFC 6266 that has a file saved under a
// name: a name in ASCII for old clients, and the name itself.
func Attachment(name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%`, r) {
			return '_'
		}
		return r
	}, name)
	encoded := strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, ascii, encoded)
}

// checkEvery is how much of a file is sent before the rights of its reader are
// checked again.
const checkEvery = 128 << 10

// contentReader checks now and then whether the file may still be read, and
// remembers what went wrong.
type contentReader struct {
	io.ReadSeeker
	check func() error
	sent  int // since the last check
	err   error
}

func (r *contentReader) Read(p []byte) (int, error) {
	if r.sent >= checkEvery {
		if r.err = r.check(); r.err != nil {
			return 0, r.err
		}
		r.sent = 0
	}
	n, err := r.ReadSeeker.Read(p)
	r.sent += n
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// contentWriter does not send the errors of http.ServeContent: API and pages show
// errors in different ways.
type contentWriter struct {
	http.ResponseWriter
	header http.Header // of the file; it is sent only with its content
	failed int         // the status of an error, or 0
}

var contentErrors = map[int]*forms.Message{
	http.StatusRequestedRangeNotSatisfiable: forms.Say("The file does not have the range of bytes that was asked for."),
	http.StatusPreconditionFailed:           forms.Say("The file is not the one that If-Match names."),
}

func (w *contentWriter) Header() http.Header { return w.header }

func (w *contentWriter) WriteHeader(status int) {
	h := w.ResponseWriter.Header()
	if status >= http.StatusBadRequest {
		w.failed = status
		if size := w.header.Get("Content-Range"); size != "" {
			h.Set("Content-Range", size)
		}
		return
	}
	maps.Copy(h, w.header)
	w.ResponseWriter.WriteHeader(status)
}

func (w *contentWriter) Write(p []byte) (int, error) {
	if w.failed != 0 {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}
