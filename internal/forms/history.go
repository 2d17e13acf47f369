package forms

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Step is one change in the history of a submission.
type Step struct {
	At       time.Time
	Username string        // "" on an anonymous form
	Changes  []ValueChange // in rank order, then those of fields that have left the page; none if they were removed
}

// ValueChange is what became of one value; "" is none.
type ValueChange struct {
	FieldID string `json:"fieldId"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Renamed bool   `json:"renamed,omitzero"` // the field has another id now, so After is not known
}

// EntryValues returns the values of entries by field id.
func EntryValues(entries []Entry) map[string]string {
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.FieldID] = e.Value
	}
	return values
}

// Values decodes the values of the submission, by field id.
func (s Submission) Values() (map[string]string, error) {
	entries, err := s.Entries.Decode()
	return EntryValues(entries), err
}

// ValuesBefore returns the stored values that a merge changes, by field id; "" where there
// was none. A file field is changed by another content, too.
func (f *Form) ValuesBefore(stored, merged []Entry, storedFiles, mergedFiles []StoredFile) map[string]string {
	storedFiles, mergedFiles = f.currentFiles(stored, storedFiles), f.currentFiles(merged, mergedFiles)
	values, before := EntryValues(f.currentEntries(stored)), map[string]string{}
	for _, e := range f.currentEntries(merged) {
		files := func(all []StoredFile) (own []int64) {
			for _, f := range all {
				if f.FieldID == e.FieldID {
					own = append(own, f.ID)
				}
			}
			return own
		}
		if e.Value != values[e.FieldID] || !slices.Equal(files(storedFiles), files(mergedFiles)) {
			before[e.FieldID] = values[e.FieldID]
		}
	}
	return before
}

// Offers reports whether a value is an answer that the options of the field make, or none.
func (f *Field) Offers(value string) bool {
	return value == "" || slices.Contains(f.Options, value) || f.MultiValue() && f.allOptions(value)
}

// Changes returns what a step has changed. before are the values before the step; current are
// the values after it, and become those before it.
func (x Index) Changes(before, current map[string]string) []ValueChange {
	changes := make([]ValueChange, 0, len(before))
	for id, value := range before {
		after, known := current[id]
		changes = append(changes, ValueChange{id, value, after, !known})
	}
	maps.Copy(current, before)
	slices.SortFunc(changes, func(a, b ValueChange) int {
		left, right := uint(x.Rank(a.FieldID)), uint(x.Rank(b.FieldID)) // -1 is the last
		return cmp.Or(cmp.Compare(left, right), strings.Compare(a.FieldID, b.FieldID))
	})
	return changes
}
