package markup

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
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
// not declared, or to various addresses in exports. So names are compared without
// their prefixes.
func (p *reader) findInConfluence() []rawBlock {
	s := &storageReader{reader: p, decoder: xml.NewDecoder(bytes.NewReader(p.src[p.body:])), hostIDs: map[string]bool{}}
	s.decoder.Entity = xml.HTMLEntity
	s.decoder.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("pages are UTF-8") }
	for {
		at := s.offset()
		token, err := s.decoder.Token()
		if errors.Is(err, io.EOF) {
			return s.rawBlocks()
		}
		if err != nil {
			s.malformed(err)
			return nil
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(s.stack) >= maxElementDepth {
				s.refuse(at, "", "elements are nested more than %d deep", maxElementDepth)
				return nil
			}
			s.stack = append(s.stack, s.open(t, at))
		case xml.EndElement:
			if m := s.top().macro; m != nil {
				m.end = s.offset()
			}
			s.stack = s.stack[:len(s.stack)-1]
		case xml.CharData:
			s.charData(at)
		}
	}
}

// storageReader walks the page's elements.
type storageReader struct {
	*reader
	decoder *xml.Decoder
	stack   []element
	macros  []*macro // code and form macros, in page order
	count   int      // of all macros
	hostIDs map[string]bool
}

// element is an open element of the page.
type element struct {
	macro *macro     // set when the element is a macro
	text  *excerpt   // set when the element is a parameter, or the text of a code macro
	param *parameter // set when the element is a parameter
	form  *macro     // the innermost form macro that the element is in, or is itself
	field *macro     // the same for form-field
	count int        // of macros before it
	again bool       // it repeats what was before it
}

// macro is a code, form or form-field macro. All others are plain elements.
type macro struct {
	name   string
	at     int
	end    int // offset after it
	hostID string
	params []*parameter
	body   excerpt
	form   *macro   // of a form or code macro: the form macro that it is in, which is an error
	fields []*macro // of a form
	failed bool
}

type parameter struct {
	name   string
	at     int
	text   excerpt
	nested bool // it holds elements, not just text
}

func (s *storageReader) offset() int { return s.body + int(s.decoder.InputOffset()) }

func (s *storageReader) malformed(err error) {
	message := strings.TrimPrefix(err.Error(), "xml: ")
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		message = syntax.Msg
	}
	s.refuse(s.offset(), "", "this is not well-formed XML: %s", message)
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
	e := element{form: parent.form, field: parent.field, count: s.count, again: parent.again}
	// Cloud has elements that older readers do not know, and repeats their content
	// for these in a fallback. Some have it only there.
	if t.Name.Local == "adf-fallback" && s.count > parent.count {
		e.again = true
	}
	if e.again {
		return e
	}
	isCode := parent.macro != nil && parent.macro.name == codeMacro
	switch t.Name.Local {
	case "structured-macro", "macro":
		return s.openMacro(t, at, e)
	case "parameter":
		if parent.macro != nil && !isCode {
			e.param = &parameter{name: attributeOf(t, "name"), at: at}
			e.text = &e.param.text
			parent.macro.params = append(parent.macro.params, e.param)
		}
	case "plain-text-body":
		if isCode {
			e.text = &parent.macro.body
		}
	}
	return e
}

func (s *storageReader) openMacro(t xml.StartElement, at int, e element) element {
	m := &macro{name: attributeOf(t, "name"), at: at, hostID: s.hostID(t), form: e.form}
	e.macro = m
	s.count++
	switch m.name {
	case codeMacro:
		s.macros = append(s.macros, m)
	case formMacro:
		s.macros = append(s.macros, m)
		e.form, e.field = m, nil
	case fieldMacro:
		s.addField(m, e)
		e.field = m
	default:
		e.macro = nil
		if e.form != nil && nearest(m.name, []string{fieldMacro}) != "" {
			s.wrong(e.form, at, didYouMean(fieldMacro), "unknown macro "+quote(m.name)+" in a form")
		}
	}
	return e
}

func (s *storageReader) addField(m *macro, e element) {
	switch {
	case e.form == nil:
		s.errorf(m.at, "put it into the body of a form macro", "a form-field outside a form")
	case e.field != nil:
		s.wrong(e.form, m.at, "put it after the other one", "a form-field inside a form-field")
	default:
		e.form.fields = append(e.form.fields, m)
	}
}

func attributeOf(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return trimmed(a.Value)
		}
	}
	return ""
}

// hostID returns the id that Confluence gives a macro, or "" if it can't be used:
// macro ids are unique on a page, and a copied macro has the id of its original.
func (s *storageReader) hostID(t xml.StartElement) string {
	id := attributeOf(t, "macro-id")
	if id == "" || s.hostIDs[id] || len(id) > MaxIDBytes || checkText(id) != "" {
		return ""
	}
	s.hostIDs[id] = true
	return id
}

// trimmed drops white space at the ends; a no-break space counts as a space.
func trimmed(s string) string { return strings.TrimSpace(plainSpaces.Replace(s)) }

const (
	cdataStart = "<![CDATA["
	cdataEnd   = "]]>"
)

// charData adds the character data between the given offset and the current one to
// the parameter or body that contains it: a CDATA section unchanged, other text
// with its entities replaced. It reads the source, since the decoder's token does
// not tell the offset of each character.
func (s *storageReader) charData(from int) {
	b := s.top().text
	if b == nil {
		return
	}
	raw := string(s.src[from:s.offset()])
	if inner, ok := strings.CutPrefix(raw, cdataStart); ok {
		b.add(strings.TrimSuffix(inner, cdataEnd), from+len(cdataStart))
	} else {
		b.addUnescaped(raw, from)
	}
}
