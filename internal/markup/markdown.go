package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// formFence matches at least the lines that begin a form.
var formFence = regexp.MustCompile("(?i)(?:```|~~~)[\\s\\p{Z}\\x{85}]*(?:ya?ml[\\s\\p{Z}\\x{85}]+)?form")

// findInMarkdown finds fenced blocks whose info string is that of a form. It
// keeps the page's tree, from which its text is made.
func (p *reader) findInMarkdown() []rawBlock {
	source := bytes.Clone(p.src[p.body:]) // the tree refers to it
	shown := len(source) <= MaxShownBytes && formFence.Match(source)
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
	content, at, lines := p.fenced(fence, source), 0, fence.Lines()
	before := source[:0]
	switch {
	case fence.Info != nil:
		at = fence.Info.Segment.Start
		before = source[:at]
	case lines.Len() > 0:
		at = lines.At(0).Start
		before = source[:bytes.LastIndexByte(source[:at], '\n')+1]
	}
	marker := lastRun(bytes.TrimRight(before, " \t\n"))
	if fence.Info == nil || !isFormInfo(string(fence.Info.Segment.Value(source))) {
		if looksLikeForm(content.text) {
			p.warnOfUnmarkedForm(p.body+at, "begin it with "+marker+"yaml form")
		}
		return rawBlock{}, false
	}
	block = rawBlock{at: p.body + at, text: content, fence: fence}
	if n := lines.Len(); n > 0 && lines.At(n-1).Stop == len(source) {
		block.open = marker
	}
	return block, true
}

// lastRun returns the run of one character at the end of s. At the end of what
// stands before an info string, that is the fence.
func lastRun(s []byte) string {
	if len(s) == 0 {
		return ""
	}
	return string(s[len(bytes.TrimRight(s, string(s[len(s)-1]))):])
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
	var b excerptBuilder
	for i := range fence.Lines().Len() {
		if b.full() {
			break
		}
		// A list or quote may use up a part of a tab as its indentation. Padding is
		// the number of columns that are left of it.
		line := fence.Lines().At(i)
		b.add(strings.Repeat(" ", line.Padding), p.body+line.Start)
		b.add(string(source[line.Start:line.Stop]), p.body+line.Start)
	}
	return b.excerpt()
}
