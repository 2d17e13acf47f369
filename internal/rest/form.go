package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
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
	translated := make([]*forms.Form, len(list))
	for i, form := range list {
		translated[i] = c.Translated(form)
	}
	request.SetLanguages(w.Header(), translated...)
	return send(w, c, encode.Forms(translated))
}

func getForm(w http.ResponseWriter, c *request.Call) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	request.SetLanguages(w.Header(), access.Form)
	return send(w, c, encode.Form(access.Form))
}

// getAsked answers with the form that a submission was checked against when it was created.
func getAsked(w http.ResponseWriter, c *request.Call) error {
	access, sub, err := c.Stored()
	if err != nil {
		return err
	}
	form, err := access.Asked(c.Context(), sub.ID)
	switch {
	case err != nil:
		return err
	case form == nil:
		return service.NewError(service.NotFound, forms.English("It is not known how the form was when this was sent."))
	}
	form = c.Translated(form)
	request.SetLanguages(w.Header(), form)
	return send(w, c, encode.Form(form))
}
