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

// repeatedTitle returns the index of the part that repeats the title: the first
// heading that is in no other block. It returns -1 if there is none.
func repeatedTitle(t *markup.Text, title string) int {
	for i, part := range t.Parts {
		if part.Block == nil || part.Block.Kind() != ast.KindHeading {
			continue
		}
		if strings.EqualFold(oneSpace(plainText(part.Block, t.Source)), oneSpace(title)) {
			return i
		}
		break
	}
	return -1
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
