package pagehtml

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/formulary/formulary/internal/markup"
)

// shownParts returns the parts without the one that repeats the title, which is the
// first heading that is in no other block, and the level of the highest heading.
func shownParts(t *markup.Text, title string) (parts []markup.TextPart, top int) {
	top, first := 7, true
	for _, p := range t.Parts {
		if h, ok := p.Block.(*ast.Heading); ok {
			repeats := first && strings.EqualFold(oneSpace(plainText(h, t.Source)), oneSpace(title))
			if first = false; repeats {
				continue
			}
			top = min(top, h.Level)
		}
		parts = append(parts, p)
	}
	if top > 6 { // all headings are within quotes or lists, or there is none
		top = 1
	}
	return parts, top
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
