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
	CodeOverLimit       = "over-limit"       // more submissions than the form takes
	CodeSubmittedTwice  = "submitted-twice"  // several submissions of one person where one is allowed
	CodeFormGone        = "form-gone"        // submissions of a form that its page does not have
)

// Finding is something that a form would do to its stored submissions. It has no part of an
// answer in it, and no name.
type Finding struct {
	Code    string
	FormID  string
	FieldID string // "" for the form as a whole
	At      string // id of the field to show it at; "" for the form as a whole
	Reason  string // why answers are refused
	Count   int    // of submissions, or of people
	Of      int    // of so many; or the limit
}

// Report finds out what a form would do to its stored submissions. They are read and checked by
// the rules for those that are sent in.
type Report struct {
	form     *Form
	zone     *time.Location
	stored   []Entry         // of the submission that is looked at
	checked  *checked        // the same, by rank
	counts   map[Finding]int // of findings without Count and Of
	total    int
	answered []bool            // by rank: fields with a stored answer
	refused  map[string][]bool // by id of a field that is gone, then by rank: new fields that don't take its answers
	people   []uint64          // hashes of their names, one for each submission: names would take too much memory
	seed     maphash.Seed
}

// NewReport begins a report. Days begin in the zone.
func NewReport(f *Form, zone *time.Location) *Report {
	return &Report{
		form: f, zone: zone, checked: f.newChecked(Writer{}, make([]string, len(f.Fields))),
		counts: map[Finding]int{}, answered: make([]bool, len(f.Fields)), refused: map[string][]bool{},
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
	if r.form.OneSubmission && s.Username != "" {
		r.people = append(r.people, maphash.String(r.seed, s.Username))
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
			r.addGone(e)
		}
	}
	c.shown = c.visible(c.values)
	for rank, field := range r.form.Fields {
		switch {
		case c.shown[rank]:
			r.check(rank)
		case c.values[rank] != "":
			r.count(CodeHidden, field.ID, "")
		}
	}
	return nil
}

func (r *Report) count(code, fieldID, reason string) {
	finding := Finding{Code: code, FormID: r.form.ID, FieldID: fieldID, At: fieldID, Reason: reason}
	r.counts[finding]++
}

// check checks the answer to a field that shows.
func (r *Report) check(rank int) {
	field := r.form.Fields[rank]
	reason := field.check(r.checked.values[rank])
	if reason == "" && r.checked.outOfBounds(rank, nil) != "" {
		reason = "must not be below min or above max" // the message of outOfBounds may have an answer in it
	}
	switch reason {
	case "":
	case msgRequired:
		r.count(CodeRequiredMissing, field.ID, "")
	default:
		r.count(CodeValueRefused, field.ID, reason)
	}
}

// addGone counts an answer to a field that the form does not have, and looks which new fields
// would take it.
func (r *Report) addGone(e Entry) {
	r.count(CodeFieldGone, e.FieldID, "")
	if r.refused[e.FieldID] == nil {
		r.refused[e.FieldID] = make([]bool, len(r.form.Fields))
	}
	for rank, refused := range r.refused[e.FieldID] {
		if !r.answered[rank] && !refused && r.form.Fields[rank].check(e.Value) != "" {
			r.refused[e.FieldID][rank] = true
		}
	}
}

// successor returns the id of the only field that a field that is gone may have become, or "":
// it has no answers, and takes all of the other's. A field that takes any text may be it if no
// other is.
func (r *Report) successor(fieldID string) string {
	var strict, others []string
	for rank, field := range r.form.Fields {
		switch {
		case r.answered[rank] || r.refused[fieldID][rank] || field.Was != nil:
		case field.Validation == NoValidation || field.Validation == FileName:
			others = append(others, field.ID)
		default:
			strict = append(strict, field.ID)
		}
	}
	if strict == nil {
		strict = others
	}
	if len(strict) != 1 {
		return ""
	}
	return strict[0]
}

// Findings returns what was found, in the order of the form.
func (r *Report) Findings() (found []Finding) {
	for f, count := range r.counts {
		f.Count, f.Of = count, r.total
		if f.Code == CodeFieldGone {
			f.At = r.successor(f.FieldID)
		}
		found = append(found, f)
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
	count := GroupDigits(strconv.Itoa(f.Count))
	share := count + " of " + GroupDigits(strconv.Itoa(f.Of))
	switch f.Code {
	case CodeFieldGone:
		if hint = fmt.Sprintf("if another field has taken its place, write `was: %s` there", f.FieldID); f.At != "" {
			hint = fmt.Sprintf("if this is `%s`, write `was: %[1]s`", f.FieldID)
		}
		return fmt.Sprintf("the form has no field `%s`, to which %s submissions have an answer", f.FieldID, share), hint
	case CodeValueRefused:
		return fmt.Sprintf("in %s submissions the answer to `%s` would be refused now: it %s", share, f.FieldID, f.Reason), ""
	case CodeRequiredMissing:
		return fmt.Sprintf("in %s submissions `%s` has no answer, and it is required", share, f.FieldID), ""
	case CodeHidden:
		return fmt.Sprintf("in %s submissions the answer to `%s` is hidden by showIf", share, f.FieldID), ""
	case CodeOverLimit:
		return fmt.Sprintf("the form has %s submissions, and its limit is %s", count, GroupDigits(strconv.Itoa(f.Of))), ""
	case CodeSubmittedTwice:
		return fmt.Sprintf("oneSubmission allows one, and %s people have sent more", share), ""
	default:
		stored := "submissions are"
		if f.Count == 1 {
			stored = "submission is"
		}
		return fmt.Sprintf("%s %s stored under `%s`, which the page no longer has", count, stored, f.FormID),
			fmt.Sprintf("keep `form: %s`, and change `title`", f.FormID)
	}
}

// GroupDigits writes a number with commas, as in 12,345.
func GroupDigits(text string) string {
	point := strings.IndexByte(text+".", '.')
	for i := point - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
