package api

import (
	"net/http"

	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/wire"
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
		body = wire.AppendForm(body, f)
	}
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, append(body, ']'))
	return nil
}

func (a *API) getForm(w http.ResponseWriter, c *httpx.Call) error {
	access, err := c.Form(w)
	if err != nil {
		return err
	}
	body := wire.AppendForm(nil, access.Form)
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, body)
	return nil
}
