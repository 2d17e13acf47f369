package forms

import (
	"slices"
	"strings"
)

// A page can rename fields and the values of options, and name the earlier ones in "was". This
// file maps what is stored, and what callers send, to the names that the form has now. Stored
// answers are not rewritten when a page changes.

// NameFields sets Names, and writes rules with the present names. Names stay nil if no field and
// no option was renamed: then nothing is mapped.
func (f *Form) NameFields() {
	isRenamed := func(field *Field) bool { return field.Was != nil || field.ValueWas != nil }
	if !slices.ContainsFunc(f.Fields, isRenamed) {
		return
	}
	f.Names = map[string]*Field{}
	for _, field := range f.Fields {
		for _, id := range field.IDs() {
			f.Names[id] = field
		}
	}
	name := func(c *Condition) {
		for i := range c.Rules {
			f.NameRule(&c.Rules[i])
		}
	}
	for _, c := range f.Conditions() {
		name(c)
	}
	if f.LockIf != nil {
		name(f.LockIf)
	}
}

// IDs returns the id of the field, then its earlier ones, the newest first.
func (f *Field) IDs() []string { return append([]string{f.ID}, f.Was...) }

// CurrentID returns the id that a field has now. Other ids stay.
func (f *Form) CurrentID(id string) string {
	if field := f.Names[id]; field != nil {
		return field.ID
	}
	return id
}

// CurrentIDs returns the ids that fields have now.
func (f *Form) CurrentIDs(ids []string) []string {
	current := make([]string, len(ids))
	for i, id := range ids {
		current[i] = f.CurrentID(id)
	}
	return current
}

// Current returns a submission with the ids and values that the form has now. If it has several
// answers to a field, that with the newest id counts. The others keep their ids, as those of
// fields that have left the page.
func (f *Form) Current(s Submission) (Submission, error) {
	if f.Names == nil {
		return s, nil
	}
	stored, err := s.Entries.Decode()
	if err != nil {
		return s, err
	}
	s.Entries = EncodeEntries(make([]byte, 0, len(s.Entries)), f.currentEntries(stored))
	s.Files = f.currentFiles(stored, s.Files)
	return s, nil
}

// currentEntries returns the entries in the same order.
func (f *Form) currentEntries(stored []Entry) []Entry {
	if f.Names == nil {
		return stored
	}
	current := slices.Clone(stored)
	for field, i := range newest(f, stored, func(e Entry) string { return e.FieldID }) {
		current[i].FieldID, current[i].Value = field.ID, field.CurrentValue(stored[i].Value)
	}
	return current
}

// currentFiles returns the files in the same order. stored are the entries beside them.
func (f *Form) currentFiles(stored []Entry, files []StoredFile) []StoredFile {
	if f.Names == nil || files == nil {
		return files
	}
	kept := map[string]bool{} // ids that don't mean a field of the form
	for _, e := range f.currentEntries(stored) {
		kept[e.FieldID] = true
	}
	current := slices.Clone(files)
	for i, file := range files {
		if !kept[file.FieldID] {
			current[i].FieldID = f.CurrentID(file.FieldID)
		}
	}
	return current
}

// CurrentStep returns the values before a change by the ids that fields have now. current are
// the values of the submission: an earlier id among them is that of a field that has left.
func (f *Form) CurrentStep(before, current map[string]string) map[string]string {
	if f.Names == nil {
		return before
	}
	named := make(map[string]string, len(before))
	for id, value := range before {
		field := f.Names[id]
		if field != nil && id != field.ID {
			_, hasLeft := current[id]
			_, several := before[field.ID]
			if hasLeft || several {
				field = nil
			}
		}
		if field == nil {
			named[id] = value
		} else {
			named[field.ID] = field.CurrentValue(value)
		}
	}
	return named
}

// CurrentAnswers returns the answers under the ids and with the values that the form has now. Of
// several answers to a field, all but that with the newest id get a fault.
func (f *Form) CurrentAnswers(answers []Answer) []Answer {
	if f.Names == nil {
		return answers
	}
	current := slices.Clone(answers)
	counts := newest(f, answers, func(a Answer) string { return a.FieldID })
	for i := range current {
		a := &current[i]
		field := f.Names[a.FieldID]
		switch {
		case field == nil:
		case counts[field] != i:
			a.SentAs = answers[counts[field]].FieldID
		default:
			sent := *a
			a.Sent = &sent
			a.FieldID, a.Value = field.ID, field.CurrentValue(a.Value)
			a.List = field.currentParts(a.List)
		}
	}
	return current
}

// NameRule gives a rule the id and values that the form has now.
func (f *Form) NameRule(r *Rule) {
	field := f.Names[r.FieldID]
	if field == nil {
		return
	}
	r.FieldID = field.ID
	switch r.Operator {
	case InList:
		r.Value = strings.Join(field.currentParts(strings.Split(r.Value, Separator)), Separator)
	case Equals, NotEquals, Contains:
		r.Value = field.CurrentValue(r.Value)
	}
}

// newest returns which element of a list counts for each field: that with its own id, or with
// the newest of its earlier ones.
func newest[T any](f *Form, list []T, id func(T) string) map[*Field]int {
	found := map[*Field]int{}
	for i, item := range list {
		field := f.Names[id(item)]
		if field == nil {
			continue
		}
		other, several := found[field]
		// The own id is not in Was: its index is -1.
		if !several || slices.Index(field.Was, id(item)) < slices.Index(field.Was, id(list[other])) {
			found[field] = i
		}
	}
	return found
}

// CurrentValue returns an answer with the values that the options of the field have now.
func (f *Field) CurrentValue(value string) string {
	if !f.MultiValue() {
		if now, renamed := f.ValueWas[value]; renamed {
			return now
		}
		return value
	}
	return strings.Join(f.currentParts(strings.Split(value, Separator)), Separator)
}

// currentParts is CurrentValue for several values. Two that have become one stand once.
func (f *Field) currentParts(values []string) []string {
	if !slices.ContainsFunc(values, func(v string) bool { _, renamed := f.ValueWas[v]; return renamed }) {
		return values
	}
	var current []string
	for _, value := range values {
		if now, renamed := f.ValueWas[value]; renamed {
			value = now
		}
		if !slices.Contains(current, value) {
			current = append(current, value)
		}
	}
	return current
}
