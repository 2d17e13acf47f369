package api

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/service"
)

var submissionList = listModel{
	rows:    func(*forms.Form) appender { return appendSubmission },
	formats: []*formatKind{formatJSON, formatNDJSON},
}

func (a *API) listSubmissions(w http.ResponseWriter, c *call) error {
	access, err := a.form(w, c)
	if err != nil {
		return err
	}
	return a.stream(w, c, access, submissionList)
}

func (a *API) getSubmission(w http.ResponseWriter, c *call) error {
	return a.getOne(w, c, submissionList.rows)
}

func (a *API) createSubmission(w http.ResponseWriter, c *call) error {
	if _, err := a.form(w, c); err != nil {
		return err
	}
	answers, err := a.decode(w, c, nested)
	if err != nil {
		return err
	}
	access, err := a.reopen(w, c)
	if err != nil {
		return err
	}
	sub, err := access.Create(c.Context(), answers)
	if err != nil {
		return err
	}
	w.Header().Set("Location", c.URL.EscapedPath()+"/"+strconv.FormatInt(sub.ID, 10))
	return writeOne(w, http.StatusCreated, appendSubmission, sub)
}

func (a *API) updateSubmission(w http.ResponseWriter, c *call) error {
	return a.updateOne(w, c, nested, submissionList.rows)
}

// submission reads the path of one.
func (a *API) submission(w http.ResponseWriter, c *call) (access *service.Access, id int64, err error) {
	if access, err = a.form(w, c); err != nil {
		return nil, 0, err
	}
	id, err = httpx.PathID(c.Request, "id")
	return access, id, err
}

// getOne answers with one submission in the model that the appender writes.
func (a *API) getOne(w http.ResponseWriter, c *call, model func(*forms.Form) appender) error {
	access, id, err := a.submission(w, c)
	if err != nil {
		return err
	}
	sub, err := access.Get(c.Context(), id)
	if err != nil {
		return err
	}
	if err := a.holdAnswer(c, len(sub.Entries)); err != nil {
		return err
	}
	return writeOne(w, http.StatusOK, model(access.Form), sub)
}

// updateOne merges a body of either model into a submission.
func (a *API) updateOne(w http.ResponseWriter, c *call, d decoder, model func(*forms.Form) appender) error {
	_, id, err := a.submission(w, c)
	if err != nil {
		return err
	}
	answers, bad := a.decode(w, c, d)
	access, err := a.reopen(w, c)
	if err != nil {
		return err
	}
	if bad != nil {
		return cmp.Or(access.MayMerge(c.Context(), id), bad) // whatever the body is
	}
	// The answer holds all of the submission, which may be large where the body
	// is not: without a slot for it nothing is changed.
	sub, err := access.Merge(c.Context(), id, answers, func(size int) error { return a.holdAnswer(c, size) })
	if err != nil {
		return err
	}
	return writeOne(w, http.StatusOK, model(access.Form), sub)
}

func writeOne(w http.ResponseWriter, status int, app appender, sub forms.Submission) error {
	buf := getBuffer()
	defer putBuffer(buf)
	var err error
	if *buf, err = app(*buf, sub); err != nil {
		return err
	}
	writeBody(w, status, jsonTypes, *buf)
	return nil
}
