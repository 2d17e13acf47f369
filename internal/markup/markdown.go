package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Limits of the work for a Markdown page. The parser looks at each line once for
// every list and quote that is open there: a page with too many of them is
// refused. The work for inlines, link definitions and tables can grow with the
// square of the text, or faster. It is counted while it is done: each character
// that may begin or end an inline costs as much as its block is long. A text
// with too much of it is shown as it is written.
const (
	maxNesting    = 100
	maxLineWork   = 800_000 // calls of PeekLine: 3 for a line of a paragraph, 10 for an item of a list
	maxInlineWork = 8_000_000
	cellWork      = 400    // a cell of a table, even if the row is shorter than the table is wide
	markerWork    = 20     // any such character, however short its block is
	maxTreeNodes  = 30_000 // of a tree that stays in memory: at most ten megabytes
)

// meter counts the work for one page.
type meter struct {
	text.Reader // of the page's lines
	page        *reader
	lines       int
	inlines     int
	parent      ast.Node // the block in which inlines were last looked for
	size        int      // of that block
}

var meterKey = parser.NewContextKey()

func meterOf(pc parser.Context) *meter { return pc.Get(meterKey).(*meter) }

// refused is what the meter panics with, which ends the parser at once.
type refused struct{}

func (m *meter) refuse(why string) {
	_, line := m.Position()
	m.page.refuse(m.page.body+line.Start, "split the page, or nest less", "%s", why)
	panic(refused{})
}

// parseMarkdown parses a page, or its blocks alone. It returns nil if the page is refused.
func (p *reader) parseMarkdown(source []byte, complete bool) (root ast.Node) {
	defer func() {
		if r := recover(); r != nil && r != (refused{}) {
			panic(r)
		}
	}()
	m, pc, parse := &meter{Reader: text.NewReader(source), page: p}, parser.NewContext(), blocksAlone.Parse
	if pc.Set(meterKey, m); complete {
		parse = markdown.Parse
	}
	if root = parse(m, parser.WithContext(pc)); complete && !m.exhausted() {
		p.tree = root
	}
	return root
}

// blocksAlone has no inline parsers: it takes a line as one text, whatever is in it.
var blocksAlone = parser.NewParser(parser.WithBlockParsers(limitDepth(parser.DefaultBlockParsers())...))

// markdown is CommonMark with the extensions that people know from other wikis.
var markdown = parser.NewParser(
	parser.WithBlockParsers(limitDepth(parser.DefaultBlockParsers())...),
	parser.WithInlineParsers(append(
		parser.DefaultInlineParsers(),
		util.Prioritized(inlineLimit{}, 1),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	)...),
	parser.WithParagraphTransformers(append(
		parser.DefaultParagraphTransformers(),
		util.Prioritized(paragraphLimit{}, 1),
		util.Prioritized(extension.NewTableParagraphTransformer(), 200),
	)...),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
)

func limitDepth(parsers []util.PrioritizedValue) []util.PrioritizedValue {
	for i, p := range parsers {
		parsers[i].Value = depthLimit{p.Value.(parser.BlockParser)}
	}
	return parsers
}

// depthLimit is a block parser that refuses to nest too deeply.
type depthLimit struct{ parser.BlockParser }

func (d depthLimit) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxNesting {
		meterOf(pc).refuse("lists and quotes are nested too deeply")
	}
	return d.BlockParser.Open(parent, reader, pc)
}

func (m *meter) PeekLine() ([]byte, text.Segment) {
	if m.lines++; m.lines > maxLineWork {
		m.refuse("the page has too many lines, or too many inside lists and quotes")
	}
	return m.Reader.PeekLine()
}

func (m *meter) exhausted() bool { return m.inlines > maxInlineWork }

// inlineLimit is asked before all other parsers about each character that an
// inline with superlinear cost begins or ends with. When the work is exhausted,
// it takes the rest of the line as one text.
type inlineLimit struct{}

func (inlineLimit) Trigger() []byte { return []byte("[]!*_~`<") }

func (inlineLimit) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	if m.parent != parent {
		m.parent, m.size = parent, sizeOf(parent.Lines())
	}
	m.inlines += m.size + markerWork
	if !m.exhausted() {
		return nil
	}
	_, segment := block.PeekLine()
	block.AdvanceLine()
	return ast.NewTextSegment(segment)
}

func sizeOf(lines *text.Segments) (n int) {
	for i := range lines.Len() {
		line := lines.At(i)
		n += line.Len()
	}
	return n
}

// paragraphLimit counts the work for link definitions and tables, which
// paragraphs are turned into. When the work is exhausted, it leaves one line: a
// paragraph without a line would be removed, which would change the list that
// contains it.
type paragraphLimit struct{}

func (paragraphLimit) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	m, source := meterOf(pc), reader.Source()
	lines, size := n.Lines(), sizeOf(n.Lines())
	columns, definitions := 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(source)
		columns = max(columns, bytes.Count(line, []byte("|")))
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("[")) {
			definitions++
		}
	}
	m.inlines += columns*lines.Len()*cellWork + definitions*size
	if m.exhausted() {
		lines.SetSliced(0, min(1, lines.Len()))
	}
}

// findInMarkdown finds fenced blocks whose info string is that of a form. It
// keeps the page's tree, from which its text is made.
func (p *reader) findInMarkdown() []rawBlock {
	p.src = bytes.Clone(p.src) // the tree refers to it
	source := p.src[p.body:]
	shown := len(source) <= MaxShownBytes && bytes.Contains(bytes.ToLower(source), []byte("form"))
	root := p.parseMarkdown(source, shown)
	if root == nil {
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
	lines := fence.Lines()
	n := lines.Len()
	block = rawBlock{at: p.body, fence: fence, text: p.fenced(fence, source)}
	switch {
	case fence.Info != nil:
		block.at += fence.Info.Segment.Start
	case n > 0:
		block.at += lines.At(0).Start
	}
	if fence.Info == nil || !formInfo.Match(fence.Info.Segment.Value(source)) {
		if looksLikeForm(block.text.text()) {
			p.warnOfUnmarkedForm(block.at, `write "yaml form" after its opening fence`)
		}
		return rawBlock{}, false
	}
	if n > 0 {
		block.end = p.body + lines.At(n-1).Stop
		block.open = block.end == len(p.src)
	}
	return block, true
}

// formInfo matches the info string of a form, between any spaces of Unicode. Further words are for
// other programs.
var formInfo = regexp.MustCompile(`(?i)^[\s\v\p{Z}\x{85}]*(ya?ml[\s\v\p{Z}\x{85}]+)?form([\s\v\p{Z}\x{85}]|$)`)

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
