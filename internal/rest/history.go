package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/request"
)

// getHistory answers with the changes of a submission.
func getHistory(w http.ResponseWriter, c *request.Call) error {
	access, id, err := c.Submission()
	if err != nil {
		return err
	}
	steps, err := access.History(c.Context(), id)
	if err != nil {
		return err
	}
	body := encode.History(steps)
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	encode.WriteJSON(w, http.StatusOK, body)
	return nil
}

// clearHistory removes the earlier values of a submission.
func clearHistory(w http.ResponseWriter, c *request.Call) error {
	access, id, err := c.Submission()
	if err != nil {
		return err
	}
	if err := access.ClearHistory(c.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
