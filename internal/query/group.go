package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

const (
	maxGroups = 50
	// maxGroupBytes bounds fields and options of all groups together. It is about what they take in
	// an answer, and more than they take in memory.
	maxGroupBytes = 6 << 20
	// What a field and an option take of it beside their names.
	groupFieldBytes, groupOptionBytes = 110, 24
)

// groupBytes is what a group takes of maxGroupBytes.
func groupBytes(f *forms.Form) int {
	size := 1
	for _, field := range f.Fields {
		size += groupFieldBytes + len(field.ID)
		for _, option := range field.Options {
			size += groupOptionBytes + len(option)
		}
	}
	return size
}

// SummaryBytes is about the memory that the fields of a summary take, with groups or without.
func SummaryBytes(f *forms.Form, groups bool) int {
	const plain = 10 // the summary without groups takes no more than so many of them
	size := plain * groupBytes(f)
	if groups {
		size += min(maxGroups*groupBytes(f), maxGroupBytes)
	}
	return size
}

// grouper counts submissions by the answers to one field.
type grouper struct {
	rank   int // of the field
	values []choiceIndex
	groups []*group // by index
	none   *group   // of no answer; nil without any
	most   int      // groups, or there are too many figures
	cut    bool     // some groups were left out
}

type group struct {
	index  int // of the value
	count  int64
	fields fieldCounters
}

// add counts a submission in the group of each answer that it has.
func (g *grouper) add(answers []answer) (err error) {
	chosen := answers[g.rank].chosen
	if len(chosen) == 0 && g.none == nil {
		g.none, err = g.newGroup(-1)
	}
	if len(chosen) == 0 && err == nil {
		g.none.add(answers)
	}
	for i := 0; i < len(chosen) && err == nil; i++ {
		var found *group
		if found, err = g.find(chosen[i]); found != nil {
			found.add(answers)
		}
	}
	return err
}

func (g *group) add(answers []answer) {
	g.count++
	g.fields.add(answers)
}

// find returns the group of a value, or nil where there are too many: the groups of the first
// options stay, then those of other values as they are found. A value that was removed, or
// found no room, never finds room again: so what a group counts is complete.
func (g *grouper) find(index int) (*group, error) {
	byIndex := func(o *group, index int) int { return cmp.Compare(o.index, index) }
	i, found := slices.BinarySearchFunc(g.groups, index, byIndex)
	if found {
		return g.groups[i], nil
	}
	rest := len(g.values[g.rank].Options)
	full := len(g.groups) == maxGroups-1 // one is for no answer
	if index == rest || full && (index > rest || i == len(g.groups)) {
		g.cut = true
		return nil, nil
	}
	if full {
		g.cut, g.groups = true, g.groups[:len(g.groups)-1]
	}
	added, err := g.newGroup(index)
	if err == nil {
		g.groups = slices.Insert(g.groups, i, added)
	}
	return added, err
}

func (g *grouper) newGroup(index int) (*group, error) {
	if len(g.groups)+1 >= g.most {
		return nil, forms.InvalidRequest(
			forms.Say("this field gives too many figures: filter the submissions, or choose another field"))
	}
	return &group{index: index, fields: newFieldCounters(g.values, true)}, nil
}

// list returns the groups by their order, those of other values by code point, then no answer.
func (g *grouper) list() []Group {
	list := []Group{}
	field := &g.values[g.rank]
	for _, found := range g.groups {
		list = append(list, Group{field.valueOf(found.index), found.count, found.fields})
	}
	others, _ := slices.BinarySearchFunc(g.groups, len(field.Options),
		func(o *group, index int) int { return cmp.Compare(o.index, index) })
	slices.SortFunc(list[others:], func(a, b Group) int { return strings.Compare(a.Value, b.Value) })
	if g.none != nil {
		list = append(list, Group{"", g.none.count, g.none.fields})
	}
	return list
}

// totalCounter counts and adds up numbers.
type totalCounter struct {
	count int64
	sum   decimalSum
}

func (c *totalCounter) add(text string) {
	if x, ok := forms.ParseNumber(text); ok {
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
