package api

import "net/http"

var resultList = listModel{
	rows:    flatAppender,
	formats: []*formatKind{formatJSON, formatNDJSON, formatCSV, formatXLSX},
}

func (a *API) listResults(w http.ResponseWriter, c *call) error {
	access, err := a.form(w, c)
	if err != nil {
		return err
	}
	return a.stream(w, c, access, resultList)
}

func (a *API) getResult(w http.ResponseWriter, c *call) error {
	return a.getOne(w, c, flatAppender)
}

func (a *API) updateResult(w http.ResponseWriter, c *call) error {
	return a.updateOne(w, c, flat, flatAppender)
}

func (a *API) deleteResult(w http.ResponseWriter, c *call) error {
	access, id, err := a.submission(w, c)
	if err != nil {
		return err
	}
	if err := access.Delete(c.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
