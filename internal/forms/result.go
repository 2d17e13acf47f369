package forms

import (
	"bytes"
	"fmt"
	"slices"
)

// The flat model of the API shows a submission as one row: these three columns, then
// one for each field. No field id begins with "_".
const (
	ColumnID        = "_id"
	ColumnTimestamp = "_timestamp"
	ColumnUsername  = "_username"
	// ColumnChanged is for filters and sorting only: it is in no result.
	ColumnChanged = "_changed"
)

// Value is a JSON string with its quotes, as Entries hold ids and values of fields. It
// is nil where nothing is stored.
type Value []byte

// Text decodes the value. Nil is "".
func (v Value) Text() (string, error) {
	if v == nil {
		return "", nil
	}
	return unquote(v)
}

// Result reads submissions of one form as rows of the flat model. It is made
// once for a list and reused for each row, so that a row needs no allocation.
// It is not safe for concurrent use.
type Result struct {
	// FieldIDs holds the ids of the form's fields, by rank.
	FieldIDs []Value
	// Fields holds the values of the form's fields, by rank.
	Fields []Value
	// Retired holds what is stored for fields that have left the page, in
	// stored order.
	Retired []RetiredValue

	ranks map[string]int // by FieldIDs; nil if the form has few fields
}

// RetiredValue is the stored value of a field that has left the page.
type RetiredValue struct {
	FieldID Value
	Value   Value
}

// NewResult makes a Result for submissions of the form.
func (f *Form) NewResult() *Result {
	r := &Result{FieldIDs: make([]Value, len(f.Fields)), Fields: make([]Value, len(f.Fields))}
	for rank, field := range f.Fields {
		r.FieldIDs[rank] = AppendJSONString(nil, field.ID)
	}
	if len(f.Fields) > fewFields {
		r.ranks = make(map[string]int, len(f.Fields))
		for rank, id := range r.FieldIDs {
			r.ranks[string(id)] = rank
		}
	}
	return r
}

// Read replaces the row by that of s. The values share memory with s.Entries
// and are valid as long as these are. After an error the row is not usable.
func (r *Result) Read(s Submission) error {
	clear(r.Fields)
	r.Retired = r.Retired[:0]
	next := 0
	scan := s.Entries.Scan()
	for scan.Next() {
		rank := r.rank(scan.FieldID, next)
		if rank < 0 {
			r.Retired = append(r.Retired, RetiredValue{scan.FieldID, scan.Value})
			continue
		}
		r.Fields[rank], next = scan.Value, rank+1
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("read submission %d: %w", s.ID, err)
	}
	return nil
}

// rank returns the rank of the field with the given id, or -1. Entries are
// stored in rank order, so the field that follows the previous one is nearly
// always the right one.
func (r *Result) rank(id []byte, next int) int {
	if next < len(r.FieldIDs) && bytes.Equal(r.FieldIDs[next], id) {
		return next
	}
	if r.ranks == nil {
		return slices.IndexFunc(r.FieldIDs, func(other Value) bool { return bytes.Equal(other, id) })
	}
	if rank, ok := r.ranks[string(id)]; ok {
		return rank
	}
	return -1
}
