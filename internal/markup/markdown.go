package markup

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Limits of the work for a Markdown page. The parser looks at each line once for
// every list and quote that is open there.
const (
	maxMarkdownNesting = 100
	maxMarkdownWork    = 2_000_000 // calls of PeekLine
)

// findInMarkdown finds fenced blocks whose info string is that of a form. It
// parses only the block structure: inlines can't hold a form, and are hard to
// parse in bounded time.
func (p *reader) findInMarkdown() []rawBlock {
	source := slices.Clip(p.src[p.body:])
	lines := &lineReader{Reader: text.NewReader(source)}
	root := newMarkdownParser(lines).Parse(lines)
	if lines.refusal != "" {
		p.refuse(p.body+lines.at, "", "%s", lines.refusal)
		return nil
	}
	var blocks []rawBlock
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
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
	block = rawBlock{at: p.body + at, text: content}
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

// newMarkdownParser knows all blocks of CommonMark, so that a text inside
// another block that looks like a fence is not taken for one.
func newMarkdownParser(lines *lineReader) parser.Parser {
	blocks := parser.DefaultBlockParsers()
	for i, b := range blocks {
		blocks[i].Value = &depthLimit{b.Value.(parser.BlockParser), lines}
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithParagraphTransformers(util.Prioritized(keepFirstLine{}, 1)),
	)
}

// depthLimit is a block parser that refuses to nest too deeply.
type depthLimit struct {
	parser.BlockParser
	lines *lineReader
}

func (d *depthLimit) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxMarkdownNesting {
		d.lines.stop("lists and quotes are nested too deeply")
		return nil, parser.NoChildren
	}
	return d.BlockParser.Open(parent, reader, pc)
}

// keepFirstLine cuts paragraphs to their first line. The inline nodes of the other
// lines are not needed. A paragraph without a line would be removed, which would
// change the list that contains it.
type keepFirstLine struct{}

func (keepFirstLine) Transform(n *ast.Paragraph, _ text.Reader, _ parser.Context) {
	n.Lines().SetSliced(0, min(1, n.Lines().Len()))
}

// lineReader ends the page early when parsing takes too much work. It does so
// between lines: parsers don't expect a line to vanish while they read it.
type lineReader struct {
	text.Reader
	work    int
	refusal string // why the page is refused; "" if it is not
	at      int
	ended   bool
}

func (r *lineReader) stop(refusal string) {
	if r.refusal == "" {
		_, line := r.Position()
		r.refusal, r.at = refusal, line.Start
	}
}

func (r *lineReader) PeekLine() ([]byte, text.Segment) {
	if r.ended {
		return nil, text.Segment{}
	}
	r.work++
	return r.Reader.PeekLine()
}

func (r *lineReader) AdvanceLine() {
	if r.work > maxMarkdownWork {
		r.stop("the page has too many lines, or too many inside lists and quotes")
	}
	r.ended = r.refusal != ""
	r.Reader.AdvanceLine()
}

func (r *lineReader) SkipBlankLines() (text.Segment, int, bool) {
	if r.ended {
		return text.Segment{}, 0, false
	}
	return r.Reader.SkipBlankLines()
}
