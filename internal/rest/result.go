package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

func deleteResult(w http.ResponseWriter, c *request.Call) error {
	access, id, err := c.Submission()
	if err != nil {
		return err
	}
	switch only, err := validateOnly(c.URL.RawQuery); {
	case err != nil:
		return err
	case only: // a caller who asks for a validation does not expect a delete
		return forms.InvalidRequest(forms.English("validate is for creating and updating: a delete does not take it"))
	}
	if err := access.Delete(c.Context(), id, precondition(c.Request)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
