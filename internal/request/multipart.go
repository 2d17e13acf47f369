package request

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// MediaType is that of the bodies that Decode reads.
const MultipartType = "multipart/form-data"

// MaxParts is how many parts a body may have.
const MaxParts = MaxNames

// What a multipart body may hold beside its texts and files.
const (
	maxPartHead = 16 << 10 // of the header of a part, and of what stands before the first part
	maxBoundary = 70       // RFC 2046
	readAhead   = 8 << 10  // more than mime/multipart reads ahead
	charsetPart = "_charset_"
)

// errNoRoom says which bound of a multipart body is exceeded.
func errNoRoom(format string, args ...any) error {
	return &StatusError{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf(format, args...)}
}

// Is reports whether a body with this header is one that Decode reads.
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
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || len(h["Content-Type"]) > 1 || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return "", &StatusError{
			Status: http.StatusUnsupportedMediaType,
			Detail: "Send the body with one Content-Type: multipart/form-data with one boundary, in UTF-8.",
		}
	}
	boundary := params["boundary"]
	if boundary == "" || len(boundary) > maxBoundary {
		return "", wholeFault(fmt.Sprintf("Content-Type must name a boundary of 1 to %d characters", maxBoundary))
	}
	return boundary, nil
}

func wholeFault(message string) error { return &forms.Invalid{Errors: []string{message}} }

// multipartBody is a body of multipart/form-data under decoding. Texts are kept
// in memory, files are stored as they arrive. What is wrong with a single field
// is noted in its answer, as the decoders of JSON do. Once something is wrong
// that will have the submission refused, further files are not stored, but
// read to the end: a client that is still sending could not read the refusal.
type multipartBody struct {
	call    *Call
	access  *service.Access
	extra   url.Values
	maxBody int64
	maxFile int64
	body    *meteredReader
	parts   *multipart.Reader
	count   int
	files   int
	text    int64 // bytes of names and texts so far
	values  int   // that were repeated so far; see MaxValues
	refused bool  // an answer has a problem
	answers []forms.Answer
	byField map[string]int // index in answers
	sent    map[string]int // files of a field, stored or not
}

// Decode reads the answers out of a body of multipart/form-data. Their files
// are staged: the caller must store the answers or drop their files. If it
// returns an error, nothing is staged.
//
// Ids of fields never begin with "_". If extra is not nil, texts whose name
// does are added to it as they were sent, and are no answers. They count for the
// same limits. If extra is nil, they are answers to fields that are not known.
// With extra, a value that its field does not take is not noted here: a page
// sends every question, also those whose stored answer nobody has touched.
func DecodeMultipart(w http.ResponseWriter, c *Call, access *service.Access, extra url.Values) ([]forms.Answer, error) {
	boundary, err := boundaryOf(c.Header)
	if err != nil {
		return nil, err
	}
	if err := c.HoldUpload(); err != nil {
		c.CloseUnread(w)
		return nil, err
	}
	m := &multipartBody{
		call: c, access: access, extra: extra, maxBody: c.Backend.MaxBody, maxFile: c.Backend.Service.MaxFile(),
		body: &meteredReader{r: c.Body}, byField: map[string]int{}, sent: map[string]int{},
	}
	// mime/multipart takes a body that ends within the header of a part for
	// one that is complete. The empty line ends that header instead, and then
	// the last boundary is missing.
	m.parts = multipart.NewReader(io.MultiReader(m.body, strings.NewReader("\r\n\r\n")), boundary)
	if err := m.read(); err != nil {
		access.DropFiles(c.Context(), service.StagedFiles(m.answers))
		err = m.explain(err) // before drain, which may fail in its own way
		m.drain(w)
		return nil, err
	}
	return m.answers, nil
}

// drain reads on for a while after a fault: many clients read the answer only
// when they have sent the whole body.
func (m *multipartBody) drain(w http.ResponseWriter) {
	if m.body.err == nil {
		m.body.allow(m.maxFile, io.ErrShortBuffer)
		if _, err := io.Copy(io.Discard, m.body); err == nil {
			return
		}
	}
	m.call.CloseUnread(w)
}

// errNotMultipart is a fault of the syntax.
var errNotMultipart = errors.New("not multipart/form-data")

func (m *multipartBody) read() error {
	for {
		m.body.allow(maxPartHead, errNoRoom("The header of a part is larger than %d bytes.", maxPartHead))
		part, err := m.parts.NextRawPart()
		if err == io.EOF { // one that is wrapped means that the last boundary is missing
			return m.end()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errNotMultipart, err)
		}
		if m.count++; m.count > MaxParts {
			return errNoRoom("The body has more than %d parts.", MaxParts)
		}
		if err := m.part(part); err != nil {
			return err
		}
	}
}

