package markup

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// What a Markdown page may cost. The parser asks every open list and quote
// about every line, and remembers the answers.
const (
	maxMarkdownNesting = 100
	maxMarkdownWork    = 2_000_000 // lines looked at, once for each who looks
)

// findInMarkdown finds fenced blocks that isFormInfo tells from others. Only
// the block structure is parsed: inlines can't hold a form, and are what is
// hard to parse in bounded time.
func (p *reader) findInMarkdown() []found {
	source := slices.Clip(p.src[p.body:])
	lines := &lineReader{Reader: text.NewReader(source)}
	root := newMarkdownParser(lines).Parse(lines)
	if lines.complaint != "" {
		p.refuse(p.body+lines.at, "", "%s", lines.complaint)
		return nil
	}
	var blocks []found
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

// fence returns a fenced block that is a form.
func (p *reader) fence(fence *ast.FencedCodeBlock, source []byte) (block found, isForm bool) {
	content, at := p.fenced(fence, source), p.body
	switch {
	case fence.Info != nil:
		at += fence.Info.Segment.Start
	case fence.Lines().Len() > 0:
		at += fence.Lines().At(0).Start
	}
	if fence.Info == nil || !isFormInfo(string(fence.Info.Segment.Value(source))) {
		if looksLikeForm(content.text) {
			p.warnOfLikeness(at, "begin it with ```yaml form")
		}
		return found{}, false
	}
	block = found{at: at, text: content}
	if n := fence.Lines().Len(); n > 0 && fence.Lines().At(n-1).Stop == len(source) {
		block.open = "```"
	}
	return block, true
}

// isFormInfo takes info strings whose first word is "form", or "form" behind
// "yaml" or "yml", in any case. Further words are for other programs.
func isFormInfo(info string) bool {
	words := strings.Fields(strings.ToLower(info))
	if len(words) > 1 && (words[0] == "yaml" || words[0] == "yml") {
		words = words[1:]
	}
	return len(words) > 0 && words[0] == "form"
}

func (p *reader) fenced(fence *ast.FencedCodeBlock, source []byte) *excerpt {
	var c cutter
	for i := range fence.Lines().Len() {
		if c.full() {
			break
		}
		// Padding is what is left of a tab that the containers' indentation
		// took a part of.
		line := fence.Lines().At(i)
		c.add(strings.Repeat(" ", line.Padding), p.body+line.Start)
		c.add(string(source[line.Start:line.Stop]), p.body+line.Start)
	}
	return c.excerpt()
}

// newMarkdownParser has all blocks of CommonMark, so that what only looks
// like a fence is not taken for one.
func newMarkdownParser(lines *lineReader) parser.Parser {
	blocks := parser.DefaultBlockParsers()
	for i, b := range blocks {
		blocks[i].Value = &shallow{b.Value.(parser.BlockParser), lines}
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithParagraphTransformers(util.Prioritized(shorten{}, 1)),
	)
}

// shallow keeps blocks from nesting too deeply.
type shallow struct {
	parser.BlockParser
	lines *lineReader
}

func (s *shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxMarkdownNesting {
		s.lines.stop("lists and quotes are nested too deeply")
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// shorten cuts paragraphs to their first line. The inline nodes of the other
// lines are not needed. A paragraph without a line would be removed, which would
// change the list that contains it.
type shorten struct{}

func (shorten) Transform(n *ast.Paragraph, _ text.Reader, _ parser.Context) {
	n.Lines().SetSliced(0, min(1, n.Lines().Len()))
}

// lineReader ends the page early when it costs too much. It does so between
// lines: parsers don't expect a line to vanish while they read it.
type lineReader struct {
	text.Reader
	work      int
	complaint string
	at        int
	ended     bool
}

func (r *lineReader) stop(complaint string) {
	if r.complaint == "" {
		_, line := r.Position()
		r.complaint, r.at = complaint, line.Start
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
	r.ended = r.complaint != ""
	r.Reader.AdvanceLine()
}

func (r *lineReader) SkipBlankLines() (text.Segment, int, bool) {
	if r.ended {
		return text.Segment{}, 0, false
	}
	return r.Reader.SkipBlankLines()
}
