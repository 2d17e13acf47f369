package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/request"
)

func (a *API) listForms(w http.ResponseWriter, c *request.Call) error {
	pageID, err := request.PathID(c.Request, "pageId")
	if err != nil {
		return err
	}
	list, err := a.Service.Forms(c.Context(), c.Who, pageID)
	if err != nil {
		return err
	}
	c.Log.SetUser(c.Who.Name)
	body := encode.Forms(list)
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	encode.WriteJSON(w, http.StatusOK, body)
	return nil
}

func (a *API) getForm(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	body := encode.Form(access.Form)
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	encode.WriteJSON(w, http.StatusOK, body)
	return nil
}
