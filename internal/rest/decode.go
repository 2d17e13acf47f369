package rest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// decoder reads the answers out of a body of one of the two models. Whatever
// is wrong with a single field is noted in its answer, so that all faults are
// reported at once. The error is for faults of the body as a whole.
type decoder struct {
	read func(d *body, answers []forms.Answer) ([]forms.Answer, error) // appends to answers
	// nested: answers are in the member "fields", and may come as multipart/form-data.
	nested bool
}

var nested, flat = decoder{read: decodeNested, nested: true}, decoder{read: decodeFlat}

// isMetadata tells the keys of the flat model that are no field ids.
func isMetadata(name string) bool { return strings.HasPrefix(name, "_") || name == "id" }

// body is a request body under decoding. The JSON decoder refuses duplicate
// names, invalid UTF-8 and lone surrogates by itself.
type body struct {
	buf    bytes.Buffer
	json   jsontext.Decoder
	fields []*forms.Field // of the form that the body is for
	names  int            // counted so far; see request.MaxNames
	bytes  int            // of these names; see maxNameBytes
	values int            // of all lists, counted so far; see request.MaxValues
}

// What a body may hold: the JSON decoder remembers every name, and a value of a
// list takes 16 bytes where the body has three.
const maxNameBytes = 256 << 10 // of all names together; ids of a thousand fields are less

var (
	wrongType     = forms.English("must be a text, or a list of texts")
	tooManyNames  = forms.English("the body has more than %d fields", request.MaxNames)
	tooLongNames  = forms.English("the ids of the fields have more than %d bytes together", maxNameBytes)
	tooManyValues = forms.English("is too long: all lists together may hold %d values", request.MaxValues)
)

var bodies = sync.Pool{New: func() any { return new(body) }}

// usualFields is how many fields most forms have at most.
const usualFields = 16

// maxPooled is the size up to which a body's buffer is reused.
const maxPooled = 64 << 10

// decode reads the body of a request to a form.
func decode(w http.ResponseWriter, c *request.Call, form *forms.Form, d decoder) ([]forms.Answer, error) {
	if err := checkMediaType(c.Header); err != nil {
		return nil, err
	}
	b := bodies.Get().(*body)
	defer func() {
		if b.fields = nil; b.buf.Cap() <= maxPooled { // a form may be replaced: do not keep the old one alive
			bodies.Put(b)
		}
	}()
	b.buf.Reset()
	b.fields, b.names, b.bytes, b.values = form.Fields, 0, 0, 0
	if err := c.ReadBody(w, &b.buf); err != nil {
		return nil, err
	}
	text := b.buf.Bytes()
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, forms.InvalidRequest(forms.English("the body is empty; it must be a JSON object"))
	}
	b.json.Reset(&b.buf)
	answers, err := d.read(b, make([]forms.Answer, 0, min(len(form.Fields), usualFields)))
	if err == nil {
		err = b.end()
	}
	if err == nil {
		return answers, nil
	}
	if err = d.explain(err); jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
		err = errors.Join(errAnswers, err)
	}
	return nil, err
}

// errAnswers marks a *forms.Invalid about a body that is JSON.
var errAnswers = errors.New("not the answers of a form")

func checkMediaType(h http.Header) error {
	if err := request.CheckEncoding(h); err != nil {
		return err
	}
	contentType := ""
	if given := h["Content-Type"]; len(given) == 1 { // of several it is unknown which one is meant
		contentType = given[0]
	}
	if contentType == encode.JSONType {
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || mediaType != encode.JSONType || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return request.NewStatusError(http.StatusUnsupportedMediaType,
			forms.English("Send the body in UTF-8, with Content-Type: application/json, "+
				"or multipart/form-data if a submission has files."))
	}
	return nil
}

// end makes sure that nothing follows the body's one value.
func (d *body) end() error {
	switch _, err := d.json.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return forms.InvalidRequest(forms.English("the body has more after its JSON object"))
	}
}

