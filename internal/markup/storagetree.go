package markup

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// storageTree makes a tree of what is plain in storage format: headings, paragraphs,
// lists, bold, italic and links. The rest is left out. Its nodes hold their texts
// themselves, and these are never read as markup.
type storageTree struct {
	open  []ast.Node          // from the document to the innermost node
	forms map[ast.Node]string // the ids of forms, by their placeholder nodes
}

// maxOpen bounds how deeply nodes nest.
const maxOpen = 20

// notText are the elements whose content is no plain text.
var notText = []string{
	"table", "structured-macro", "macro", "image", "emoticon", "task-list", "placeholder", "pre", "script", "style",
	"adf-attribute", "adf-fallback",
}

// absoluteAddress matches addresses that lead to the same page from here as from the wiki.
var absoluteAddress = regexp.MustCompile(`^(?i:https?://|mailto:)`)

// plainText returns the text of a page that is not Markdown, or nil if there is too
// much of it, or none beside the forms.
func (p *reader) plainText(format Format, blocks []rawBlock) *Text {
	source := p.src[p.body:]
	if len(source) > MaxShownBytes {
		return nil
	}
	document := ast.NewDocument()
	t := &storageTree{open: []ast.Node{document}, forms: map[ast.Node]string{}}
	if format == Wikitext {
		from := p.body
		for i := range blocks {
			t.read(wikiToStorage(string(p.src[from:blocks[i].at])), nil)
			t.addForm(blocks[i].FormID)
			from = blocks[i].end
		}
		t.read(wikiToStorage(string(p.src[from:])), nil)
	} else {
		ids := map[int]string{}
		for i := range blocks {
			ids[blocks[i].at-p.body] = blocks[i].FormID
		}
		t.read(string(source), ids)
	}
	text := &Text{Source: bytes.Clone(source), Parts: parts(document, t.forms)}
	if len(text.Parts) <= len(t.forms) {
		return nil
	}
	return text
}

// addForm adds a placeholder node for a form.
func (t *storageTree) addForm(id string) {
	placeholder := ast.NewThematicBreak()
	t.forms[placeholder] = id
	t.innermost().AppendChild(t.innermost(), placeholder)
}

// read reads storage format. ids has the id of the form of each macro that is one, by
// its offset.
func (t *storageTree) read(source string, ids map[int]string) {
	type element struct {
		depth  int  // how many nodes are open outside of it
		hidden bool // its content is not shown, except for forms
	}
	stack := []element{{}}
	decoder := xml.NewDecoder(strings.NewReader(source))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	for {
		at := int(decoder.InputOffset())
		token, err := decoder.Token()
		if err != nil {
			t.open = t.open[:1]
			return
		}
		last := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := element{len(t.open), last.hidden || slices.Contains(notText, token.Name.Local)}
			if id, isForm := ids[at]; isForm {
				t.addForm(id)
			}
			if !e.hidden {
				t.element(token)
			}
			stack = append(stack, e)
		case xml.EndElement:
			if !last.hidden {
				t.open = t.open[:last.depth]
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if !last.hidden {
				t.write(string(token))
			}
		}
	}
}

// element opens the node of an element, if it is one of plain text.
func (t *storageTree) element(e xml.StartElement) {
	switch name := e.Name.Local; name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		t.begin(ast.NewHeading(int(name[1] - '0')))
	case "p":
		t.begin(ast.NewParagraph())
	case "ul":
		t.begin(ast.NewList('*'))
	case "ol":
		list := ast.NewList('.')
		list.Start = 1
		t.begin(list)
	case "li":
		t.begin(ast.NewListItem(0))
	case "strong", "b":
		t.begin(ast.NewEmphasis(2))
	case "em", "i":
		t.begin(ast.NewEmphasis(1))
	case "a":
		if address := attributeOf(e, "href"); absoluteAddress.MatchString(address) {
			link := ast.NewLink()
			link.Destination = []byte(address)
			t.begin(link)
		}
	case "br":
		br := ast.NewTextSegment(text.NewSegment(0, 0))
		br.SetHardLineBreak(true)
		t.begin(br)
	}
}

func (t *storageTree) innermost() ast.Node { return t.open[len(t.open)-1] }

// begin opens a node in the innermost one. A node that can't be there, or would nest
// too deeply, is left out, but its content is not.
func (t *storageTree) begin(n ast.Node) {
	if n.Type() == ast.TypeInline && t.innermost().Kind() == ast.KindDocument {
		t.begin(ast.NewParagraph())
	}
	fits := n.Type() == ast.TypeInline // in a paragraph and the like
	switch t.innermost().Kind() {
	case ast.KindDocument, ast.KindListItem:
		fits = n.Kind() != ast.KindListItem
	case ast.KindList:
		fits = n.Kind() == ast.KindListItem
	}
	inLink := slices.ContainsFunc(t.open, func(o ast.Node) bool { return o.Kind() == ast.KindLink })
	if fits && len(t.open) < maxOpen && (!inLink || n.Kind() != ast.KindLink) {
		t.innermost().AppendChild(t.innermost(), n)
		t.open = append(t.open, n)
	}
}

// write adds a text that is shown as it is.
func (t *storageTree) write(s string) {
	depth := len(t.open)
	if strings.TrimSpace(s) == "" && depth == 1 {
		return
	}
	n := ast.NewString([]byte(s))
	n.SetRaw(true)
	t.begin(n)
	t.open = t.open[:depth]
}
