package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
)

// MaxShownBytes is how much text of a page is shown.
const MaxShownBytes = 128 << 10

// Text is what people read of a page: of one that is not Markdown, headings, paragraphs,
// lists and links. It is not changed after Parse, so that it can be read concurrently.
type Text struct {
	Source []byte // without the front matter; line ends are \n
	// Parts are the page's outermost blocks, with the forms between them. They
	// are nil if the text is to be shown as it is written, because it takes too
	// much work to lay it out, or because it is Cut.
	Parts []TextPart
	Cut   bool // Source is the beginning of a text of more than MaxShownBytes
}

// TextPart is a block of a text, whose nodes refer to Text.Source, or a form. A
// form inside a list, a quote or the like comes after the outermost one.
type TextPart struct {
	Block ast.Node // nil for a form
	// FormID is "" when it can't be read. Two parts may have the same, and the
	// first one is used.
	FormID string
}

// nodeBytes is about how much memory a node of the tree takes, with the text that it holds.
const nodeBytes = 200

// Size is about how much memory the text takes. A nil Text takes none.
func (t *Text) Size() int {
	if t == nil {
		return 0
	}
	size := len(t.Source)
	for _, part := range t.Parts {
		if part.Block != nil {
			_ = ast.Walk(part.Block, func(ast.Node, bool) (ast.WalkStatus, error) {
				size += nodeBytes / 2 // each is visited twice
				return ast.WalkContinue, nil
			})
		}
	}
	return size
}

// markdownText returns the text of a Markdown page.
func (p *reader) markdownText(blocks []rawBlock) *Text {
	body := p.src[p.body:]
	if len(body) > MaxShownBytes {
		// It is cut after a line. If a line is that long, the cut may split a character.
		body = body[:MaxShownBytes]
		if end := bytes.LastIndexByte(body, '\n'); end >= 0 {
			body = body[:end+1]
		}
		return &Text{Source: bytes.ToValidUTF8(body, nil), Cut: true}
	}
	t := &Text{Source: body}
	if p.tree != nil {
		ids := map[ast.Node]string{}
		for i := range blocks {
			ids[blocks[i].fence] = blocks[i].FormID
		}
		t.Parts = parts(p.tree, ids)
	}
	return t
}

// parts takes the forms out of the blocks that they are in. It returns nil if the
// tree is too large to stay in memory.
func parts(root ast.Node, ids map[ast.Node]string) (parts []TextPart) {
	nodes := 0
	for block := root.FirstChild(); block != nil; {
		next := block.NextSibling() // the block may be removed
		var found []ast.Node
		_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			nodes++ // twice for each
			if _, isForm := ids[n]; isForm && entering {
				found = append(found, n)
			}
			return ast.WalkContinue, nil
		})
		for _, fence := range found {
			remove(fence)
		}
		if block.Parent() != nil {
			parts = append(parts, TextPart{Block: block})
		}
		for _, fence := range found {
			parts = append(parts, TextPart{FormID: ids[fence]})
		}
		block = next
	}
	if nodes > 2*maxTreeNodes {
		return nil
	}
	return parts
}

// remove removes a block, and the lists and quotes that have nothing else in them.
func remove(block ast.Node) {
	for parent := block.Parent(); parent != nil; block, parent = parent, parent.Parent() {
		if parent.RemoveChild(parent, block); parent.HasChildren() {
			return
		}
	}
}
