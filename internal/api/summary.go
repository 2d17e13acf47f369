package api

import (
	"net/http"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/wire"
)

// getSummary reads as much as a list does, and counts as one.
func (a *API) getSummary(w http.ResponseWriter, c *httpx.Call) error {
	access, err := c.Form(w)
	if err != nil {
		return err
	}
	var invalid forms.Invalid
	opts := httpx.SummaryOptions(httpx.ParseQuery(c.URL.RawQuery, &invalid), &invalid)
	if err := invalid.Err(); err != nil {
		return err
	}
	if err := c.HoldList(); err != nil {
		return err
	}
	opts.Check = func() error { return c.MayStillList(w, access) }
	summary, err := access.Summary(c.Context(), opts)
	if err != nil {
		return err
	}
	if err := opts.Check(); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, wire.AppendSummary(nil, summary))
	return nil
}
