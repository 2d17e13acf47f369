package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/request"
)

// getSummary reads as much as a list does, and counts as one if it takes no more memory.
func getSummary(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	params := request.ReadParams(c.URL.RawQuery)
	opts := params.SummaryOptions()
	if err := params.Err(); err != nil {
		return err
	}
	if err := c.HoldSummary(access.Form.SummaryBytes(opts.By != nil)); err != nil {
		return err
	}
	opts.Check = func() error { return c.MayStillList(access) }
	summary, err := access.Summary(c.Context(), opts)
	if err != nil {
		return err
	}
	if err := opts.Check(); err != nil {
		return err
	}
	if opts.Filter.Search != "" { // it finds labels
		request.SetLanguages(w.Header(), access.Form)
	}
	encode.WriteSummary(w, summary)
	return nil
}
