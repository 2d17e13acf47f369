package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	Waiting   string // how many submissions wait for the caller, an editor; "" for none
	Review    string // path of these
}

// latestRow is a submission of the caller.
type latestRow struct {
	ownRow
	*service.Access
}

// What the home page shows at most. More forms are found by searching.
const (
	maxHomeForms  = 50 // for each of them, submissions may be read
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
	page := &homePage{Layout: c.layout(c.Lang.Text("Forms")), Query: strings.TrimSpace(c.URL.Query().Get("q"))}
	found, err := c.Backend.Service.Search(c.Who, all, page.Query)
	if err != nil {
		return err
	}
	page.Found = len(found)
	for _, p := range all {
		page.Editor = page.Editor || p.Rights.Edit
	}
	for _, access := range found[:min(len(found), maxHomeForms)] {
		row, err := c.formRow(access)
		if err != nil {
			return err
		}
		page.Forms = append(page.Forms, row)
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

// formRow reads what the row of a form says.
func (c *call) formRow(access *service.Access) (row formRow, err error) {
	access.Form = c.Translated(access.Form)
	row.Access = access
	if row.Available, err = access.Availability(c.Context()); err != nil {
		return row, err
	}
	rule, ok := access.Form.Undecided()
	if !ok || !access.Rights.Edit {
		return row, nil
	}
	waiting, err := access.Waiting(c.Context(), rule)
	if waiting > 0 {
		row.Waiting = strconv.Itoa(waiting)
		name := "filter[" + rule.FieldID + "][" + string(rule.Operator) + "]"
		row.Review = c.resultsPath(access.Form, true) + "?" + url.Values{"view": {"table"}, name: {rule.Value}}.Encode()
	}
	if waiting == service.MaxWaiting { // there may be more
		row.Waiting += "+"
	}
	return row, err
}
