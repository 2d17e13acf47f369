package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/request"
)

// getHistory answers with the changes of a submission.
func getHistory(w http.ResponseWriter, c *request.Call) error {
	access, sub, err := c.Stored()
	if err != nil {
		return err
	}
	if sub.IsChanged() { // how much it is shows only when it was read
		if err := c.HoldBody(); err != nil {
			return err
		}
	}
	steps, err := access.History(c.Context(), sub)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, encode.History(steps))
	return nil
}

// clearHistory removes the earlier values of a submission.
func clearHistory(w http.ResponseWriter, c *request.Call) error {
	access, id, err := c.Submission()
	if err != nil {
		return err
	}
	if err := access.ClearHistory(c.Context(), id, precondition(c.Request)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
