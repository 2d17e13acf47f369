package forms

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Numbers is what the values of a numeric field say together. Numbers beyond
// 1e300 count as that.
type Numbers struct {
	Count          int64
	Min, Max, Mean float64 // 0 without any
	Bins           []Bin   // contiguous, of one width

	// What follows is not part of the API's summary.

	Median float64
	Exact  bool  // the median is exact, as it is for up to maxCells different values
	Inner  []Bin // without the few values that are far from the others; nil if there are none
	Below  int64 // values below Inner
	Above  int64 // values above Inner
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
		for c.exponent < -c.places {
			c.coarsen()
		}
		cells := slices.Sorted(maps.Keys(c.cells))
		n.Bins = c.bins(cells)
		n.Median, n.Exact = (c.at(cells, (n.Count-1)/2)+c.at(cells, n.Count/2))/2, c.exponent <= -c.places
		if inner, below, above := c.inner(cells); len(inner) < len(cells) {
			n.Inner, n.Below, n.Above = c.bins(inner), below, above
		}
	}
	return &n
}

// rank returns the cell of the value with an index among all values in order.
func (c *numberCounter) rank(cells []int64, index int64) (cell, within int64) {
	for _, n := range cells {
		if index < c.cells[n] {
			return n, index
		}
		index -= c.cells[n]
	}
	panic("there are fewer values")
}

// at returns the value with an index among all values in order. Within a cell that
// holds different values, they are taken for evenly spread.
func (c *numberCounter) at(cells []int64, index int64) float64 {
	cell, within := c.rank(cells, index)
	if c.exponent <= -c.places {
		return c.bound(cell)
	}
	from, to := c.bound(cell), c.bound(cell+1)
	return from + (to-from)*(float64(within)+0.5)/float64(c.cells[cell])
}

// inner returns the cells that are not far from most values, and how many values are
// below and above them: beyond three times the distance of the quartiles. If these are more
// than one value in twenty, they are no exceptions, and it returns all cells.
func (c *numberCounter) inner(cells []int64) (inner []int64, below, above int64) {
	const far, few = 3, 20
	total := c.numbers.Count
	low, _ := c.rank(cells, total/4)
	high, _ := c.rank(cells, (3*total)/4)
	distance := far * max(high-low, 1)
	for _, n := range cells {
		switch {
		case n < low-distance:
			below += c.cells[n]
		case n > high+distance:
			above += c.cells[n]
		default:
			inner = append(inner, n)
		}
	}
	if (below+above)*few > total {
		return cells, 0, 0
	}
	return inner, below, above
}

// bins returns bins of the smallest width of 1, 2 or 5 times a power of ten that
// is not finer than the values are, and makes at most maxBins of them. The cells are
// sorted.
func (c *numberCounter) bins(cells []int64) []Bin {
	low, high := cells[0], cells[len(cells)-1]
	width := roundWidth(low, high)
	first := floorDiv(low, width)
	bins := make([]Bin, floorDiv(high, width)-first+1)
	for i := range bins {
		from := (first + int64(i)) * width
		bins[i] = Bin{From: c.bound(from), To: c.bound(from + width)}
	}
	for _, n := range cells {
		bins[floorDiv(n, width)-first].Count += c.cells[n]
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
