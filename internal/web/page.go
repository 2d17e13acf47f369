package web

import (
	"errors"
	"html/template"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// wikiPage is a page with its text and its forms.
type wikiPage struct {
	Layout
	Heading string
	Pieces  []pieceView
}

// pieceView is a piece of a page: text, a form, or the place of a form that
// can't be shown.
type pieceView struct {
	Text    template.HTML
	Form    *pageForm
	Missing bool
	FormID  string
}

// pageForm is a form on its page.
type pageForm struct {
	Crumbs
	Heading   string // "" if it is the only form
	Form      template.HTML
	Own       string // path of the caller's submission, where they can have one only
	Anonymous bool
	Once      bool
	Submitted bool
	Notice    string
}

// Bounds of the forms that are shown on their page. A page may have hundreds,
// each with hundreds of questions. Others have a page of their own.
const (
	maxPageForms = 20
	maxPageHTML  = 1 << 20 // bytes of all of them
)

func (s *Site) page(w http.ResponseWriter, c *call) error {
	id, err := request.PathID(c.Request, "pageId")
	if err != nil {
		return err
	}
	view, err := s.Backend.Service.Page(c.Context(), c.Who, id)
	if err != nil {
		return err
	}
	pieces, err := c.pageText(view)
	if err != nil {
		return err
	}
	forms := map[string]*service.Access{}
	for _, access := range view.Forms {
		forms[access.Form.ID] = access
	}
	page := &wikiPage{Layout: c.layout(view.Title), Heading: view.Title}
	page.Script = "form.js"
	shown, room := 0, maxPageHTML
	for _, piece := range pieces {
		v := pieceView{Text: piece.HTML, Missing: piece.Missing, FormID: piece.FormID}
		if piece.FormID != "" && !piece.Missing {
			shown++
			if v.Form, err = s.pageForm(c, forms[piece.FormID], shown, len(forms) > 1, &room); err != nil {
				return err
			}
		}
		page.Pieces = append(page.Pieces, v)
	}
	return c.render(w, http.StatusOK, "page", page)
}

// pageForm is the n-th form of a page. Where the caller has sent the only
// submission that they can, or the page has too many forms or no room for this
// one, there is a link instead of questions.
func (s *Site) pageForm(c *call, access *service.Access, n int, several bool, room *int) (*pageForm, error) {
	form := access.Form
	v := &pageForm{Crumbs: c.crumbs(access), Anonymous: form.Anonymous, Once: form.OneSubmission}
	if several {
		v.Heading = form.ID
	}
	switch {
	case n > maxPageForms:
		return v, nil
	case form.OneSubmission && !form.Anonymous:
		mine, found, err := access.Mine(c.Context())
		if err != nil {
			return nil, err
		}
		if found {
			v.Own = c.submissionPath(form, mine)
			return v, nil
		}
	case form.OneSubmission:
		var err error
		if v.Submitted, err = access.Submitted(c.Context()); err != nil || v.Submitted {
			return v, err
		}
	}
	view, err := s.createForm(c, access, "f"+strconv.Itoa(n), filling{})
	if err != nil {
		return nil, err
	}
	v.Form, err = c.renderPart("form", view, maxPageHTML-*room, *room)
	if errors.Is(err, errPageTooLarge) {
		return v, nil
	}
	*room -= len(v.Form)
	return v, err
}
