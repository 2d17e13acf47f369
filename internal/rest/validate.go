package rest

import (
	"net/http"

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
	params := request.ReadParams(rawQuery)
	values, given := params.Values["validate"]
	if given && (len(values) > 1 || values[0] != "only") {
		params.Invalid.AddError(forms.English(`validate must be "only", and be given once`))
	}
	return given, params.Err()
}

// answerValid answers with a validation result that has no faults, unless there
// are some.
func answerValid(w http.ResponseWriter, err error) error {
	if err == nil {
		writeJSON(w, http.StatusOK, []byte(`{"valid":true,"fieldErrors":{},"errors":[]}`))
	}
	return err
}
