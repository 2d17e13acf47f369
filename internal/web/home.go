package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/service"
)

// homePage lists what there is for somebody to do.
type homePage struct {
	Layout
	Query  string
	ToFill formList // takes a submission of the caller now
	Edited formList // is on a page that the caller may edit
	Some   bool     // a form was found, though it may be in neither list
	Latest []latestRow
	Editor bool   // of any page
	New    string // path of a new form; "" for people who may save none
}

// formList is the first forms by title.
type formList struct {
	Rows []formRow
	More bool // forms were left out
}

// formRow is a form. Its title leads to it.
type formRow struct {
	*service.Access
	Available service.Availability
	Waiting   waitingLink // on a page that the caller may edit
	Shortcuts *shortcuts  // the same
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
	maxHomeForms  = 50 // in a list
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
	page.Wide = true
	if c.Backend.Service.MayAuthor(c.Who) == nil {
		page.New, page.Script = c.written(nil), "home.js"
	}
	found, err := c.Backend.Service.Search(c.Who, all, page.Query)
	if err != nil {
		return err
	}
	page.Some = len(found) > 0
	for _, p := range all {
		page.Editor = page.Editor || p.Rights.Edit
	}
	if err := c.listForms(page, found); err != nil {
		return err
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

// listForms sorts forms into the lists of the page.
func (c *call) listForms(page *homePage, found []*service.Access) (err error) {
	var open, edited []*service.Access
	for _, access := range found {
		access.Form = c.Translated(access.Form)
		switch {
		case access.Rights.Edit:
			edited = append(edited, access)
		case service.Window(access.Form, access.Now()).Reason == nil:
			open = append(open, access)
		}
	}
	if page.ToFill, err = c.formList(open); err != nil {
		return err
	}
	if page.Edited, err = c.formList(edited); err != nil {
		return err
	}
	rows := page.Edited.Rows
	waiting, err := c.countWaiting(homeCounts, edited[:len(rows)]...)
	for i, link := range waiting {
		rows[i].Waiting, rows[i].Shortcuts = link, c.shortcuts(link.Access)
	}
	slices.SortStableFunc(rows, func(a, b formRow) int {
		return cmp.Compare(min(len(b.Waiting.Number), 1), min(len(a.Waiting.Number), 1))
	})
	return err
}

// formList lists the first forms by title. It leaves out forms that the caller can neither fill in now nor edit.
func (c *call) formList(all []*service.Access) (list formList, err error) {
	titles := map[*service.Access]string{}
	for _, access := range all {
		titles[access] = strings.ToLower(access.Form.Title)
	}
	slices.SortStableFunc(all, func(a, b *service.Access) int { return cmp.Compare(titles[a], titles[b]) })
	for chunk := range slices.Chunk(all, maxHomeForms+1) { // mostly one: few are full or answered
		states, err := c.Backend.Service.Availabilities(c.Context(), chunk...)
		if err != nil {
			return list, err
		}
		for i, access := range chunk {
			if access.Rights.Edit || states[i].Takes() {
				list.Rows = append(list.Rows, formRow{Access: access, Available: states[i]})
			}
		}
		if list.More = len(list.Rows) > maxHomeForms; list.More {
			list.Rows = list.Rows[:maxHomeForms]
			break
		}
	}
	return list, nil
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
