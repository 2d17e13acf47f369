package request

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// charsetPart is a text in which a browser names the encoding of the others.
const charsetPart = "_charset_"

// multipartBody is a body of multipart/form-data under decoding. Texts stay
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
	parts   *partReader
	files   int
	text    int64 // bytes of names and texts so far
	values  int   // that were repeated so far; see MaxValues
	refused bool  // an answer has a fault
	answers []forms.Answer
	byField map[string]int              // index in answers
	sent    map[string]int              // files of a field, stored or not
	faults  map[string][]*forms.Message // of a field's files, for pages
}

// DecodeMultipart reads the answers out of a body of multipart/form-data. Their files
// are staged: the caller must store the answers or drop their files. If it
// returns an error, nothing is staged.
//
// Ids of fields never begin with "_". If extra is not nil, texts whose name
// does are added to it as they were sent, and are no answers. They count for the
// same limits. If extra is nil, they are answers to fields that are not known.
// With extra, a value that its field does not take is not noted here: a page
// sends every question, also those whose stored answer was not changed. All files are
// staged then, so that the page can tell of each that its field does not take it. Too
// many of a field are noted, too.
func DecodeMultipart(w http.ResponseWriter, c *Call, access *service.Access, extra url.Values) ([]forms.Answer, error) {
	parts, err := newPartReader(c.Header, c.Body)
	if err != nil {
		return nil, err
	}
	if err := c.HoldUpload(); err != nil {
		c.CloseUnread(w)
		return nil, err
	}
	m := &multipartBody{
		call: c, access: access, extra: extra, maxBody: c.Backend.MaxBody, maxFile: c.Backend.Service.MaxFile(),
		parts: parts, byField: map[string]int{}, sent: map[string]int{},
		faults: map[string][]*forms.Message{},
	}
	if err := parts.readAll(m.part); err != nil {
		access.DropFiles(service.StagedFiles(m.answers))
		c.CloseUnread(w)
		return nil, parts.explain(c, err)
	}
	return m.answers, nil
}

// part reads one part: a text or a file.
func (m *multipartBody) part(p formPart) error {
	if m.text += int64(len(p.name)); m.text > m.maxBody {
		return m.tooMuchText()
	}
	if fault := p.fault(); fault != nil {
		m.note(p.name, fault)
		return m.discard(p)
	}
	if p.isFile {
		return m.filePart(p)
	}
	return m.textPart(p)
}