// end makes sure that the body has arrived in full. What follows the last
// boundary means nothing (RFC 2046), so there must not be much of it.
func (m *multipartBody) end() error {
	m.body.allow(readAhead, wholeFault("the body has more after its last boundary"))
	_, err := io.Copy(io.Discard, m.body)
	return err
}

// explain tells faults of the body from those of the connection.
func (m *multipartBody) explain(err error) error {
	var status *StatusError
	var known *service.Error
	var invalid *forms.Invalid
	switch {
	case m.body.err != nil:
		return m.call.ReadError(m.body.err)
	case errors.As(err, &status), errors.As(err, &known), errors.As(err, &invalid):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wholeFault("the body is not valid multipart/form-data: it ends before its last boundary")
	case errors.Is(err, errNotMultipart):
		return wholeFault(fmt.Sprintf("the body is not valid multipart/form-data: part %d can't be read", m.count+1))
	default:
		return err
	}
}

// part reads one part: a text or a file.
func (m *multipartBody) part(p *multipart.Part) error {
	name, fileName, isFile, err := m.disposition(p)
	if err != nil {
		return err
	}
	if m.text += int64(len(name)); m.text > m.maxBody {
		return m.tooMuchText()
	}
	if problem := partProblem(p.Header, isFile); problem != "" {
		m.note(name, problem)
		return m.discard(p)
	}
	if isFile {
		return m.filePart(name, fileName, p)
	}
	return m.textPart(name, p)
}

// escapedNames is how browsers write these characters in names of fields and
// files.
var escapedNames = strings.NewReplacer("%22", `"`, "%0D", "\r", "%0A", "\n")

func (m *multipartBody) disposition(p *multipart.Part) (name, fileName string, isFile bool, err error) {
	disposition, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	name = escapedNames.Replace(params["name"])
	if err != nil || disposition != "form-data" || name == "" || len(p.Header["Content-Disposition"]) > 1 {
		return "", "", false, wholeFault(fmt.Sprintf(`part %d must have one Content-Disposition: form-data; name="the id of a field"`, m.count))
	}
	if !utf8.ValidString(name) {
		return "", "", false, wholeFault(fmt.Sprintf("the name of part %d is not in UTF-8", m.count))
	}
	fileName, isFile = params["filename"]
	return name, escapedNames.Replace(fileName), isFile, nil
}

// partProblem returns what is wrong with the way in which a part is encoded.
func partProblem(h textproto.MIMEHeader, isFile bool) string {
	switch strings.ToLower(h.Get("Content-Transfer-Encoding")) {
	case "", "7bit", "8bit", "binary":
	default:
		return "must be sent without Content-Transfer-Encoding"
	}
	mediaType, params, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if strings.HasPrefix(mediaType, "multipart/") {
		return "must be sent as parts of the body, each with its name, not as a multipart of its own"
	}
	switch charset := strings.ToLower(params["charset"]); {
	case isFile, charset == "", charset == "utf-8", charset == "us-ascii":
	default:
		return "must be sent in UTF-8"
	}
	return ""
}

func (m *multipartBody) tooMuchText() error {
	return errNoRoom("The texts of the body are larger than %d bytes together.", m.maxBody)
}

// answer returns the answer for a field, new if there is none yet.
func (m *multipartBody) answer(name string) (a *forms.Answer, isNew bool) {
	i, known := m.byField[name]
	if !known {
		i = len(m.answers)
		m.byField[name] = i
		m.answers = append(m.answers, forms.Answer{FieldID: name})
	}
	return &m.answers[i], !known
}

// note records what is wrong with the way in which a field was sent.
func (m *multipartBody) note(name, problem string) {
	a, _ := m.answer(name)
	a.Problem = cmp.Or(a.Problem, problem)
	m.refused = true
}

// misfit records why a value can't be one of the field. A field that always
// shows refuses it; of one that has a condition, it is not yet known.
func (m *multipartBody) misfit(field *forms.Field, message string) {
	a, _ := m.answer(field.ID)
	a.Misfit = cmp.Or(a.Misfit, message)
	m.refused = m.refused || field.Condition == nil
}

// field returns the field of the form with that id, or nil.
func (m *multipartBody) field(id string) *forms.Field {
	fields := m.access.Form.Fields
	if i := slices.IndexFunc(fields, func(f forms.Field) bool { return f.ID == id }); i >= 0 {
		return &fields[i]
	}
	return nil
}

