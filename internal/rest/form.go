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
	body := []byte{'['}
	for i, f := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = encode.AppendForm(body, f)
	}
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	encode.WriteJSON(w, http.StatusOK, append(body, ']'))
	return nil
}

func (a *API) getForm(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	body := encode.AppendForm(nil, access.Form)
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	encode.WriteJSON(w, http.StatusOK, body)
	return nil
}
