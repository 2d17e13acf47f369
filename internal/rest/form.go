package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/request"
)

func listForms(w http.ResponseWriter, c *request.Call) error {
	pageID, err := request.PathID(c.Request, "pageId")
	if err != nil {
		return err
	}
	list, err := c.Backend.Service.Forms(c.Context(), c.Who, pageID)
	if err != nil {
		return err
	}
	c.Log.SetUser(c.Who.Name)
	return send(w, c, encode.Forms(list))
}

func getForm(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	return send(w, c, encode.Form(access.Form))
}
