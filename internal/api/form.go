package api

import (
	"net/http"

	"github.com/formulary/formulary/internal/httpx"
)

func (a *API) listForms(w http.ResponseWriter, c *httpx.Call) error {
	pageID, err := httpx.PathID(c.Request, "pageId")
	if err != nil {
		return err
	}
	list, err := a.Service.Forms(c.Context(), c.Who, pageID)
	if err != nil {
		return err
	}
	httpx.ReporterOf(w).SetUser(c.Who.Name)
	body := []byte{'['}
	for i, f := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendForm(body, f)
	}
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, jsonTypes, append(body, ']'))
	return nil
}

func (a *API) getForm(w http.ResponseWriter, c *httpx.Call) error {
	access, err := c.Form(w)
	if err != nil {
		return err
	}
	body := appendForm(nil, access.Form)
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, jsonTypes, body)
	return nil
}
