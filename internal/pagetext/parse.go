package pagetext

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The block structure of a text takes bounded work, because markup.Parse has
// refused texts that are nested too deeply. The rest of the work can grow with
// the square of the text, or faster. It is counted while it is done: each
// character that may begin or end an inline costs as much as its block is long.
const (
	maxWork  = 8_000_000
	cellWork = 400 // a cell of a table, even if the row is shorter than the table is wide
	nodeWork = 20  // any such character, however short its block is

	maxBlocks = 10_000 // cells of tables are blocks
)

// markers are the characters that inlines with superlinear cost begin or end with.
var markers = []byte("[]!*_~`<")

var workKey = parser.NewContextKey()

// work counts the work for one text.
type work struct {
	spent  int
	parent ast.Node // the block that the inlines were last looked for in
	size   int      // of that block
}

func (w *work) exhausted() bool { return w.spent > maxWork }

func workOf(pc parser.Context) *work { return pc.Get(workKey).(*work) }

// parse parses a text. It reports false if that is too much work.
func parse(source []byte) (root ast.Node, ok bool) {
	pc, w := parser.NewContext(), &work{}
	pc.Set(workKey, w)
	root = markdown.Parse(text.NewReader(source), parser.WithContext(pc))
	return root, !w.exhausted() && countBlocks(root) <= maxBlocks
}

func countBlocks(root ast.Node) (n int) {
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if node.Type() == ast.TypeInline {
			return ast.WalkSkipChildren, nil
		}
		if entering {
			n++
		}
		return ast.WalkContinue, nil
	})
	return n
}

// markdown is CommonMark with the extensions that people know from other wikis.
var markdown = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
		util.Prioritized(inlineLimit{}, 1),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	)...),
	parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
		util.Prioritized(paragraphLimit{}, 1),
		util.Prioritized(extension.NewTableParagraphTransformer(), 200),
	)...),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
)

// inlineLimit is asked before all other parsers about each marker. When the work
// is exhausted, it takes the markers for itself, and the rest takes no time.
type inlineLimit struct{}

func (inlineLimit) Trigger() []byte { return markers }

func (inlineLimit) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	w := workOf(pc)
	if w.parent != parent {
		w.parent, w.size = parent, sizeOf(parent.Lines())
	}
	w.spent += w.size + nodeWork
	if !w.exhausted() {
		return nil
	}
	_, segment := block.PeekLine()
	block.Advance(1)
	return ast.NewTextSegment(segment.WithStop(segment.Start + 1))
}

func sizeOf(lines *text.Segments) (n int) {
	for i := range lines.Len() {
		line := lines.At(i)
		n += line.Len()
	}
	return n
}

// paragraphLimit counts the work for link reference definitions and tables, which
// paragraphs are turned into.
type paragraphLimit struct{}

func (paragraphLimit) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	w, source := workOf(pc), reader.Source()
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
	w.spent += columns*lines.Len()*cellWork + definitions*size
	if w.exhausted() {
		lines.SetSliced(0, min(1, lines.Len()))
	}
}
