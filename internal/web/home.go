package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/service"
)

// homePage lists the pages with forms that somebody may view.
type homePage struct {
	Layout
	Query  string
	Pages  []pageCard
	Found  int // pages, of which Pages may be the first only
	Latest []latestCard
}

type pageCard struct {
	Title, Path string
	Forms       []formLink
	More        int // forms that only the page itself shows
}

type formLink struct {
	Title, Path string
	State       string // "Not open yet", "Closed", or "" while the form is open
	Results     string // path; "" if the caller can see none
	All         bool   // the results are those of everybody
}

type latestCard struct {
	Title, Path string
	Created     time.Time
}

// What the home page shows at most. More pages are found by searching.
const (
	maxHomePages  = 100
	maxHomeForms  = 20 // of each page
	maxHomeLatest = 5
)

func (s *Site) home(w http.ResponseWriter, c *call) error {
	if err := c.HoldList(); err != nil { // it may look at many forms
		return err
	}
	c.Log.SetUser(c.Who.Name)
	all, err := s.Backend.Service.Pages(c.Context(), c.Who)
	if err != nil {
		return err
	}
	page := &homePage{Layout: c.layout("Forms"), Query: strings.TrimSpace(c.URL.Query().Get("q"))}
	latest, err := s.Backend.Service.Latest(c.Context(), c.Who, all, maxHomeLatest)
	if err != nil {
		return err
	}
	for _, l := range latest {
		card := latestCard{Title: l.PageTitle, Path: c.submissionPath(l.Form, l.ID), Created: l.Created}
		if l.Form.Title != l.PageTitle {
			card.Title += ": " + l.Form.Title
		}
		page.Latest = append(page.Latest, card)
	}
	found, err := all.Search(page.Query)
	if err != nil {
		return err
	}
	page.Found = len(found)
	for _, p := range found[:min(len(found), maxHomePages)] {
		page.Pages = append(page.Pages, c.pageCard(p))
	}
	return c.render(w, http.StatusOK, "home", page)
}

func (c *call) pageCard(p service.PageInfo) pageCard {
	card := pageCard{Title: p.Title, Path: c.pagePath(p.ID)}
	for i, f := range p.Forms {
		if i == maxHomeForms {
			card.More = len(p.Forms) - i
			break
		}
		all := p.Rights.SeeAll
		link := formLink{Title: f.Title, Path: c.formPath(f), Results: c.resultsPath(f, all), All: all}
		switch now, zone := c.Backend.Service.Now(), c.Backend.Service.Zone(); {
		case f.IsEarly(now, zone):
			link.State = "Not open yet"
		case f.IsOver(now, zone):
			link.State = "Closed"
		}
		card.Forms = append(card.Forms, link)
	}
	return card
}
