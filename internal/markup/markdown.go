package markup

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// findInMarkdown finds fenced blocks whose info string is that of a form. It
// keeps the page's tree, from which its text is made.
func (p *reader) findInMarkdown() []rawBlock {
	source := bytes.Clone(p.src[p.body:]) // the tree refers to it
	shown := len(source) <= MaxShownBytes && bytes.Contains(bytes.ToLower(source), []byte("form"))
	tree, refusal, at := parseMarkdown(source, shown)
	if refusal != "" {
		p.refuse(p.body+at, "", "%s", refusal)
		return nil
	}
	p.tree = tree
	var blocks []rawBlock
	_ = ast.Walk(tree.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if fence, ok := n.(*ast.FencedCodeBlock); ok && entering {
			if block, isForm := p.fence(fence, source); isForm {
				blocks = append(blocks, block)
			}
		}
		return ast.WalkContinue, nil
	})
	return blocks
}

// fence returns the raw block of a fenced block that is a form.
func (p *reader) fence(fence *ast.FencedCodeBlock, source []byte) (block rawBlock, isForm bool) {
	lines := fence.Lines()
	block = rawBlock{at: p.body, fence: fence, text: p.fenced(fence, source)}
	switch {
	case fence.Info != nil:
		block.at += fence.Info.Segment.Start
	case lines.Len() > 0:
		block.at += lines.At(0).Start
	}
	if fence.Info == nil || !isFormInfo(string(fence.Info.Segment.Value(source))) {
		if looksLikeForm(block.text.text()) {
			p.warnOfUnmarkedForm(block.at, `write "yaml form" after its opening fence`)
		}
		return rawBlock{}, false
	}
	n := lines.Len()
	block.open = n > 0 && lines.At(n-1).Stop == len(source)
	return block, true
}

// isFormInfo reports whether an info string begins with "form", "yaml form" or
// "yml form", in upper or lower case. Further words are for other programs.
func isFormInfo(info string) bool {
	words := strings.Fields(strings.ToLower(info))
	if len(words) > 1 && (words[0] == "yaml" || words[0] == "yml") {
		words = words[1:]
	}
	return len(words) > 0 && words[0] == "form"
}

func (p *reader) fenced(fence *ast.FencedCodeBlock, source []byte) *excerpt {
	text := &excerpt{}
	for i := range fence.Lines().Len() {
		// A list or quote may use up a part of a tab as its indentation. Padding is
		// the number of columns that are left of it.
		line := fence.Lines().At(i)
		text.add(strings.Repeat(" ", line.Padding), p.body+line.Start)
		text.add(string(source[line.Start:line.Stop]), p.body+line.Start)
	}
	return text
}