func (m *multipartBody) tooMuchText() error {
	return errNoRoom(forms.SayN("The texts of the body are larger than {0} byte together.",
		"The texts of the body are larger than {0} bytes together.", int(m.maxBody)))
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
func (m *multipartBody) note(name string, fault *forms.Message) {
	a, _ := m.answer(name)
	a.Malformed = cmp.Or(a.Malformed, fault)
	m.refused = true
}

// misfit records why a value can't be one of the field. A field that always
// shows refuses it; of one that has a condition, it is not yet known.
func (m *multipartBody) misfit(name string, field *forms.Field, message *forms.Message) {
	a, _ := m.answer(name)
	a.Misfit = cmp.Or(a.Misfit, message)
	m.refused = m.refused || field.Condition == nil
}

// textPart reads a part that is no file.
func (m *multipartBody) textPart(p formPart) error {
	m.parts.allow(m.maxBody-m.text+readAhead, m.tooMuchText())
	content, err := io.ReadAll(p)
	if err != nil {
		return err
	}
	if m.text += int64(len(content)); m.text > m.maxBody {
		return m.tooMuchText()
	}
	value := string(content)
	if p.name == charsetPart {
		if !strings.EqualFold(value, "utf-8") {
			return forms.InvalidRequest(forms.English(charsetPart + " must be UTF-8: send the body in UTF-8"))
		}
		return nil
	}
	if m.extra != nil && strings.HasPrefix(p.name, "_") {
		m.extra.Add(p.name, value)
		return nil
	}
	return m.textAnswer(p.name, value)
}

// textAnswer takes a text for the answer to a field. Parts that share a name are
// the values of a list.
func (m *multipartBody) textAnswer(name, value string) error {
	field := m.access.Form.Field(name)
	if field != nil && field.Type == forms.File && value != "" {
		m.misfit(name, field, forms.Say("must be sent as a file: the part needs a filename"))
		return nil
	}
	a, isNew := m.answer(name)
	switch {
	case isNew:
		a.Value = value
	case m.sent[name] > 0:
		m.note(name, forms.English("must be sent as files only"))
	default:
		if !a.IsList {
			a.IsList, a.List, a.Value = true, []string{a.Value}, ""
		}
		a.List = append(a.List, value)
		if m.values++; m.values > MaxValues {
			return errNoRoom(forms.SayN("All lists together may hold {0} value.",
				"All lists together may hold {0} values.", MaxValues))
		}
	}
	if m.extra == nil && field != nil && field.Condition == nil && !field.MultiValue() {
		current := *a
		current.Value = field.CurrentValue(a.Value)
		if msg := field.CheckAnswer(current); msg != nil { // before files are stored in vain
			m.misfit(name, field, msg)
		}
	}
	return nil
}

// filePart stores a file.
func (m *multipartBody) filePart(p formPart) error {
	name, field := p.name, m.access.Form.Field(p.name)
	m.parts.allow(m.maxFile+readAhead, m.tooLargeFile())
	content := bufio.NewReaderSize(p, 512)
	if _, err := content.Peek(1); p.fileName == "" && err == io.EOF && field != nil {
		return nil // a browser's field without a file; of an unknown field it is a fault
	}
	if m.files++; m.files > service.MaxFiles {
		return errNoRoom(forms.SayN("A submission may have {0} file.", "A submission may have {0} files.", service.MaxFiles))
	}
	m.sent[name]++
	tooMany, stage := m.sent[name] > service.MaxFilesPerField, false
	if tooMany && m.extra == nil {
		return errNoRoom(forms.English("A field may have %d files.", service.MaxFilesPerField))
	}
	switch {
	case field == nil:
		m.note(name, forms.MsgUnknownField)
	case tooMany:
		m.misfit(name, field, service.TooManyFiles)
	case field.Type != forms.File:
		m.misfit(name, field, forms.MsgNoFileField)
	case !m.access.MaySet(field):
		m.misfit(name, field, forms.MsgByEditors)
	default:
		a, isNew := m.answer(name)
		if !isNew && m.sent[name] == 1 && a.Malformed == nil && a.Misfit == nil { // it was sent as a text
			m.note(name, forms.English("must be sent as files only"))
		}
		stage = m.extra != nil
	}
	if a, _ := m.answer(name); !stage && (m.refused || a.Misfit != nil) {
		addName(a, forms.CleanFileName(p.fileName)) // for it not to be missing, and to tell what was not stored
		return m.discard(content)
	}
	return m.stage(name, field, p.fileName, p.Header.Get("Content-Type"), content)
}

func (m *multipartBody) stage(name string, field *forms.Field, fileName, declaredType string, content io.Reader) error {
	a, _ := m.answer(name)
	fileName = forms.UniqueFileName(forms.CleanFileName(fileName), func(n string) bool {
		return slices.ContainsFunc(a.Files, func(f forms.StoredFile) bool { return f.Name == n })
	})
	file, err := m.access.StageFile(m.call.Context(), field, fileName, declaredType, content)
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		message := invalid.Fields[field.ID]
		if m.extra != nil {
			named := forms.Named(forms.Say("“{0}”", field.Label), message)
			m.faults[name] = append(m.faults[name], named)
			a.Misfit = forms.Join(m.faults[name])
		}
		m.misfit(name, field, message)
		return m.discard(content)
	}
	if err != nil {
		return err
	}
	a.Files = append(a.Files, file)
	addName(a, file.Name)
	return nil
}

// addName adds the name of a file to the value of its field.
func addName(a *forms.Answer, name string) {
	if a.Value != "" {
		a.Value += forms.Separator
	}
	a.Value += name
}

// discard reads what is left of a part that is not stored.
func (m *multipartBody) discard(content io.Reader) error {
	m.parts.allow(m.maxFile+readAhead, m.tooLargeFile())
	_, err := io.Copy(io.Discard, content)
	return err
}

func (m *multipartBody) tooLargeFile() error {
	return errNoRoom(forms.Say("A file is too large: each may have at most {0}.", forms.SizeText(m.maxFile)))
}
