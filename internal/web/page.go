package web

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/pagehtml"
)

// wikiPage is a page with its text and its forms.
type wikiPage struct {
	Layout
	Problems Problems
	Pieces   []pieceView
	Add      string // path of a new form for the page; "" for people who can't save it there
}

// pieceView is a piece of a page. Form is set if the piece is a form that can be shown.
type pieceView struct {
	Piece pagehtml.Piece
	Form  *pageForm
}

// pageForm is a form on its page.
type pageForm struct {
	About   *about
	Heading string // "" if the page's title says it
	Notes
	Form template.HTML
	Own  string // path of the caller's submission, where they can have one only
}

// Bounds of the forms that are shown on their page. A page may have hundreds,
// each with hundreds of questions. Others have a page of their own.
const (
	maxPageForms = 20
	maxPageHTML  = 1 << 20 // bytes of all of them
)

func (c *call) page() error {
	id, err := request.PathID(c.Request, "pageId")
	if err != nil {
		return err
	}
	view, err := c.Backend.Service.Page(c.Context(), c.Who, id)
	if err != nil {
		return err
	}
	pieces, err := c.renderText(view)
	if err != nil {
		return err
	}
	forms := map[string]*service.Access{}
	for _, access := range view.Forms {
		access.Form = c.Translated(access.Form)
		forms[access.Form.ID] = access
	}
	page := &wikiPage{Layout: c.layout(view.Title), Problems: c.problems(view.Diagnostics, view.ID, view.Blocks...)}
	page.Script, page.Lang = "form.js", view.Lang
	if view.NotSaved == nil {
		page.Add = c.written(url.Values{addParameter: {formatID(id)}})
	}
	page.Problems.Earlier = !slices.ContainsFunc(pieces, func(p pagehtml.Piece) bool { return p.Missing })
	shown, room, filled := 0, maxPageHTML, 0
	for _, piece := range pieces {
		v := pieceView{Piece: piece}
		if piece.FormID != "" && !piece.Missing {
			shown++
			if v.Form, err = c.pageForm(forms[piece.FormID], shown, len(forms) > 1, &room); err != nil {
				return err
			}
			if v.Form.Form != "" {
				filled++
				page.LangForm = formID(shown)
			}
		}
		page.Pieces = append(page.Pieces, v)
	}
	if filled > 1 {
		page.LangForm = "" // a browser sends one of them
	}
	return c.render(http.StatusOK, "page", page)
}

// htmlPerByte is about how much longer the HTML of a text is than the text.
const htmlPerByte = 4

// renderText returns the text of a page, with a piece for each of its forms. A long
// text takes a slot and a turn, as a large page does.
func (c *call) renderText(page service.PageView) ([]pagehtml.Piece, error) {
	formIDs := make([]string, len(page.Forms))
	for i, access := range page.Forms {
		formIDs[i] = access.Form.ID
	}
	if page.Text != nil {
		if err := c.holdPage(htmlPerByte * len(page.Text.Source)); err != nil {
			return nil, err
		}
		defer c.endTurn()
	}
	return pagehtml.Render(page.Title, page.Text, formIDs), nil
}

// formID is the id of the n-th form of a page.
func formID(n int) string { return "f" + strconv.Itoa(n) }

// pageForm is the n-th form of a page. Where the caller has sent the only
// submission that they can, or the page has too many forms or no room for this
// one, there is a link instead of questions.
func (c *call) pageForm(access *service.Access, n int, several bool, room *int) (*pageForm, error) {
	form := access.Form
	v := &pageForm{About: c.about(access), Notes: Notes{Form: form}}
	if several || v.About.FormLink {
		v.Heading = form.Title
	}
	if n > maxPageForms {
		return v, nil
	}
	var err error
	if v.Notes, err = c.notes(access); err != nil {
		return nil, err
	}
	if form.OneSubmission {
		mine, found, err := access.Mine(c.Context())
		if err != nil {
			return nil, err
		}
		if found {
			v.Own = c.submissionPath(form, mine)
			return v, nil
		}
	}
	if v.Submitted || v.Closed != nil {
		return v, nil
	}
	view, err := c.createForm(access, formID(n), filling{values: prefilled(access, nil)})
	if err != nil {
		return nil, err
	}
	v.Form, err = c.renderForm(view, maxPageHTML-*room, *room)
	if errors.Is(err, errPageTooLarge) {
		return v, nil
	}
	*room -= len(v.Form)
	return v, err
}
