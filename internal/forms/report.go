package forms

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Codes of findings.
const (
	CodeFieldGone       = "field-gone"       // answers to a field that the form does not have
	CodeValueRefused    = "value-refused"    // answers that nobody could send now
	CodeRequiredMissing = "required-missing" // no answer to a field that is required
	CodeHidden          = "hidden"           // answers to a field that does not show; these count as nothing else
	CodeOverKeep        = "over-keep"        // submissions that would be deleted because they are too old
	CodeOverLimit       = "over-limit"       // more submissions than the form takes
	CodeSubmittedTwice  = "submitted-twice"  // several submissions of one person where one is allowed
	CodeFormGone        = "form-gone"        // submissions of a form that its page does not have
	CodeNamedBefore     = "named-before"     // submissions with a name: the form was not anonymous then
	CodeAnonymousBefore = "anonymous-before" // submissions without a name: the form was anonymous then
)

// Finding is something that a form would do to its stored submissions. It has no name of a person
// in it, and of answers only those that were options.
type Finding struct {
	Code    string
	FormID  string
	FieldID string    // "" for the form as a whole
	At      string    // id of the field to show it at; "" for the form as a whole
	Reason  string    // why answers are refused, or how long submissions are kept
	Values  []string  // up to maxValues of these, which were options of the field when they were sent
	After   time.Time // when submissions are deleted; zero if that is not known
	Count   int       // of submissions, or of people
	Of      int       // of so many; or the limit; of submissions that were counted, how far, 0 for all
	Again   bool      // oneSubmission does not count these submissions
}

// Plus is "+" if there may be more than Count.
func (f Finding) Plus() string {
	if f.Count == f.Of {
		return "+"
	}
	return ""
}

const (
	maxValues = 3
	maxParts  = 1000 // of an answer that are looked at
	maxAsked  = 1000 // calls of Asked for a report
)

// Asked returns the form that a submission was checked against when it was created; nil if that is
// not known.
type Asked = func(submissionID int64) (*Form, error)

// Report finds out what a form would do to its stored submissions. They are read and checked by
// the rules for those that are sent in.
type Report struct {
	form     *Form
	zone     *time.Location
	oldest   time.Time // submissions from before are not kept
	asked    Asked
	calls    int                    // of asked
	err      error                  // of asked
	stored   []Entry                // of the submission that is looked at
	checked  *checked               // the same, by rank
	found    map[[3]string]*Finding // by code, field and reason
	total    int
	answered []bool               // by rank: fields with a stored answer
	gone     map[string]FieldType // by id of a field that is gone; "" if its type is not known
	people   []uint64             // hashes of their names, one for each submission: names would take too much memory
	seed     maphash.Seed
}

// NewReport begins a report. Days begin in the zone of now.
func NewReport(f *Form, now time.Time, asked Asked) *Report {
	return &Report{
		form: f, zone: now.Location(), oldest: f.Keep.Before(now), asked: asked,
		checked: f.newChecked(Writer{}, make([]string, len(f.Fields))),
		found:   map[[3]string]*Finding{}, answered: make([]bool, len(f.Fields)), gone: map[string]FieldType{},
		seed: maphash.MakeSeed(),
	}
}

// Add adds a stored submission. "today" is the day on which it was sent.
func (r *Report) Add(s Submission) error {
	stored, err := s.Entries.appendTo(r.stored[:0])
	if err != nil {
		return fmt.Errorf("submission %d: %w", s.ID, err)
	}
	r.stored = stored
	r.total++
	if r.form.OneSubmission && !r.form.Anonymous && s.Username != "" {
		r.people = append(r.people, maphash.String(r.seed, s.Username))
	}
	if code := r.form.otherNaming(s); code != "" {
		r.count(code, "", "").Again = r.form.OneSubmission
	}
	if s.Created.Before(r.oldest) {
		r.count(CodeOverKeep, "", r.form.Keep.String())
	}
	c := r.checked
	clear(c.values)
	clear(c.bounds)
	c.writer.Now = s.Created.In(r.zone)
	for _, e := range r.form.currentEntries(stored) {
		rank := c.Rank(e.FieldID)
		switch {
		case e.Value == "":
		case rank >= 0:
			c.values[rank], r.answered[rank] = e.Value, true
		default:
			r.addGone(s.ID, e.FieldID)
		}
	}
	c.shown = c.visible(c.values)
	for rank, field := range r.form.Fields {
		switch {
		case c.shown[rank]:
			r.check(s.ID, rank)
		case c.values[rank] != "":
			r.count(CodeHidden, field.ID, "")
		}
	}
	return r.err
}

// otherNaming returns the code for a submission that was sent before the form has become anonymous, or named; "" for
// others.
func (f *Form) otherNaming(s Submission) (code string) {
	switch isNamed := s.Username != ""; {
	case f.Anonymous && isNamed:
		return CodeNamedBefore
	case !f.Anonymous && !isNamed:
		return CodeAnonymousBefore
	}
	return ""
}

func (r *Report) count(code, fieldID, reason string) *Finding {
	key := [3]string{code, fieldID, reason}
	f := r.found[key]
	if f == nil {
		f = &Finding{Code: code, FormID: r.form.ID, FieldID: fieldID, At: fieldID, Reason: reason}
		r.found[key] = f
	}
	f.Count++
	return f
}

