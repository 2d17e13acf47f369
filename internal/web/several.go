package web

import (
	"bytes"
	"compress/flate"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
)

// Controls that change several rows of the table at once: those that are ticked, or all.
const (
	rowsControl   = "_rows"   // the tags of all rows as they are shown, by id, as a query
	answerControl = "_answer" // id of a field, "=" and an option
	doControl     = "_do"     // the button: see changeSeveral; with allRows after it if it is for all rows
	allRows       = "-all"
)

// severalForm is how editors change several submissions.
type severalForm struct {
	Action, For string
	Answers     []choice
}

func (c *call) newSeveralForm(f *forms.Form, v *resultsView) *severalForm {
	form := &severalForm{Action: v.link(v.query), For: c.hashUser()}
	for _, field := range f.Fields {
		for _, option := range field.Options {
			if field.ByEditors && !field.MultiValue() {
				answer := choice{
					Value: field.ID + "=" + option, Label: c.Lang.Text("{0}: {1}", field.Label, field.LabelOf(option)), Lang: v.tag,
				}
				form.Answers = append(form.Answers, answer)
			}
		}
	}
	return form
}

// Tags is what rowsControl holds.
func (t *resultTable) Tags() string {
	tags := url.Values{}
	for _, row := range t.Rows {
		tags.Set(strconv.FormatInt(row.ID, 10), row.Tag)
	}
	return tags.Encode()
}

// severalPage asks whether several submissions are really to go.
type severalPage struct {
	Layout
	Form  *severalForm
	Count int
	Tags  string // see rowsControl
}

// outcome is what became of several submissions.
type outcome struct {
	Status int
	Text   string // what was done, or why nothing was
	Failed []failure
	Undo   string // rowsControl of what can be set back; "" for nothing
}

// failure is why a submission was left as it is.
type failure struct{ ID, Reason string }

// changeSeveral changes several submissions as a button says.
func (c *call) changeSeveral() error {
	access, err := c.openForEditor()
	if err != nil {
		return err
	}
	sent, err := c.readForm(maxForm, errUnreadable)
	if err != nil {
		return err
	}
	if sent.Get(forControl) != c.hashUser() {
		return errOtherUser
	}
	v := c.readResults(access.Form, c.URL.EscapedPath(), c.URL.RawQuery)
	if v.params.Err() != nil {
		return c.results() // says what is wrong with the address, before anything is written
	}
	form := c.newSeveralForm(access.Form, v)
	do, all := strings.CutSuffix(sent.Get(doControl), allRows)
	tags := chosenRows(sent, all)
	id, value, _ := strings.Cut(sent.Get(answerControl), "=")
	if field := access.Form.Field(id); field != nil { // the page may be older than a change of the form
		id, value = field.ID, field.CurrentValue(value)
	}
	i := slices.IndexFunc(form.Answers, func(a choice) bool { return a.Value == id+"="+value })
	switch {
	case len(tags) == 0:
		return c.refuseSeveral(forms.Say("Tick the submissions first. Nothing was changed."))
	case len(tags) > maxRows:
		return c.refuseSeveral(forms.Say("Choose at most 200 submissions at a time. Nothing was changed."))
	case do == "delete":
		page := &severalPage{c.formLayout(c.Lang.Text("Delete submissions"), access), form, len(tags), tags.Encode()}
		return c.render(http.StatusOK, "several", page)
	case do == "confirm":
		deleted := func(n int) *forms.Message { return forms.SayN("{0} deleted.", "{0} deleted.", n) }
		return c.writeSeveral(access.Form, do, tags, deleted)
	case do == "undo":
		setBack := func(n int) *forms.Message { return forms.SayN("{0} set back.", "{0} set back.", n) }
		return c.writeSeveral(access.Form, do, tags, setBack)
	case do == "set" && i >= 0:
		return c.writeSeveral(access.Form, do, tags, func(n int) *forms.Message {
			return forms.Say("{0}.", forms.Say("{0} ({1})", form.Answers[i].Label, n))
		}, forms.Answer{FieldID: id, Value: value})
	default:
		return c.refuseSeveral(forms.Say("Choose an answer first. Nothing was changed."))
	}
}

// openForEditor opens the form with the current rights.
func (c *call) openForEditor() (*service.Access, error) {
	access, err := c.Reopen()
	if err == nil && !access.Rights.Edit {
		err = service.NewError(service.Forbidden, forms.Say("Only editors of this page may change several submissions."))
	}
	return access, err
}

func (c *call) refuseSeveral(problem *forms.Message) error {
	return c.showResults(outcome{Status: http.StatusUnprocessableEntity, Text: c.Lang.Say(problem)})
}

// chosenRows returns the tags of the rows that are meant, by id. One without a tag counts as changed.
func chosenRows(sent url.Values, all bool) url.Values {
	shown, _ := url.ParseQuery(sent.Get(rowsControl))
	if all {
		return shown
	}
	chosen := url.Values{}
	for _, id := range sent["id"] {
		chosen.Set(id, shown.Get(id))
	}
	return chosen
}

