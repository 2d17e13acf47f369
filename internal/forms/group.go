package forms

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

const maxGroups = 50

// grouper counts submissions by the answers to one field.
type grouper struct {
	by     *Field
	rank   int // of by
	fields []*Field
	groups map[string]*group
	values int  // groups but that of no answer
	cut    bool // some groups were left out
}

type group struct {
	count  int64
	last   int64 // id of the last submission that was counted
	fields fieldCounters
}

// add counts a submission in the group of each answer that it has.
func (g *grouper) add(id int64, row *Result) error {
	text, err := row.Fields[g.rank].Text()
	switch {
	case err != nil:
		return err
	case g.by.isBlank(text):
		return g.addTo("", id, row)
	case !g.by.MultiValue():
		return g.addTo(text, id, row)
	}
	for part := range strings.SplitSeq(text, Separator) {
		if !isBlank(part) && err == nil {
			err = g.addTo(part, id, row)
		}
	}
	return err
}

func (g *grouper) addTo(value string, id int64, row *Result) error {
	found := g.groups[value]
	if found == nil {
		found = g.newGroup(value)
	}
	if found == nil || found.last == id { // it has the value twice
		return nil
	}
	found.count, found.last = found.count+1, id
	return found.fields.add(id, row)
}

// newGroup returns the group of a value that has none yet, or is none of the options. It is
// nil where there are too many: the groups of the first options stay, then those of other
// values as they are found.
func (g *grouper) newGroup(value string) *group {
	if value != "" && !slices.Contains(g.by.Options, value) {
		value = Clip(value)
		if found := g.groups[value]; found != nil {
			return found
		}
	}
	if value != "" && g.values == maxGroups-1 && !g.makeRoom(value) { // one is for no answer
		g.cut = true
		return nil
	}
	if value != "" {
		g.values++
	}
	found := &group{fields: newFieldCounters(g.fields, true)}
	g.groups[strings.Clone(value)] = found // value may share memory with a text of any length
	return found
}

// makeRoom removes the last group if it comes after that of a value. A value that was removed, or
// found no room, never finds room again: so what a group counts is complete.
func (g *grouper) makeRoom(value string) bool {
	last := value
	for other := range g.groups {
		if other != "" && cmp.Or(cmp.Compare(g.order(other), g.order(last)), strings.Compare(other, last)) > 0 {
			last = other
		}
	}
	if g.order(last) == g.order(value) {
		return false
	}
	delete(g.groups, last)
	g.values--
	g.cut = true
	return true
}

// order is the position of the group of a value: in the order of the options, then other values, then
// no answer.
func (g *grouper) order(value string) int {
	switch rank := slices.Index(g.by.Options, value); {
	case value == "":
		return len(g.by.Options) + 1
	case rank < 0:
		return len(g.by.Options)
	default:
		return rank
	}
}

// list returns the groups by their order, those of other values by code point.
func (g *grouper) list() []Group {
	list := []Group{}
	for _, value := range slices.SortedFunc(maps.Keys(g.groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(g.order(a), g.order(b)), cmp.Compare(a, b))
	}) {
		found := g.groups[value]
		list = append(list, Group{Value: value, Count: found.count, Fields: found.fields.summaries()})
	}
	return list
}

// totalCounter counts and adds up numbers.
type totalCounter struct {
	count int64
	sum   decimalSum
}

func (c *totalCounter) add(_ int64, text string) {
	if x, ok := parseNumber(text); ok {
		c.count++
		c.sum.add(text, x)
	}
}

func (c *totalCounter) addTo(sum *FieldSummary) {
	sum.Numbers = &Numbers{Count: c.count}
	if c.count > 0 {
		sum.Numbers.Sum = c.sum.total()
		sum.Numbers.Mean = sum.Numbers.Sum / float64(c.count)
	}
}
