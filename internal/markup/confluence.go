package markup

import (
	"bytes"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
)

// maxElementDepth is far more than editors write.
const maxElementDepth = 500

// The names of the macros that can make a form.
const (
	codeMacro  = "code"
	formMacro  = "form"
	fieldMacro = "form-field"
)

// findInConfluence finds code macros that hold a form's YAML, and native form
// macros. Storage format is a fragment: it has no root, and its prefixes are
// not declared.
func (p *reader) findInConfluence() []rawBlock {
	s := &storageReader{reader: p, decoder: xml.NewDecoder(bytes.NewReader(p.src[p.body:])), hostIDs: map[string]bool{}}
	s.decoder.Entity = xml.HTMLEntity
	s.decoder.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("pages are UTF-8") }
	for {
		start := s.offset()
		token, err := s.decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.malformed(err)
			return nil
		}
		if s.handle(token, start); s.unreadable && len(s.stack) > maxElementDepth {
			return nil
		}
	}
	return s.rawBlocks()
}

// storageReader walks the page's elements.
type storageReader struct {
	*reader
	decoder *xml.Decoder
	stack   []element
	macros  []*macro // code and form macros, in page order
	hostIDs map[string]bool
	bound   []string // URIs that the page declares the prefix "ac" for
}

// element is an open element of the page.
type element struct {
	macro *macro     // set when the element is a macro, or the plain text body of one
	body  bool       // the element is the body
	param *parameter // set when the element is a parameter of a macro
	form  *macro     // the innermost form macro that the element is in, or is itself
	field *macro     // the same for form-field
}

// macro is a code, form or form-field macro. All others are plain elements.
type macro struct {
	name   string
	at     int
	hostID string
	params []*parameter
	body   excerptBuilder
	form   *macro   // of a form or code macro: the form macro that it is in, which is an error
	fields []*macro // of a form
	failed bool
}

type parameter struct {
	name   string
	at     int
	text   excerptBuilder
	nested bool // it holds elements, not just text
}

func (s *storageReader) offset() int { return s.body + int(s.decoder.InputOffset()) }

func (s *storageReader) malformed(err error) {
	message := strings.TrimPrefix(err.Error(), "xml: ")
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		message = syntax.Msg
	}
	s.refuse(s.offset(), "", "this is not well-formed XML: %s", message)
}

func (s *storageReader) handle(token xml.Token, at int) {
	switch t := token.(type) {
	case xml.StartElement:
		if len(s.stack) >= maxElementDepth {
			s.refuse(at, "", "elements are nested more than %d deep", maxElementDepth)
		}
		s.stack = append(s.stack, s.open(t, at))
	case xml.EndElement:
		s.stack = s.stack[:len(s.stack)-1]
	case xml.CharData:
		s.text(at)
	}
}

func (s *storageReader) top() element {
	if len(s.stack) == 0 {
		return element{}
	}
	return s.stack[len(s.stack)-1]
}

func (s *storageReader) open(t xml.StartElement, at int) element {
	parent := s.top()
	if parent.param != nil {
		parent.param.nested = true
	}
	// Only direct children are the text and the parameters of a macro, so macro
	// and param are not inherited.
	e := element{form: parent.form, field: parent.field}
	if s.declare(t); !s.isConfluence(t.Name.Space) {
		return e
	}
	switch t.Name.Local {
	case "structured-macro", "macro":
		return s.openMacro(t, at, e)
	case "parameter":
		if parent.macro != nil && parent.macro.name != codeMacro {
			e.param = &parameter{name: s.attribute(t, "name"), at: at}
			parent.macro.params = append(parent.macro.params, e.param)
		}
	case "plain-text-body":
		if parent.macro != nil && parent.macro.name == codeMacro {
			e.macro, e.body = parent.macro, true
		}
	}
	return e
}

func (s *storageReader) openMacro(t xml.StartElement, at int, e element) element {
	m := &macro{name: s.attribute(t, "name"), at: at, hostID: s.hostID(t)}
	switch m.name {
	case codeMacro:
		m.form = e.form
		s.macros = append(s.macros, m)
	case formMacro:
		m.form = e.form
		s.macros = append(s.macros, m)
		e.form, e.field = m, nil
	case fieldMacro:
		s.openField(m, e)
		e.field = m
	default:
		if e.form != nil && nearest(m.name, []string{fieldMacro}) != "" {
			s.wrong(e.form, at, `did you mean "form-field"?`, "unknown macro "+quote(m.name)+" in a form")
		}
		return e
	}
	e.macro = m
	return e
}

func (s *storageReader) openField(m *macro, e element) {
	switch {
	case e.form == nil:
		s.report(m.at, Error, "put it into the body of a form macro", "a form-field outside a form")
	case e.field != nil:
		s.wrong(e.form, m.at, "put it after the other one", "a form-field inside a form-field")
	default:
		e.form.fields = append(e.form.fields, m)
	}
}

// declare records the URIs that the page declares for the prefix "ac". Pages
// declare none, and exports declare various ones, so elements are recognised by
// the prefix.
func (s *storageReader) declare(t xml.StartElement) {
	for _, a := range t.Attr {
		if a.Name.Space == "xmlns" && a.Name.Local == prefix {
			s.bound = append(s.bound, a.Value)
		}
	}
}

const prefix = "ac"

func (s *storageReader) isConfluence(space string) bool {
	return space == prefix || space != "" && slices.Contains(s.bound, space)
}

func (s *storageReader) attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name && s.isConfluence(a.Name.Space) {
			return trimmed(a.Value)
		}
	}
	return ""
}

// derivedID matches the macro ids that Formulary derives: UUIDs of version 5.
var derivedID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5`)

// hostID returns the id that Confluence gives a macro, or "" if it can't be used:
// macro ids are unique on a page, and a copied macro has the id of its original.
func (s *storageReader) hostID(t xml.StartElement) string {
	id := s.attribute(t, "macro-id")
	if id == "" || s.hostIDs[id] || len(id) > MaxIDBytes || checkText(id) != "" || derivedID.MatchString(id) {
		return ""
	}
	s.hostIDs[id] = true
	return id
}

// trimmed drops white space at the ends; a no-break space counts as a space.
func trimmed(s string) string { return strings.TrimSpace(plainSpaces.Replace(s)) }

// text adds the text between the given offset and the current one to the
// parameter or body that contains it. It reads the source, since the decoder's
// token does not tell the offset of each character.
func (s *storageReader) text(from int) {
	raw := string(s.src[from:s.offset()])
	e := s.top()
	switch {
	case e.param != nil:
		cut(&e.param.text, raw, from)
	case e.body:
		cut(&e.macro.body, raw, from)
	}
}

const (
	cdataStart = "<![CDATA["
	cdataEnd   = "]]>"
)

// cut adds character data to b: a CDATA section unchanged, other text with its
// entities replaced. A body may consist of several of both.
func cut(b *excerptBuilder, raw string, at int) {
	if inner, ok := strings.CutPrefix(raw, cdataStart); ok {
		b.add(strings.TrimSuffix(inner, cdataEnd), at+len(cdataStart))
		return
	}
	for raw != "" && !b.full() {
		amp := strings.IndexByte(raw, '&')
		if amp < 0 {
			amp = len(raw)
		}
		b.add(raw[:amp], at)
		end := amp
		if semicolon := strings.IndexByte(raw[amp:], ';'); semicolon >= 0 {
			end = amp + semicolon + 1
		}
		b.add(html.UnescapeString(raw[amp:end]), at+amp)
		raw, at = raw[end:], at+end
	}
}
