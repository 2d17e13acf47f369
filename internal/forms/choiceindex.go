package forms

import (
	"slices"
	"strings"
)

// choiceIndex is the values that are counted of a field with options, by index: the options, then all
// that have no index of their own, then other values as they are found.
type choiceIndex struct {
	*Field
	sorted []int // indices of the options, by value; nil before the first look-up
	others []string
	room   int     // for others
	last   []int64 // by index: the id of the last submission with the value
}

// appendIndices appends the indices of the different values in an answer.
func (c *choiceIndex) appendIndices(indices []int, submissionID int64, text string) []int {
	if !c.MultiValue() {
		return append(indices, c.index(text))
	}
	for part := range strings.SplitSeq(text, Separator) {
		if isBlank(part) {
			continue
		}
		index := c.index(part)
		if more := index + 1 - len(c.last); more > 0 {
			c.last = append(c.last, make([]int64, more)...)
		}
		if c.last[index] != submissionID {
			indices, c.last[index] = append(indices, index), submissionID
		}
	}
	return indices
}

// index returns the index of a value.
func (c *choiceIndex) index(value string) int {
	if c.sorted == nil {
		c.sorted = make([]int, len(c.Options))
		for i := range c.sorted {
			c.sorted[i] = i
		}
		slices.SortFunc(c.sorted, func(a, b int) int { return strings.Compare(c.Options[a], c.Options[b]) })
	}
	option := func(i int, value string) int { return strings.Compare(c.Options[i], value) }
	if i, found := slices.BinarySearchFunc(c.sorted, value, option); found {
		return c.sorted[i]
	}
	value, rest := Clip(value), len(c.Options)
	i := slices.Index(c.others, value)
	switch {
	case i >= 0:
		return rest + 1 + i
	case len(c.others) == c.room:
		return rest
	}
	c.others = append(c.others, strings.Clone(value)) // it may share memory with a text of any length
	return rest + len(c.others)
}

// valueOf returns the value with an index.
func (c *choiceIndex) valueOf(index int) string {
	rest := len(c.Options)
	switch {
	case index < rest:
		return c.Options[index]
	case index == rest:
		return remainder
	default:
		return c.others[index-rest-1]
	}
}

// optionCounts lists the options in the order of the form, then the others by code
// point, then the rest of them.
func (c *choiceIndex) optionCounts(counts []int64) []OptionCount {
	rest := len(c.Options)
	list := make([]OptionCount, rest, max(rest, len(counts)))
	for i, o := range c.Options {
		list[i].Value = o
		if counts != nil {
			list[i].Count = counts[c.index(o)]
		}
	}
	if len(counts) <= rest {
		return list
	}
	for i, n := range counts[rest+1:] {
		if n > 0 {
			list = append(list, OptionCount{c.others[i], n})
		}
	}
	slices.SortFunc(list[rest:], func(a, b OptionCount) int { return strings.Compare(a.Value, b.Value) })
	if counts[rest] > 0 {
		list = append(list, OptionCount{remainder, counts[rest]})
	}
	return list
}
