package forms

import (
	"bytes"
	"slices"
	"strconv"
)

// column is what a filter or a sort order looks at: metadata, a field of the
// form, or a field that has left the page.
type column struct {
	kind  columnKind
	field *Field // what rules need to know of it
	rank  int    // of a field of the form
	key   []byte // of a field that has left the page, as Entries hold it
}

type columnKind byte

const (
	fieldColumn columnKind = iota
	retiredColumn
	idColumn
	timestampColumn
	usernameColumn
)

// HasColumn reports whether the id is that of a field of the form, or of
// metadata.
func (x Index) HasColumn(id string) bool { return x.column(id).kind != retiredColumn }

// column returns the column with the given id. An id that the form does not
// have is taken for that of a field that has left the page.
func (x Index) column(id string) column {
	switch id {
	case ColumnID:
		return column{kind: idColumn, field: &Field{ID: id, Validation: Numeric}}
	case ColumnTimestamp:
		return column{kind: timestampColumn, field: &Field{ID: id, Validation: Numeric}}
	case ColumnUsername:
		return column{kind: usernameColumn, field: &Field{ID: id}}
	}
	if rank := x.Rank(id); rank >= 0 {
		return column{kind: fieldColumn, field: &x.fields[rank], rank: rank}
	}
	return column{kind: retiredColumn, field: &Field{ID: id}, key: AppendJSONString(nil, id)}
}

// stored reports whether the value is in the Entries of a submission.
func (c *column) stored() bool { return c.kind == fieldColumn || c.kind == retiredColumn }

// value returns the stored value of the row.
func (c *column) value(row *Result) Value {
	if c.kind == fieldColumn {
		return row.Fields[c.rank]
	}
	for _, v := range row.Retired {
		if bytes.Equal(v.FieldID, c.key) {
			return v.Value
		}
	}
	return nil
}

// metadata returns the value of a column that is not stored in Entries, as the
// flat model has it.
func (c *column) metadata(s Submission) string {
	switch c.kind {
	case idColumn:
		return strconv.FormatInt(s.ID, 10)
	case timestampColumn:
		return strconv.FormatInt(s.Created.UnixMilli(), 10)
	default:
		return s.Username
	}
}

// text returns the value of a submission. row is that submission, unless the
// value is metadata.
func (c *column) text(s Submission, row *Result) (string, error) {
	if !c.stored() {
		return c.metadata(s), nil
	}
	return c.value(row).Text()
}

// Missing is a set of ids that the form does not have. Submissions are read
// until each id is found, or there are no more.
type Missing struct{ columns []column }

// Missing returns the ids among the given ones that the form does not have.
func (f *Form) Missing(ids ...string) *Missing {
	m, fields := &Missing{}, f.Index()
	for _, id := range ids {
		if c := fields.column(id); c.kind == retiredColumn {
			m.columns = append(m.columns, c)
		}
	}
	return m
}

// IDs returns the ids that were not found so far.
func (m *Missing) IDs() []string {
	var ids []string
	for _, c := range m.columns {
		ids = append(ids, c.field.ID)
	}
	return ids
}

// Find removes the ids that are stored in the submission. It reports whether
// all are found.
func (m *Missing) Find(s Submission) (all bool, err error) {
	if len(m.columns) == 0 {
		return true, nil
	}
	scan := s.Entries.Scan()
	for scan.Next() {
		m.columns = slices.DeleteFunc(m.columns, func(c column) bool { return bytes.Equal(scan.FieldID, c.key) })
	}
	return len(m.columns) == 0, scan.Err()
}
