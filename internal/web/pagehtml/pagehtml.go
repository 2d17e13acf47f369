// Package pagehtml turns the text of a page into HTML, with each form where the
// text has it. Anyone who may edit the wiki writes pages, so the HTML can't run
// script, load anything or contain controls, and the time to make it is bounded
// for every text. The package does no I/O.
package pagehtml

import (
	"bytes"
	"html/template"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// Piece is a part of a page: HTML, or a form.
type Piece struct {
	HTML   template.HTML  // "" for a form. Elements that it opens are closed in it
	Why    *forms.Message // why the HTML is the text as it is written; nil for others
	FormID string         // of the form to show here; "" for HTML, and for a block whose form id can't be read
	// Missing is set for a block that is marked as a form where no form can be
	// shown: it is broken and has no last good definition, or an earlier block
	// has its form id.
	Missing bool
}

// Render returns the pieces of a page in page order. The title is that of the
// page: the page shows it above the text, so a first heading that repeats it is
// left out. The text is of markup.Parse, or nil. Each of the forms that the page
// has gets exactly one piece. Those that the text does not have come last.
//
// A text that is too long, or would take too much work, is shown as it is
// written, after the forms.
func Render(title string, t *markup.Text, formIDs []string) (pieces []Piece) {
	defer recovered(&pieces, t, formIDs)
	return render(title, t, formIDs)
}

// recovered is deferred. A panic of a third-party renderer costs the layout of
// this page, and nothing else. The fuzz test calls render, where panics are not
// recovered.
func recovered(pieces *[]Piece, t *markup.Text, formIDs []string) {
	if r := recover(); r != nil {
		*pieces = (&page{formIDs: slices.Clone(formIDs)}).plain(t.Source, tooMuchWork)
	}
}

func render(title string, t *markup.Text, formIDs []string) []Piece {
	p := &page{formIDs: slices.Clone(formIDs)}
	switch {
	case t == nil:
		return p.finish()
	case t.Cut:
		return p.plain(t.Source, tooLong)
	case t.Parts == nil:
		return p.plain(t.Source, tooMuchWork)
	}
	parts, top := shownParts(t, title)
	renderer := newRenderer(top)
	for _, part := range parts {
		if part.Block == nil {
			p.addForm(part.FormID)
		} else {
			_ = renderer.Render(&p.html, t.Source, part.Block) // a buffer takes all
		}
	}
	return p.finish()
}

// page collects pieces.
type page struct {
	formIDs []string // of the forms that have no piece yet
	pieces  []Piece
	html    bytes.Buffer // what follows the last piece, not sanitized yet
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
	if clean := sanitize(p.html.Bytes()); clean != "" {
		p.pieces = append(p.pieces, Piece{HTML: clean})
	}
	p.html.Reset()
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
	tooLong = forms.Say("The text of this page is longer than {0} KiB. "+
		"This is its beginning, as it is written:", markup.MaxShownBytes>>10)
	tooMuchWork = forms.Say("The text of this page is too intricate to be laid out. This is how it is written:")
)

// plain returns the forms, and the text as it is written. People come for the
// forms, so they come before a text that is long or strange.
func (p *page) plain(source []byte, why *forms.Message) []Piece {
	p.finish()
	//nolint:gosec // G203: it is escaped
	return append(p.pieces, Piece{Why: why, HTML: template.HTML(
		"<pre dir=\"auto\">" + escapePre(string(source)) + "</pre>\n",
	)})
}

// escapePre escapes a text for a pre element, where a first line break would be
// ignored, and writes characters that HTML does not allow as U+FFFD.
func escapePre(source string) string {
	return "\n" + template.HTMLEscapeString(visible(source))
}
