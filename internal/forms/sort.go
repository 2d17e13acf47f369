package forms

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"math"
	"slices"
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

// SortKind is how the values of a column are compared.
type SortKind byte

// The kinds of comparison.
const (
	ByCodePoint SortKind = iota + 1
	ByNumber
	ByDay
)

// SortKind returns how the values of a column are compared.
func (f *Form) SortKind(id string) SortKind {
	c := f.Index().column(id)
	return c.sortKind()
}

func (c *column) sortKind() SortKind {
	switch c.field.Validation {
	case Numeric:
		return ByNumber
	case DateOnly:
		return ByDay
	default:
		return ByCodePoint
	}
}

// Sorter finds the first submissions of a sorted list. It keeps their positions
// only, so that its memory depends on neither the number nor the size of the
// submissions.
type Sorter struct {
	column     column
	kind       SortKind
	descending bool
	after      *Position
	limit      int
	row        *Result
	key        []byte
	first      positionHeap
}

// NewSorter makes a sorter that finds the first limit submissions beyond after,
// or from the beginning if that is nil.
func (f *Form) NewSorter(sort Sort, after *Position, limit int) *Sorter {
	c := f.Index().column(sort.ID)
	s := &Sorter{column: c, kind: c.sortKind(), descending: sort.Descending, after: after, limit: limit, row: f.NewResult()}
	s.first.compare = s.compare
	return s
}

// Add takes note of a submission.
func (s *Sorter) Add(sub Submission) error {
	if s.column.stored() {
		if err := s.row.Read(sub); err != nil {
			return err
		}
	}
	text, err := s.column.text(sub, s.row)
	if err != nil {
		return err
	}
	p := Position{Empty: s.column.field.isBlank(text), ID: sub.ID}
	if !p.Empty {
		s.key = appendSortKey(s.key[:0], s.kind, text)
		p.Key = s.key
	}
	switch {
	case s.after != nil && s.compare(p, *s.after) <= 0:
	case s.first.Len() < s.limit:
		p.Key = bytes.Clone(p.Key)
		heap.Push(&s.first, p)
	case s.limit > 0 && s.compare(p, s.first.positions[0]) < 0:
		last := &s.first.positions[0]
		p.Key = append(last.Key[:0], p.Key...)
		*last = p
		heap.Fix(&s.first, 0)
	}
	return nil
}

// Positions returns the positions that were found, in order. The sorter can't
// be used after that.
func (s *Sorter) Positions() []Position {
	slices.SortFunc(s.first.positions, s.compare)
	return s.first.positions
}

func (s *Sorter) compare(a, b Position) int {
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

// positionHeap has the position that is last in the order at its root.
type positionHeap struct {
	positions []Position
	compare   func(a, b Position) int
}

func (h *positionHeap) Len() int           { return len(h.positions) }
func (h *positionHeap) Less(i, j int) bool { return h.compare(h.positions[i], h.positions[j]) > 0 }
func (h *positionHeap) Swap(i, j int) {
	h.positions[i], h.positions[j] = h.positions[j], h.positions[i]
}
func (h *positionHeap) Push(x any) { h.positions = append(h.positions, x.(Position)) }
func (h *positionHeap) Pop() any   { panic("positions are never removed") }

// The first byte of a key. Old values that are not numbers or days sort last.
const (
	orderedKey = iota
	otherKey
)

// appendSortKey appends the key of a value that is not empty: bytes that sort as
// the values do.
func appendSortKey(dst []byte, kind SortKind, value string) []byte {
	o := order{}
	if kind != ByCodePoint {
		o = orderOf(value)
	}
	switch {
	case kind == ByNumber && o.kind == numberOrder:
		// The bits of floats that are not negative sort as the floats do, and those
		// of negative ones the other way round.
		bits := math.Float64bits(o.number)
		if o.number < 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(append(dst, orderedKey), bits)
	case kind == ByDay && o.kind == dayOrder:
		return append(append(dst, orderedKey), value...)
	default: // the order of UTF-8 is that of code points
		return append(append(dst, otherKey), value[:min(len(value), MaxSortKey-1)]...)
	}
}
