package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/service"
)

// homePage lists the forms that somebody may fill in.
type homePage struct {
	Layout
	Query  string
	Forms  []formRow
	Found  int // forms, of which Forms may be the first only
	Latest []latestRow
	Editor bool // of any page
}

// formRow is a form. Its title leads to it.
type formRow struct {
	*service.Access
	Available service.Availability
	Waiting   waitingLink
}

// waitingLink leads to the submissions that wait for the caller, an editor.
type waitingLink struct {
	*service.Access
	Number string // "" if it is not known whether any wait
	Path   string // "" if none wait
}

// latestRow is a submission of the caller.
type latestRow struct {
	ownRow
	*service.Access
}

// What the home page shows at most. More forms are found by searching.
const (
	maxHomeForms  = 50
	maxHomeLatest = 5
)

// How long a page counts what waits.
const (
	homeCounts = 10 * time.Millisecond // all forms
	formCounts = 50 * time.Millisecond
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
	page := &homePage{Layout: c.layout(c.Lang.Text("Forms")), Query: strings.TrimSpace(c.URL.Query().Get("q"))}
	found, err := c.Backend.Service.Search(c.Who, all, page.Query)
	if err != nil {
		return err
	}
	page.Found = len(found)
	for _, p := range all {
		page.Editor = page.Editor || p.Rights.Edit
	}
	found = found[:min(len(found), maxHomeForms)]
	for _, access := range found {
		access.Form = c.Translated(access.Form)
		available, err := access.Availability(c.Context())
		if err != nil {
			return err
		}
		page.Forms = append(page.Forms, formRow{Access: access, Available: available})
	}
	waiting, err := c.countWaiting(homeCounts, found...)
	if err != nil {
		return err
	}
	for i, link := range waiting {
		page.Forms[i].Waiting = link
	}
	latest, err := c.Backend.Service.Latest(c.Context(), c.Who, all, maxHomeLatest)
	if err != nil {
		return err
	}
	for _, sub := range latest {
		sub.Form = c.Translated(sub.Form)
		row, err := c.ownRow(sub.Access, sub.Submission, "")
		if err != nil {
			return err
		}
		page.Latest = append(page.Latest, latestRow{row, sub.Access})
	}
	return c.render(http.StatusOK, "home", page)
}

// countWaiting returns links to what waits in forms.
func (c *call) countWaiting(budget time.Duration, list ...*service.Access) ([]waitingLink, error) {
	if err := c.HoldList(); err != nil {
		return nil, err
	}
	until := c.Backend.Service.Now().Add(budget)
	more := func() bool { return c.Backend.Service.Now().Before(until) }
	counts, err := service.CountWaiting(c.Context(), list, more)
	var links []waitingLink
	for i, n := range counts {
		links = append(links, c.newWaitingLink(list[i], n)) //nolint:gosec // G602: a number for each
	}
	return links, err
}

func (c *call) newWaitingLink(access *service.Access, n service.Waiting) waitingLink {
	link := waitingLink{Access: access}
	if n.Count > 0 {
		link.Number = c.Lang.Count(int64(n.Count))
	}
	if n.Count > 0 && !n.Exact {
		link.Number += "+"
	}
	if n.Count > 0 || !n.Exact {
		name := "filter[" + n.Rule.FieldID + "][" + string(n.Rule.Operator) + "]"
		link.Path = c.resultsPath(access.Form, true) + "?" + url.Values{"view": {"table"}, name: {n.Rule.Value}}.Encode()
	}
	return link
}
