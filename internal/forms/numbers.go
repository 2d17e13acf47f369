package forms

import (
	"math"
	"strings"
)

// Numbers is what the values of a numeric field say together. Numbers beyond
// 1e300 count as that.
type Numbers struct {
	Count          int64
	Min, Max, Mean float64 // 0 without any
	Bins           []Bin   // contiguous, of one width
}

// Bin is the number of values from From up to, but not including, To.
type Bin struct {
	From, To float64
	Count    int64
}

const (
	maxBins = 20
	// maxCells is how many cells are kept until the width of a bin is known.
	// It is so far above maxBins that coarser cells never change the result.
	maxCells = 1000
	// maxCell is up to which number cells are numbered: a float64 has as many
	// whole numbers.
	maxCell = 1e15
	// finestPlaces is up to how many places after the point count for bins.
	finestPlaces = 6
	// largestNumber keeps sums within a float64.
	largestNumber = 1e300
)

// numberCounter counts numbers in cells of a power of ten, so that a single
// pass finds bins of a round width, and the order of the values does not matter.
type numberCounter struct {
	numbers  Numbers
	sum      float64
	exponent int             // a cell's width is 10^exponent
	places   int             // the most places after the point, up to finestPlaces
	cells    map[int64]int64 // counts by the number of the cell
}

// add counts a value, unless it is not a number.
func (c *numberCounter) add(text string) {
	x, ok := parseNumber(text)
	if !ok {
		return
	}
	x = min(max(x, -largestNumber), largestNumber)
	n := &c.numbers
	if n.Count == 0 {
		n.Min, n.Max = x, x
		c.cells, c.exponent = map[int64]int64{}, -finestPlaces
	}
	n.Count++
	n.Min, n.Max = min(n.Min, x), max(n.Max, x)
	c.sum += x
	_, fraction, _ := strings.Cut(text, ".")
	c.places = max(c.places, min(len(strings.TrimRight(fraction, "0")), finestPlaces))
	for math.Abs(x) >= c.bound(maxCell) {
		c.coarsen()
	}
	c.cells[c.cell(x)]++
	for len(c.cells) > maxCells {
		c.coarsen()
	}
}

// cell returns the number of the cell that x is in.
func (c *numberCounter) cell(x float64) int64 {
	n := int64(math.Floor(x / c.bound(1)))
	for c.bound(n+1) <= x { // division may have rounded
		n++
	}
	for c.bound(n) > x {
		n--
	}
	return n
}

// bound is the lower bound of a cell, as exactly as a float64 can be.
func (c *numberCounter) bound(n int64) float64 {
	if c.exponent < 0 {
		return float64(n) / math.Pow10(-c.exponent)
	}
	return float64(n) * math.Pow10(c.exponent)
}

// coarsen makes cells ten times as wide.
func (c *numberCounter) coarsen() {
	cells := make(map[int64]int64, len(c.cells))
	for n, count := range c.cells {
		cells[floorDiv(n, 10)] += count
	}
	c.cells = cells
	c.exponent++
}

func (c *numberCounter) result() *Numbers {
	n := c.numbers
	if n.Count > 0 {
		n.Mean = c.sum / float64(n.Count)
		n.Bins = c.bins()
	}
	return &n
}

// bins returns bins of the smallest width of 1, 2 or 5 times a power of ten that
// is not finer than the values are, and makes at most maxBins of them.
func (c *numberCounter) bins() []Bin {
	for c.exponent < -c.places {
		c.coarsen()
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for n := range c.cells {
		low, high = min(low, n), max(high, n)
	}
	width := roundWidth(low, high)
	first := floorDiv(low, width)
	bins := make([]Bin, floorDiv(high, width)-first+1)
	for i := range bins {
		from := (first + int64(i)) * width
		bins[i] = Bin{From: c.bound(from), To: c.bound(from + width)}
	}
	for n, count := range c.cells {
		bins[floorDiv(n, width)-first].Count += count
	}
	return bins
}

func roundWidth(low, high int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{1, 2, 5} {
			if width := power * step; floorDiv(high, width)-floorDiv(low, width) < maxBins {
				return width
			}
		}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
