package web

import (
	"net/http"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// homePage lists the pages with forms that somebody may view.
type homePage struct {
	Layout
	Query  string
	Pages  service.PageList
	Found  int // pages, of which Pages may be the first only
	Latest []service.OwnSubmission
}

// What the home page shows at most. More pages are found by searching.
const (
	maxHomePages  = 100
	maxHomeForms  = 20 // of each page
	maxHomeLatest = 5
)

func (c *call) home() error {
	if err := c.HoldList(); err != nil { // it may look at many forms
		return err
	}
	c.Log.SetUser(c.Who.Name)
	all, err := c.Backend.Service.Pages(c.Context(), c.Who)
	if err != nil {
		return err
	}
	page := &homePage{Layout: c.layout("Forms"), Query: strings.TrimSpace(c.URL.Query().Get("q"))}
	if page.Latest, err = c.Backend.Service.Latest(c.Context(), c.Who, all, maxHomeLatest); err != nil {
		return err
	}
	found, err := all.Search(page.Query)
	if err != nil {
		return err
	}
	page.Found, page.Pages = len(found), found[:min(len(found), maxHomePages)]
	return c.render(http.StatusOK, "home", page)
}

// First are the forms of a page that are shown.
func (p *homePage) First(all []*forms.Form) []*forms.Form { return all[:min(len(all), maxHomeForms)] }

// More is how many forms only the page itself shows.
func (p *homePage) More(all []*forms.Form) int { return max(len(all)-maxHomeForms, 0) }

// State is "" while a form is open.
func (p *homePage) State(f *forms.Form) string {
	switch now, zone := p.Call.Backend.Service.Now(), p.Call.Backend.Service.Zone(); {
	case f.IsEarly(now, zone):
		return "Not open yet"
	case f.IsOver(now, zone):
		return "Closed"
	}
	return ""
}
