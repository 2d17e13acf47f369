package pagetext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// prepare changes the tree of a text to what is shown.
func prepare(root ast.Node, source []byte, title string) {
	dropTitle(root, source, title)
	ids := headingIDs{}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+1, 6) // h1 is the title's alone
			n.SetAttributeString("id", []byte(ids.next(plainText(n, source))))
			setDirection(n)
		case *extast.Table:
			n.SetAttributeString("tabindex", []byte("0")) // a wide one scrolls, by the keyboard, too
		case *extast.TableCell:
			if n.Alignment != extast.AlignNone { // a style attribute otherwise
				n.SetAttributeString("class", []byte("align-"+n.Alignment.String()))
				n.Alignment = extast.AlignNone
			}
			setDirection(n)
		case *ast.Paragraph, *ast.ListItem:
			setDirection(n)
		}
		return ast.WalkContinue, nil
	})
}

// setDirection has browsers find out whether a block is written right to left.
func setDirection(n ast.Node) { n.SetAttributeString("dir", []byte("auto")) }

// dropTitle removes the first heading if it repeats the title.
func dropTitle(root ast.Node, source []byte, title string) {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		if strings.EqualFold(oneSpace(plainText(heading, source)), oneSpace(title)) {
			root.RemoveChild(root, heading)
		}
		return
	}
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// plainText returns the text of a block without its markup.
func plainText(n ast.Node, source []byte) string {
	var b bytes.Buffer
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(unescape(n.Value(source), n.Parent()))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape resolves entities and backslashes, which have no meaning in code.
func unescape(text []byte, parent ast.Node) []byte {
	if _, ok := parent.(*ast.CodeSpan); ok {
		return text
	}
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(text)))
}

// idPrefix keeps the ids of headings apart from those of the page that shows them.
const idPrefix = "text-"

// headingIDs makes unique ids. It counts how often each was asked for.
type headingIDs map[string]int

func (ids headingIDs) next(text string) string {
	base := idPrefix + slug(text)
	id := base
	for ids[id] > 0 {
		id = fmt.Sprintf("%s-%d", base, ids[base])
		ids[base]++
	}
	ids[id]++
	return id
}

// slug makes a part of an id: letters and digits in lower case, with hyphens
// between words.
func slug(text string) string {
	const maxBytes = 100
	var b strings.Builder
	gap := false
	for _, r := range text {
		switch {
		case b.Len() >= maxBytes:
			return b.String()
		case unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
			gap = false
		case r == '-' || r == '_' || unicode.IsSpace(r):
			gap = true
		}
	}
	if b.Len() == 0 {
		return "section"
	}
	return b.String()
}
