package query

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/formulary/formulary/internal/forms"
)

// Sort is the order of a list by the values of one column.
type Sort struct {
	ID         string // as in Filter
	Descending bool
}

// MaxSortKey is how many bytes of a value decide about the order. It bounds the
// memory of a sorted page, and the length of a cursor. Values that begin with
// the same so many bytes are a tie.
const MaxSortKey = 1000

// Position says where a submission comes in a sorted list. Positions are
// comparable for one sort order only.
type Position struct {
	Empty bool   // it has no value: such submissions come last
	Key   []byte // compared byte by byte
	ID    int64
}

// comparison returns how the values of a field are compared: as numbers
// (Numeric), as days (DateOnly), or by code point (NoValidation).
func comparison(f *forms.Field) forms.Validation {
	if f.Validation == forms.Numeric || f.Validation == forms.DateOnly {
		return f.Validation
	}
	return forms.NoValidation
}

// sorter finds the first submissions of a sorted list. It keeps their positions
// only, so that its memory depends on neither the number nor the size of the
// submissions.
type sorter struct {
	column     column
	descending bool
	reverse    bool // from the end of the list
	after      *Position
	limit      int
	row        row
	key        []byte
	found      []Position // less than twice the limit
	last       *Position  // what comes after it is beyond the limit; nil if not known yet
}

// newSorter makes a sorter that finds the first limit submissions beyond after,
// or from the beginning if that is nil. If reverse is set, it finds the last limit submissions up to after,
// that one included. The last of them comes first.
func (q *question) newSorter(after *Position, limit int, reverse bool) *sorter {
	return &sorter{
		column: newColumn(q.Form.Index(), q.Sort.ID), descending: q.Sort.Descending, reverse: reverse,
		after: after, limit: limit, row: newRow(q.Form),
	}
}

// Position returns where a submission comes. Its Key is valid until the next call.
func (s *sorter) Position(sub forms.Submission) (Position, error) {
	s.row.set(sub)
	text, err := s.row.text(&s.column)
	return s.position(text, sub.ID), err
}

func (s *sorter) position(text string, id int64) Position {
	p := Position{Empty: s.column.field.IsBlank(text), ID: id}
	if !p.Empty {
		s.key = appendSortKey(s.key[:0], comparison(s.column.field), text)
		p.Key = s.key
	}
	return p
}

// Add takes note of a submission.
func (s *sorter) Add(sub forms.Submission) error {
	p, err := s.Position(sub)
	if err != nil || s.isBefore(p) || s.last != nil && s.compare(p, *s.last) > 0 {
		return err
	}
	p.Key = bytes.Clone(p.Key)
	if s.found = append(s.found, p); len(s.found) >= 2*s.limit {
		s.found = s.Positions()
		if s.limit > 0 {
			last := s.found[s.limit-1]
			s.last = &last
		}
	}
	return nil
}

// Positions returns the positions that were found, in order.
func (s *sorter) Positions() []Position {
	slices.SortFunc(s.found, s.compare)
	return s.found[:min(len(s.found), s.limit)]
}

// isBefore reports whether a position is not beyond that which the sorter begins with.
func (s *sorter) isBefore(p Position) bool {
	if s.after == nil {
		return false
	}
	c := s.compare(p, *s.after)
	return c < 0 || c == 0 && !s.reverse
}

func (s *sorter) compare(a, b Position) int {
	if s.reverse {
		a, b = b, a
	}
	if a.Empty != b.Empty {
		if a.Empty {
			return 1
		}
		return -1
	}
	byKey := bytes.Compare(a.Key, b.Key)
	if s.descending {
		byKey = -byKey
	}
	return cmp.Or(byKey, cmp.Compare(a.ID, b.ID))
}

// The first byte of a key. Old values that are not numbers or days sort last.
const (
	orderedKey = iota
	otherKey
)

// appendSortKey appends the key of a value that is not empty: bytes that sort as
// the values do.
func appendSortKey(dst []byte, comparison forms.Validation, value string) []byte {
	number, isNumber := float64(0), false
	if comparison == forms.Numeric {
		number, isNumber = forms.ParseNumber(value)
	}
	switch {
	case isNumber:
		// The bits of floats that are not negative sort as the floats do, and those
		// of negative ones the other way round.
		bits := math.Float64bits(number)
		if number < 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(append(dst, orderedKey), bits)
	case comparison == forms.DateOnly && forms.IsDay(value):
		return append(append(dst, orderedKey), value...)
	default: // the order of UTF-8 is that of code points
		return append(append(dst, otherKey), value[:min(len(value), MaxSortKey-1)]...)
	}
}