// check checks the answer to a field that shows.
func (r *Report) check(submissionID int64, rank int) {
	field, value := r.form.Fields[rank], r.checked.values[rank]
	reason := field.check(value)
	if reason == nil && r.checked.outOfBounds(rank, nil) != nil {
		reason = English("must not be below min or above max") // the message of outOfBounds may have an answer in it
	}
	switch reason {
	case nil:
	case msgRequired:
		r.count(CodeRequiredMissing, field.ID, "")
	default:
		r.addValues(r.count(CodeValueRefused, field.ID, reason.String()), submissionID, field, value)
	}
}

// addValues adds what of a refused answer was an option when it was sent.
func (r *Report) addValues(f *Finding, submissionID int64, field *Field, value string) {
	isNew := func(v string) bool {
		return len(f.Values) < maxValues && !slices.Contains(f.Values, v) && !slices.Contains(field.Options, v)
	}
	parts := strings.SplitN(value, Separator, maxParts)
	if r.form.Anonymous || !slices.ContainsFunc(parts, isNew) {
		return
	}
	then := r.formOf(submissionID)
	old := field.in(then)
	if old == nil || then.Anonymous {
		return
	}
	for _, v := range parts {
		if isNew(v) && slices.Contains(old.Options, v) {
			f.Values = append(f.Values, v)
		}
	}
}

// formOf calls asked. It returns a form without fields if the form is not known, or after too many calls.
func (r *Report) formOf(submissionID int64) (then *Form) {
	if r.calls++; r.calls <= maxAsked && r.err == nil {
		then, r.err = r.asked(submissionID)
	}
	return cmp.Or(then, &Form{})
}

// addGone counts an answer to a field that the form does not have, and looks of which type that was.
func (r *Report) addGone(submissionID int64, fieldID string) {
	r.count(CodeFieldGone, fieldID, "")
	if r.gone[fieldID] != "" {
		return
	}
	if old := r.formOf(submissionID).Field(fieldID); old != nil {
		r.gone[fieldID] = old.Type
	}
}

// successor returns the id of the only new field without answers that has the type of one that is
// gone, or "".
func (r *Report) successor(fieldID string) (id string) {
	for rank, field := range r.form.Fields {
		if r.answered[rank] || field.Was != nil || field.Type != r.gone[fieldID] {
			continue
		}
		if id != "" {
			return ""
		}
		id = field.ID
	}
	return id
}

// Findings returns what was found, in the order of the form.
func (r *Report) Findings() (found []Finding) {
	for _, f := range r.found {
		f.Of = r.total
		if f.Code == CodeFieldGone {
			f.At = r.successor(f.FieldID)
		}
		found = append(found, *f)
	}
	if r.form.Limit > 0 && r.total > r.form.Limit {
		found = append(found, Finding{Code: CodeOverLimit, FormID: r.form.ID, Count: r.total, Of: r.form.Limit})
	}
	if twice, people := r.countPeople(); twice > 0 {
		found = append(found, Finding{Code: CodeSubmittedTwice, FormID: r.form.ID, Count: twice, Of: people})
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(r.checked.Rank(a.At), r.checked.Rank(b.At)), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.FieldID, b.FieldID), cmp.Compare(a.Reason, b.Reason))
	})
	return found
}

// countPeople counts those who have several submissions, and all.
func (r *Report) countPeople() (twice, people int) {
	slices.Sort(r.people)
	for i, name := range r.people {
		if i == 0 || r.people[i-1] != name {
			people++
		} else if i == 1 || r.people[i-2] != name {
			twice++
		}
	}
	return twice, people
}

// Message tells authors what was found, and what they can do, if anything.
func (f Finding) Message() (message, hint string) {
	count, of, field := GroupDigits(strconv.Itoa(f.Count)), GroupDigits(strconv.Itoa(f.Of)), "`"+f.FieldID+"`"
	share := count + " of " + of
	in := "in " + share + " submissions "
	switch f.Code {
	case CodeFieldGone:
		if hint = "if another field has taken its place, write `was: " + f.FieldID + "` there"; f.At != "" {
			hint = "if this is " + field + ", write `was: " + f.FieldID + "`"
		}
		return "the form has no field " + field + ", to which " + share + " submissions have an answer", hint
	case CodeValueRefused:
		if f.Values != nil {
			field += ", such as `" + strings.Join(f.Values, "` or `") + "`,"
		}
		return in + "the answer to " + field + " would be refused now: it " + f.Reason, ""
	case CodeRequiredMissing:
		return in + field + " has no answer, and it is required", ""
	case CodeHidden:
		return in + "the answer to " + field + " is hidden by showIf", ""
	case CodeOverKeep:
		return share + " submissions are older than " + f.Reason + ", and would be deleted", ""
	case CodeOverLimit:
		return "the form has " + count + " submissions, and its limit is " + of, ""
	case CodeNamedBefore, CodeAnonymousBefore:
		if f.Again {
			hint = "oneSubmission does not count them: the people who sent them can submit again"
		}
		if f.Code == CodeNamedBefore {
			return share + " submissions have a name, and keep it", hint
		}
		return share + " submissions have no name, and get none", hint
	case CodeSubmittedTwice:
		return "oneSubmission allows one, and " + share + " people have sent more", ""
	}
	stored := " submissions are"
	switch f.Count {
	case 1:
		stored = " submission is"
	case f.Of:
		stored = " or more submissions are"
	}
	return count + stored + " stored under `" + f.FormID + "`, which the page no longer has",
		"keep `form: " + f.FormID + "`, and change `title`"
}

// GroupDigits writes a number with commas, as in 12,345.
func GroupDigits(text string) string {
	point := strings.IndexByte(text+".", '.')
	for i := point - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
