package api

import (
	"net/http"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/wire"
)

var resultFormats = []*wire.Format{wire.JSON, wire.NDJSON, wire.CSV, wire.XLSX}

func (a *API) listResults(w http.ResponseWriter, c *httpx.Call) error {
	access, err := c.Form(w)
	if err != nil {
		return err
	}
	return wire.SendList(w, c, access, wire.Flat, resultFormats...)
}

func (a *API) getResult(w http.ResponseWriter, c *httpx.Call) error {
	return a.getOne(w, c, wire.AppendResult)
}

func (a *API) updateResult(w http.ResponseWriter, c *httpx.Call) error {
	return a.updateOne(w, c, flat, wire.AppendResult)
}

func (a *API) deleteResult(w http.ResponseWriter, c *httpx.Call) error {
	access, id, err := c.Submission(w)
	if err != nil {
		return err
	}
	switch only, err := validateOnly(c.URL.RawQuery); {
	case err != nil:
		return err
	case only: // a caller who asks for a validation does not expect a delete
		return &forms.Invalid{Errors: []string{"validate is for creating and updating: a delete does not take it"}}
	}
	if err := access.Delete(c.Context(), id, conditionsOf(c.Request).precondition()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