// textPart reads a part that is no file.
func (m *multipartBody) textPart(name string, p *multipart.Part) error {
	m.body.allow(m.maxBody-m.text+readAhead, m.tooMuchText())
	content, err := io.ReadAll(p)
	if err != nil {
		return err
	}
	if m.text += int64(len(content)); m.text > m.maxBody {
		return m.tooMuchText()
	}
	value := string(content)
	if name == charsetPart {
		if !strings.EqualFold(value, "utf-8") {
			return wholeFault(charsetPart + " must be UTF-8: send the body in UTF-8")
		}
		return nil
	}
	if m.extra != nil && strings.HasPrefix(name, "_") {
		m.extra.Add(name, value)
		return nil
	}
	return m.textAnswer(name, value)
}

// textAnswer takes a text for the answer to a field. Parts that share a name are
// the values of a list.
func (m *multipartBody) textAnswer(name, value string) error {
	field := m.field(name)
	if field != nil && field.Type == forms.File && value != "" {
		m.misfit(field, "must be sent as a file: the part needs a filename")
		return nil
	}
	a, isNew := m.answer(name)
	switch {
	case isNew:
		a.Value = value
	case m.sent[name] > 0:
		m.note(name, "must be sent as files only")
	default:
		if !a.IsList {
			a.IsList, a.List, a.Value = true, []string{a.Value}, ""
		}
		a.List = append(a.List, value)
		if m.values++; m.values > MaxValues {
			return errNoRoom("All lists together may hold %d values.", MaxValues)
		}
	}
	if m.extra == nil && field != nil && field.Condition == nil && !field.MultiValue() {
		if msg := field.CheckAnswer(*a); msg != "" { // before files are stored in vain
			m.misfit(field, msg)
		}
	}
	return nil
}

// filePart stores a file.
func (m *multipartBody) filePart(name, fileName string, p *multipart.Part) error {
	m.body.allow(m.maxFile+readAhead, m.tooLargeFile())
	content := bufio.NewReaderSize(p, 512)
	if _, err := content.Peek(1); fileName == "" && err == io.EOF {
		// A browser's field without a file. For an unknown field it is a fault.
		if m.field(name) != nil {
			return nil
		}
	}
	if m.files++; m.files > service.MaxFiles {
		return errNoRoom("A submission may have %d files.", service.MaxFiles)
	}
	if m.sent[name]++; m.sent[name] > service.MaxFilesPerField {
		return errNoRoom("A field may have %d files.", service.MaxFilesPerField)
	}
	field := m.field(name)
	switch {
	case field == nil:
		m.note(name, forms.MsgUnknownField)
	case field.Type != forms.File:
		m.misfit(field, forms.MsgNoFileField)
	default:
		if a, isNew := m.answer(name); !isNew && m.sent[name] == 1 && a.Problem == "" && a.Misfit == "" { // it was sent as a text
			m.note(name, "must be sent as files only")
		}
	}
	if a, _ := m.answer(name); m.refused || a.Misfit != "" {
		a.Value = cmp.Or(a.Value, "file") // not missing
		return m.discard(content)
	}
	return m.stage(field, fileName, p.Header.Get("Content-Type"), content)
}

func (m *multipartBody) stage(field *forms.Field, fileName, declaredType string, content io.Reader) error {
	a, _ := m.answer(field.ID)
	fileName = forms.UniqueFileName(forms.CleanFileName(fileName), func(n string) bool {
		return slices.ContainsFunc(a.Files, func(f forms.StoredFile) bool { return f.Name == n })
	})
	file, err := m.access.StageFile(m.call.Context(), field, fileName, declaredType, content)
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		m.misfit(field, invalid.Fields[field.ID])
		return m.discard(content)
	}
	if err != nil {
		return err
	}
	a.Files = append(a.Files, file)
	if len(a.Files) == 1 {
		a.Value = file.Name
	} else {
		a.Value += forms.Separator + file.Name
	}
	return nil
}

// discard reads what is left of a part that is not stored.
func (m *multipartBody) discard(content io.Reader) error {
	m.body.allow(m.maxFile+readAhead, m.tooLargeFile())
	_, err := io.Copy(io.Discard, content)
	return err
}

func (m *multipartBody) tooLargeFile() error {
	return errNoRoom("A file is larger than %d bytes.", m.maxFile)
}

// meteredReader bounds how much is read of a body for each of its parts, and
// remembers an error of the connection.
type meteredReader struct {
	r    io.Reader
	left int64
	over error // what Read returns when nothing is left
	err  error // of r, but for io.EOF
}

func (m *meteredReader) allow(n int64, over error) { m.left, m.over = n, over }

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