// explain turns a fault of JSON syntax into a validation result, at its field
// where a field is at fault.
func (d decoder) explain(err error) error {
	if _, ok := errors.AsType[*forms.Invalid](err); ok {
		return err
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return forms.InvalidRequest(forms.English("the body is not valid JSON: it ends too early"))
	}
	duplicate := errors.Is(syntax.Err, jsontext.ErrDuplicateName)
	reason := strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
	field, below, ok := d.fieldAt(slices.Collect(syntax.JSONPointer.Tokens()))
	switch {
	case ok && duplicate && !below:
		return forms.InvalidField(field, forms.English("is there twice"))
	case ok && !errors.Is(syntax.Err, io.ErrUnexpectedEOF):
		return forms.InvalidField(field, forms.English("is not valid JSON: %s", reason))
	default:
		return forms.InvalidRequest(forms.English(
			"the body is not valid JSON: %s at byte %d", reason, syntax.ByteOffset))
	}
}

// fieldAt returns the field that a JSON pointer leads to, and whether it leads
// into the field's value.
func (d decoder) fieldAt(path []string) (field string, below, ok bool) {
	if d.nested {
		if len(path) == 0 || path[0] != "fields" {
			return "", false, false
		}
		path = path[1:]
	}
	if len(path) == 0 || !d.nested && isMetadata(path[0]) {
		return "", false, false
	}
	return path[0], len(path) > 1, true
}

// object reads an object, calling member for each name; member must consume the
// value. The name is valid until the next read. ok is false, and the value consumed,
// when it is no object.
func (d *body) object(member func(name []byte) error) (ok bool, err error) {
	if d.json.PeekKind() != '{' {
		return false, d.skip()
	}
	if _, err := d.json.ReadToken(); err != nil {
		return false, err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.unquoted()
		if err != nil {
			return false, err
		}
		if err := member(name); err != nil {
			return false, err
		}
	}
	_, err = d.json.ReadToken()
	return true, err
}

// unquoted reads a name or a string. It is valid until the next read: most names
// are only compared, and need no string of their own.
func (d *body) unquoted() ([]byte, error) {
	if d.json.PeekKind() != '"' { // a name that is no string
		_, err := d.json.ReadToken()
		return nil, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	raw, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		return jsontext.AppendUnquote(nil, raw)
	}
	return raw[1 : len(raw)-1], nil
}

// fieldID returns an id as a string: that of the form, where the field is one of
// the first few.
func (d *body) fieldID(id []byte) string {
	for _, field := range d.fields[:min(len(d.fields), usualFields)] {
		if field.ID == string(id) {
			return field.ID
		}
	}
	return string(id)
}

// count is called for every name in a body but those that each entry has.
func (d *body) count(name int) error {
	d.names++
	d.bytes += name
	switch {
	case d.names > request.MaxNames:
		return forms.InvalidRequest(tooManyNames)
	case d.bytes > maxNameBytes:
		return forms.InvalidRequest(tooLongNames)
	}
	return nil
}

// maxDepth is far deeper than any body of the interface.
const maxDepth = 32

var errTooDeep = errors.New("nested too deeply")

// skip passes over a value, unless it is nested beyond reason.
func (d *body) skip() error {
	for outside := d.json.StackDepth(); ; {
		before := d.json.InputOffset()
		if _, err := d.json.ReadToken(); err != nil {
			return err
		}
		depth := d.json.StackDepth()
		switch kind, length := d.json.StackIndex(depth); {
		case depth > maxDepth:
			at := d.json.InputOffset()
			return &jsontext.SyntacticError{ByteOffset: at, JSONPointer: d.json.StackPointer(), Err: errTooDeep}
		case depth <= outside:
			return nil
		case kind == '{' && length%2 == 1: // that was a name
			if err := d.count(int(d.json.InputOffset() - before)); err != nil {
				return err
			}
		}
	}
}

// mustObject is object where anything else is a fault of the body as a whole.
// Any other value is not read: no field is in it.
func (d *body) mustObject(message string, member func(name []byte) error) error {
	if kind := d.json.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return forms.InvalidRequest(forms.English("%s", message))
	}
	_, err := d.object(func(name []byte) error {
		if err := d.count(len(name)); err != nil {
			return err
		}
		return member(name)
	})
	return err
}

