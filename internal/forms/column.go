package forms

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
)

// column is what a filter or a sort order looks at: metadata, a field of the
// form, or a field that has left the page.
type column struct {
	field    *Field                  // what rules need to know of it
	rank     int                     // of a field of the form
	key      []byte                  // of a field that has left the page, as Entries hold it; else nil
	metadata func(Submission) string // nil for fields
}

// HasColumn reports whether the id is that of a field of the form, or of
// metadata.
func (x Index) HasColumn(id string) bool { return x.column(id).key == nil }

// metadata are the columns that are no fields, as the flat model has them.
var metadata = map[string]struct {
	validation Validation
	text       func(Submission) string
}{
	ColumnID:        {Numeric, func(s Submission) string { return strconv.FormatInt(s.ID, 10) }},
	ColumnTimestamp: {Numeric, func(s Submission) string { return strconv.FormatInt(s.Created.UnixMilli(), 10) }},
	ColumnChanged:   {Numeric, func(s Submission) string { return strconv.FormatInt(s.Changed.UnixMilli(), 10) }},
	ColumnUsername:  {NoValidation, func(s Submission) string { return s.Username }},
}

// column returns the column with the given id. An id that the form does not
// have is taken for that of a field that has left the page.
func (x Index) column(id string) column {
	if m, ok := metadata[id]; ok {
		return column{field: &Field{ID: id, Validation: m.validation}, metadata: m.text}
	}
	if rank := x.Rank(id); rank >= 0 {
		return column{field: x.fields[rank], rank: rank}
	}
	return column{field: &Field{ID: id}, key: AppendJSONString(nil, id)}
}

// stored reports whether the value is in the Entries of a submission.
func (c *column) stored() bool { return c.metadata == nil }

// text returns the value of a submission. row is that submission, unless the
// value is metadata.
func (c *column) text(s Submission, row *Result) (string, error) {
	switch {
	case c.metadata != nil:
		return c.metadata(s), nil
	case c.key == nil:
		return row.Fields[c.rank].Text()
	}
	for _, v := range row.Retired {
		if bytes.Equal(v.FieldID, c.key) {
			return v.Value.Text()
		}
	}
	return "", nil
}

// Missing is a set of ids that the form does not have, by their keys in Entries.
// Submissions are read until each id is found, or there are no more.
type Missing map[string]string

// Missing returns the ids among the given ones that the form does not have.
func (f *Form) Missing(ids ...string) Missing {
	m, fields := Missing{}, f.Index()
	for _, id := range ids {
		if c := fields.column(id); c.key != nil {
			m[string(c.key)] = id
		}
	}
	return m
}

// IDs returns the ids that were not found so far.
func (m Missing) IDs() []string { return slices.Sorted(maps.Values(m)) }

// Find removes the ids that are stored in the submission. It reports whether
// all are found.
func (m Missing) Find(s Submission) (all bool, err error) {
	scan := s.Entries.Scan()
	for scan.Next() {
		delete(m, string(scan.FieldID))
	}
	return len(m) == 0, scan.Err()
}
