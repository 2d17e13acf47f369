package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// validateOnly reads the query parameter of writes that asks for nothing but
// the validation. A query that can't be read is refused: it might have been
// meant to say so.
func validateOnly(rawQuery string) (bool, error) {
	if rawQuery == "" {
		return false, nil
	}
	var invalid forms.Invalid
	values, given := request.ParseQuery(rawQuery, &invalid)["validate"]
	if given && (len(values) > 1 || values[0] != "only") {
		invalid.AddError(`validate must be "only", and be given once`)
	}
	return given, invalid.Err()
}

// writeValid answers with a validation result that has no faults.
func writeValid(w http.ResponseWriter) {
	encode.WriteJSON(w, http.StatusOK, []byte(`{"valid":true,"fieldErrors":{},"errors":[]}`))
}