// text reads a string, which is valid until the next read. ok is false, and the
// value consumed, when it is none.
func (d *body) text() (s []byte, ok bool, err error) {
	if d.json.PeekKind() != '"' {
		return nil, false, d.skip()
	}
	s, err = d.unquoted()
	return s, err == nil, err
}

// value reads a field's value into the answer: a string or a list of strings.
func (d *body) value(a *forms.Answer) error {
	if d.json.PeekKind() != '[' {
		s, ok, err := d.text()
		if a.Value = string(s); !ok {
			a.Malformed = wrongType
		}
		return err
	}
	a.IsList = true
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != ']' {
		s, ok, err := d.text()
		if err != nil {
			return err
		}
		if !ok {
			a.Malformed = wrongType
		}
		if d.values++; d.values > request.MaxValues {
			a.Malformed = tooManyValues
			continue
		}
		a.List = append(a.List, string(s))
	}
	_, err := d.json.ReadToken()
	return err
}

// decodeFlat reads {<fieldId>: string or array of strings}. Metadata is passed
// over, so that what was read can be sent back.
func decodeFlat(d *body, answers []forms.Answer) ([]forms.Answer, error) {
	err := d.mustObject("the body must be a JSON object of field ids and values", func(name []byte) error {
		id := d.fieldID(name)
		if isMetadata(id) {
			return d.skip()
		}
		answer := forms.Answer{FieldID: id}
		err := d.value(&answer)
		answers = append(answers, answer)
		return err
	})
	return answers, err
}

// decodeNested reads {fields: {<fieldId>: {fieldId, value}}}. Members that the
// service sets itself are passed over, so that what was read can be sent back.
func decodeNested(d *body, answers []forms.Answer) ([]forms.Answer, error) {
	var faults []*forms.Message
	found := false
	err := d.mustObject(`the body must be a JSON object with the member "fields"`, func(name []byte) error {
		switch string(name) {
		case "fields":
			found = true
			return d.mustObject(`"fields" must be a JSON object`, func(id []byte) error {
				answer, err := d.entry(d.fieldID(id))
				answers = append(answers, answer)
				return err
			})
		case "id", "username", "timestamp", "pageId", "formId":
			return d.skip()
		default:
			faults = append(faults, unknownMember(name))
			return d.skip()
		}
	})
	if err != nil {
		return nil, err
	}
	if !found {
		var invalid forms.Invalid
		for _, fault := range append([]*forms.Message{forms.English(`the member "fields" is missing`)}, faults...) {
			invalid.AddError(fault)
		}
		return nil, invalid.Err()
	}
	for _, fault := range faults {
		answers = append(answers, forms.Answer{Whole: true, Malformed: fault})
	}
	return answers, nil
}

// entry reads {fieldId, value}.
func (d *body) entry(id string) (forms.Answer, error) {
	answer := forms.Answer{FieldID: id}
	hasID, hasValue := false, false
	ok, err := d.object(func(name []byte) error {
		switch string(name) {
		case "fieldId":
			hasID = true
			same, _, err := d.text()
			if string(same) != id {
				answer.Malformed = forms.English("its fieldId must be %q, too", forms.Clip(id))
			}
			return err
		case "value":
			hasValue = true
			return d.value(&answer)
		case "id":
			return d.skip()
		default:
			answer.Malformed = unknownMember(name)
			if err := d.count(len(name)); err != nil {
				return err
			}
			return d.skip()
		}
	})
	switch {
	case err != nil || answer.Malformed != nil:
	case !ok:
		answer.Malformed = forms.English(`must be an object with "fieldId" and "value"`)
	case !hasID:
		answer.Malformed = forms.English(`the member "fieldId" is missing`)
	case !hasValue:
		answer.Malformed = forms.English(`the member "value" is missing`)
	}
	return answer, err
}

func unknownMember(name []byte) *forms.Message {
	return forms.English("unknown member %q", forms.Clip(string(name)))
}
