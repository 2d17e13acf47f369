package query

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// choiceIndex is the values that are counted of a field with options, by index: the options, then all
// that have no index of their own, then other values as they are found.
type choiceIndex struct {
	*forms.Field
	indices map[string]int // of the options and others; nil before the first look-up
	others  []string
	room    int     // for others
	last    []int64 // by index: the id of the last submission with the value
}

// appendIndices appends the indices of the different values in an answer.
func (c *choiceIndex) appendIndices(indices []int, submissionID int64, text string) []int {
	if !c.MultiValue() {
		return append(indices, c.index(text))
	}
	for part := range strings.SplitSeq(text, forms.Separator) {
		if forms.IsBlank(part) {
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
	if c.indices == nil {
		c.indices = make(map[string]int, len(c.Options))
		for i, option := range c.Options {
			c.indices[option] = i
		}
	}
	if i, known := c.indices[value]; known {
		return i
	}
	value, rest := forms.Clip(value), len(c.Options)
	i, known := c.indices[value]
	switch {
	case known:
		return i
	case len(c.others) == c.room:
		return rest
	}
	value = strings.Clone(value) // it may share memory with a text of any length
	c.others = append(c.others, value)
	c.indices[value] = rest + len(c.others)
	return c.indices[value]
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
