package request

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// MultipartType is the media type of bodies with files.
const MultipartType = "multipart/form-data"

// What a multipart body may hold beside its texts and files.
const (
	maxPartHeader = 16 << 10 // also of what precedes the first part
	maxPartField  = 1 << 10  // of a header field that is parsed, which takes 50 times its size
	maxBoundary   = 70       // RFC 2046
	readAhead     = 8 << 10  // more than mime/multipart reads ahead
)

var msgPartHeader = forms.English("The header of a part is larger than %d bytes.", maxPartHeader)

// errNoRoom says which bound of a multipart body is exceeded.
func errNoRoom(detail *forms.Message) error {
	return &StatusError{http.StatusRequestEntityTooLarge, detail}
}

// IsMultipart reports whether a body with this header is multipart/form-data.
func IsMultipart(h http.Header) bool {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), MultipartType)
}

// boundaryOf returns the boundary that a Content-Type of multipart/form-data
// names.
func boundaryOf(h http.Header) (string, error) {
	if err := CheckEncoding(h); err != nil {
		return "", err
	}
	contentType := h.Get("Content-Type")
	if len(contentType) > maxPartField {
		return "", forms.InvalidRequest(forms.English(
			"Content-Type must not be longer than %d bytes", maxPartField))
	}
	_, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || len(h["Content-Type"]) > 1 || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return "", &StatusError{
			Status: http.StatusUnsupportedMediaType,
			Detail: forms.English("Send the body with one Content-Type: multipart/form-data with one boundary, in UTF-8."),
		}
	}
	boundary := params["boundary"]
	if boundary == "" || len(boundary) > maxBoundary {
		return "", forms.InvalidRequest(forms.English(
			"Content-Type must name a boundary of 1 to %d characters", maxBoundary))
	}
	return boundary, nil
}

// partReader reads the parts of a body of multipart/form-data. It bounds the
// header of each part, which mime/multipart does not. The caller bounds the
// content of a part by calling allow, and reads it to its end.
type partReader struct {
	body  *meteredReader
	parts *multipart.Reader
	count int // parts so far
}

// formPart is a text or a file of a multipart body.
type formPart struct {
	*multipart.Part
	name, fileName string
	isFile         bool
}

func newPartReader(h http.Header, body io.Reader) (*partReader, error) {
	boundary, err := boundaryOf(h)
	if err != nil {
		return nil, err
	}
	p := &partReader{body: &meteredReader{r: body}}
	// mime/multipart takes a body that ends within the header of a part for
	// one that is complete. The empty line ends that header instead, and then
	// the last boundary is missing.
	p.parts = multipart.NewReader(io.MultiReader(p.body, strings.NewReader("\r\n\r\n")), boundary)
	return p, nil
}

// ReadForm reads the texts of a form as browsers send them. The value of a file is its
// name; its content is discarded. The caller bounds the body.
func ReadForm(h http.Header, body io.Reader) (url.Values, error) {
	if !IsMultipart(h) {
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		return url.ParseQuery(string(text))
	}
	parts, err := newPartReader(h, body)
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	return values, parts.readAll(func(p formPart) error {
		parts.allow(math.MaxInt64, nil)
		value, err := io.ReadAll(p)
		switch {
		case !p.isFile:
			values.Add(p.name, string(value))
		case p.fileName != "": // without a name, no file was chosen
			values.Add(p.name, p.fileName)
		}
		return err
	})
}

// errNotMultipart is a fault of the syntax.
var errNotMultipart = errors.New("not multipart/form-data")

// readAll calls read for each part, and returns nil if the body has arrived in full.
func (p *partReader) readAll(read func(formPart) error) error {
	for {
		p.allow(maxPartHeader, errNoRoom(msgPartHeader))
		raw, err := p.parts.NextRawPart()
		if err == io.EOF { // one that is wrapped means that the last boundary is missing
			return p.end()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errNotMultipart, err)
		}
		if p.count++; p.count > MaxNames {
			return errNoRoom(forms.SayN("The body has more than {0} part.", "The body has more than {0} parts.", MaxNames))
		}
		part, fault := p.describe(raw)
		if fault == nil {
			fault = read(part)
		}
		if fault != nil {
			return fault
		}
	}
}

// end reads what follows the last boundary. It means nothing (RFC 2046), so there must
// not be much of it.
func (p *partReader) end() error {
	p.allow(readAhead, forms.InvalidRequest(forms.English("the body has more after its last boundary")))
	_, err := io.Copy(io.Discard, p.body)
	return err
}

// allow has reads fail with over after about n more bytes of the body.
func (p *partReader) allow(n int64, over error) { p.body.left, p.body.over = n, over }

// escapedNames is how browsers write these characters in names of fields and
// files.
var escapedNames = strings.NewReplacer("%22", `"`, "%0D", "\r", "%0A", "\n")

// describe reads the header of a part.
func (p *partReader) describe(part *multipart.Part) (formPart, error) {
	for _, field := range []string{"Content-Disposition", "Content-Type"} {
		if len(part.Header.Get(field)) > maxPartField {
			return formPart{}, errNoRoom(forms.English(
				"The %s of a part is longer than %d bytes.", field, maxPartField))
		}
	}
	disposition, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name := escapedNames.Replace(params["name"])
	if err != nil || disposition != "form-data" || name == "" || len(part.Header["Content-Disposition"]) > 1 {
		return formPart{}, forms.InvalidRequest(forms.English(
			`part %d must have one Content-Disposition: form-data; name="the id of a field"`, p.count))
	}
	if !utf8.ValidString(name) {
		return formPart{}, forms.InvalidRequest(forms.English("the name of part %d is not in UTF-8", p.count))
	}
	fileName, isFile := params["filename"]
	return formPart{part, name, escapedNames.Replace(fileName), isFile}, nil
}

// fault returns what is wrong with the way in which the part is encoded.
func (p formPart) fault() *forms.Message {
	encoding := strings.ToLower(p.Header.Get("Content-Transfer-Encoding"))
	mediaType, params, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	switch {
	case !slices.Contains([]string{"", "7bit", "8bit", "binary"}, encoding), strings.HasPrefix(mediaType, "multipart/"),
		!p.isFile && !slices.Contains([]string{"", "utf-8", "us-ascii"}, charset):
		return forms.English("must be sent as it is, texts in UTF-8: without Content-Transfer-Encoding, " +
			"and not as a multipart of its own")
	}
	return nil
}

// explain tells faults of the connection from those of the syntax. Errors that
// name their own reason stay as they are.
func (p *partReader) explain(c *Call, err error) error {
	var status *StatusError
	var known *service.Error
	switch {
	case p.body.err != nil:
		return c.ReadError(p.body.err)
	case errors.As(err, &status), errors.As(err, &known):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return forms.InvalidRequest(forms.English(
			"the body is not valid multipart/form-data: it ends before its last boundary"))
	case errors.Is(err, errNotMultipart):
		return forms.InvalidRequest(forms.English(
			"the body is not valid multipart/form-data: part %d can't be read", p.count+1))
	default:
		return err
	}
}

// meteredReader bounds how much is read of a body for each of its parts, and
// remembers an error of the connection.
type meteredReader struct {
	r    io.Reader
	left int64
	over error // what Read returns when nothing is left
	err  error // of r, but for io.EOF
}

func (m *meteredReader) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, m.over
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}
