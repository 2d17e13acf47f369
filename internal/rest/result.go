package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

var resultFormats = []*encode.Format{encode.JSON, encode.NDJSON, encode.CSV, encode.XLSX}

func (a *API) listResults(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	return encode.SendList(w, c, access, encode.Flat, resultFormats...)
}

func (a *API) getResult(w http.ResponseWriter, c *request.Call) error {
	return a.getOne(w, c, encode.AppendResult)
}

func (a *API) updateResult(w http.ResponseWriter, c *request.Call) error {
	return a.updateOne(w, c, flat, encode.AppendResult)
}

func (a *API) deleteResult(w http.ResponseWriter, c *request.Call) error {
	access, id, err := c.Submission()
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
