package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/request"
)

// getSummary reads as much as a list does, and counts as one if it takes no more memory.
func getSummary(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	params := request.ReadParams(c.URL.RawQuery)
	opts := params.Summary()
	if err := params.Err(); err != nil {
		return err
	}
	if err := c.HoldSummary(query.SummaryBytes(access.Form, opts.By != nil)); err != nil {
		return err
	}
	check := func() error { return c.MayStillList(access) }
	summary, err := access.Submissions(c.Context(), check).Summary(opts)
	if err == nil {
		err = check()
	}
	if err != nil {
		return err
	}
	if opts.Filter.Search != "" { // it finds labels
		request.SetLanguages(w.Header(), access.Form)
	}
	setJSON(w.Header())
	_ = encode.WriteSummary(w, summary) // a client that is gone can't be told
	return nil
}