// writeSeveral writes to each submission by itself, and shows what became of them.
func (c *call) writeSeveral(
	f *forms.Form, do string, tags url.Values, what func(done int) *forms.Message, answers ...forms.Answer,
) error {
	result, done, undo := outcome{Status: http.StatusOK}, 0, url.Values{}
	for _, id := range slices.Sorted(maps.Keys(tags)) {
		c.Log.Working()
		tag, err := c.writeRow(do, id, wantTag(tags.Get(id)), answers)
		reason := whyNot(f, err)
		switch {
		case err == nil:
			if done++; tag != "" && tag != tags.Get(id) {
				undo.Set(id, tag)
			}
		case reason != nil:
			result.Failed = append(result.Failed, failure{id, upperFirst(c.Lang.Say(reason))})
		case done > 0:
			c.LogError("change several submissions", err)
			return service.NewError(service.Unavailable,
				forms.Say("{0} Then it failed. The others are as they were.", what(done)))
		default:
			return err
		}
	}
	result.Text, result.Undo = c.Lang.Say(what(done)), undo.Encode()
	return c.goOnWith(result)
}

// outcomeParameter of an address holds an outcome or a done, encrypted.
const outcomeParameter = "done"

// maxOutcomeAddress is a little less than proxies take.
const maxOutcomeAddress = 7 << 10

// goOnWith leads to the results, which tell the outcome: a reload of that page changes nothing again. An outcome that
// is too long for an address is told at once.
func (c *call) goOnWith(o outcome) error {
	path := c.URL.EscapedPath()
	to := withQuery(path, c.URL.RawQuery, outcomeParameter+"="+c.seal(o, path))
	if len(to) > maxOutcomeAddress {
		return c.showResults(o)
	}
	return c.redirect(to)
}

// outcome reads the outcome in the address. It has no text if there is none for this editor and form.
func (c *call) outcome() (o outcome) {
	c.unseal(outcomeParameter, c.URL.EscapedPath(), &o)
	o.Status = http.StatusOK
	return o
}

// seal encrypts a value for an address. This user alone can have it read, and only where it is bound to the same.
func (c *call) seal(value any, boundTo string) string {
	var text bytes.Buffer
	w, _ := flate.NewWriter(&text, flate.BestCompression) // there is such a level
	_ = json.NewEncoder(w).Encode(value)                  // a buffer takes all
	_ = w.Close()
	aead, bound := c.outcomes(boundTo)
	sealed := aead.Seal(nil, nil, text.Bytes(), bound) //nolint:gosec // it makes a random nonce
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// unseal reads the value of a parameter of the address. It returns false if there is none.
func (c *call) unseal(parameter, boundTo string, value any) bool {
	sealed, _ := base64.RawURLEncoding.DecodeString(c.URL.Query().Get(parameter)) // what is none can't be opened
	aead, bound := c.outcomes(boundTo)
	text, err := aead.Open(nil, nil, sealed, bound)
	return err == nil && json.NewDecoder(flate.NewReader(bytes.NewReader(text))).Decode(value) == nil
}

func (c *call) outcomes(boundTo string) (aead cipher.AEAD, bound []byte) {
	return session.AEAD(c.Site.Key, "outcome"), []byte(c.hashUser() + boundTo)
}

// writeRow writes to a submission, with the current rights. It returns its tag after that, "" if
// it is gone.
func (c *call) writeRow(
	do, text string, unchanged service.Precondition, answers []forms.Answer,
) (string, error) {
	access, err := c.openForEditor()
	if err != nil {
		return "", err
	}
	id, _ := request.ParseID(text)
	switch do {
	case "confirm":
		return "", access.Delete(c.Context(), id, unchanged)
	case "undo":
		if answers, err = c.lastChange(access, id); err != nil {
			return "", err
		}
	}
	merged, err := access.Merge(c.Context(), id, answers, unchanged, c.HoldAnswer)
	if err != nil {
		return "", err
	}
	values, err := merged.Values() // without what the submission does not show
	if first := answers[0]; err == nil && values[first.FieldID] != first.Value {
		err = service.NewError(service.Forbidden, forms.Say("It does not show this question."))
	}
	return access.Tag(merged), err
}

// lastChange returns the answers that undo the last change of a submission.
func (c *call) lastChange(access *service.Access, id int64) (before []forms.Answer, err error) {
	steps, err := access.History(c.Context(), forms.Submission{ID: id}) // it reads the rest
	for _, step := range steps {
		before = nil
		for _, change := range step.Changes {
			before = append(before, forms.Answer{FieldID: change.FieldID, Value: change.Before})
		}
	}
	if err == nil && before == nil {
		err = service.NewError(service.Forbidden, forms.Say("Its earlier values were removed."))
	}
	return before, err
}

// whyNot says why a submission was left as it is, nil if that is not about the submission.
func whyNot(f *forms.Form, err error) *forms.Message {
	var known *service.Error
	var invalid *forms.Invalid
	switch {
	case errors.Is(err, errChanged):
		return forms.Say("Somebody changed it after you opened this list.")
	case errors.As(err, &known):
		return known.Detail
	case errors.As(err, &invalid):
		for _, field := range f.Fields {
			if fault := invalid.Fields[field.ID]; fault != nil {
				return forms.Say("{0}.", named(field.Label, field.WithLabels(fault)))
			}
		}
		return forms.Say("{0}.", otherErrors(invalid, nil)[0])
	default:
		return nil
	}
}
