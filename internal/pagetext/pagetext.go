// Package pagetext turns the text of a Markdown page into HTML, with the forms in
// their places. Anyone who may edit the wiki writes pages, so the HTML can't run
// script, load anything or contain controls, and the time to make it is bounded
// for every text. The package does no I/O.
package pagetext

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/yuin/goldmark/ast"

	"github.com/formulary/formulary/internal/markup"
)

// Piece is a part of a page: HTML, or a form.
type Piece struct {
	HTML   template.HTML // "" for a form. Elements that it opens are closed in it
	FormID string        // the form that stands here; "" for HTML, and for a block whose form id can't be read
	// Missing is set for a block that is marked as a form where no form can be
	// shown: it is broken and has no last good definition, or an earlier block
	// has its form id.
	Missing bool
}

// Render returns the pieces of a page in page order. The title is that of the
// page: the page shows it above the text, so a first heading that repeats it is
// left out. The text is of markup.Parse, or nil. Each of the forms that the page
// has gets exactly one piece. Those without a place in the text come last.
//
// A form inside a list, a quote or the like stands after the outermost one, so
// that each piece is complete. A text that is too long, or would take too much
// work, is shown as it is written, after the forms.
func Render(title string, t *markup.Text, formIDs []string) (pieces []Piece) {
	defer recovered(&pieces, t, formIDs)
	return render(title, t, formIDs)
}

// recovered is deferred. A panic of a third-party parser costs the layout of this
// page, and nothing else. The fuzz test calls render, where panics are not
// recovered.
func recovered(pieces *[]Piece, t *markup.Text, formIDs []string) {
	if r := recover(); r != nil {
		*pieces = newPage(nil, formIDs).plain(t.Source, tooMuchWork)
	}
}

func render(title string, t *markup.Text, formIDs []string) []Piece {
	if t == nil {
		return newPage(nil, formIDs).finish()
	}
	p := newPage(t.Places, formIDs)
	if t.Cut {
		return p.plain(t.Source, tooLong)
	}
	source := []byte(t.Source)
	root, ok := parse(source)
	if !ok {
		return p.plain(t.Source, tooMuchWork)
	}
	prepare(root, source, title)
	for block := root.FirstChild(); block != nil; {
		next := block.NextSibling() // add may remove the block
		p.add(block, source)
		block = next
	}
	return p.finish()
}

// page collects pieces.
type page struct {
	places  map[int]string // the form ids by offset
	formIDs []string       // of the forms that have no piece yet
	pieces  []Piece
	html    []byte // what follows the last piece, not sanitized yet
}

func newPage(places []markup.Place, formIDs []string) *page {
	p := &page{places: make(map[int]string, len(places)), formIDs: slices.Clone(formIDs)}
	for _, place := range places {
		p.places[place.At] = place.FormID
	}
	return p
}

// add adds a block that is in no other block.
func (p *page) add(block ast.Node, source []byte) {
	var found []*ast.FencedCodeBlock
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if fence, ok := n.(*ast.FencedCodeBlock); ok && entering && p.isForm(fence) {
			found = append(found, fence)
		}
		return ast.WalkContinue, nil
	})
	for _, fence := range found {
		remove(fence)
	}
	if block.Parent() != nil {
		p.html = appendHTML(p.html, block, source)
	}
	for _, fence := range found {
		p.addForm(p.places[fence.Info.Segment.Start])
	}
}

// remove removes a block, and the lists and quotes that have nothing else in them.
func remove(block ast.Node) {
	for parent := block.Parent(); parent != nil; block, parent = parent, parent.Parent() {
		if parent.RemoveChild(parent, block); parent.HasChildren() {
			return
		}
	}
}

func (p *page) isForm(fence *ast.FencedCodeBlock) bool {
	if fence.Info == nil {
		return false
	}
	_, ok := p.places[fence.Info.Segment.Start]
	return ok
}

func (p *page) addForm(id string) {
	p.flush()
	i := slices.Index(p.formIDs, id)
	if i < 0 {
		p.pieces = append(p.pieces, Piece{FormID: id, Missing: true})
		return
	}
	p.formIDs = slices.Delete(p.formIDs, i, i+1)
	p.pieces = append(p.pieces, Piece{FormID: id})
}

// flush makes a piece of the HTML since the last one.
func (p *page) flush() {
	if clean := sanitize(p.html); clean != "" {
		p.pieces = append(p.pieces, Piece{HTML: clean})
	}
	p.html = nil
}

// finish adds the forms that have no piece yet, and returns all pieces.
func (p *page) finish() []Piece {
	p.flush()
	for _, id := range p.formIDs {
		p.pieces = append(p.pieces, Piece{FormID: id})
	}
	p.formIDs = nil
	return p.pieces
}

var (
	tooLong     = fmt.Sprintf("The text of this page is longer than %d KiB. This is its beginning, as it is written:", markup.MaxShownBytes>>10)
	tooMuchWork = "The text of this page is too intricate to be laid out. This is how it is written:"
)

// plain returns the forms, and the text as it is written. People come for the
// forms, so they stand above a text that is long or strange.
func (p *page) plain(source, why string) []Piece {
	p.finish()
	//nolint:gosec // G203: both are escaped
	return append(p.pieces, Piece{HTML: template.HTML(
		"<p>" + template.HTMLEscapeString(why) + "</p>\n<pre dir=\"auto\">" + escapePre(source) + "</pre>\n",
	)})
}

// escapePre escapes a text for a pre element, where a first line break would be
// ignored, and writes characters that HTML does not allow as U+FFFD.
func escapePre(source string) string {
	return "\n" + template.HTMLEscapeString(visible(source))
}
