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
	// maxCells is how many cells there may be until the width of a bin is known.
	// It is so far above maxBins that coarser cells never change the result.
	maxCells = 1000
	// maxCell is up to which number cells are numbered: a float64 has as many
	// whole numbers.
	maxCell = 1e15
	// maxDecimals is up to how many digits after the point count for bins.
	maxDecimals = 6
	// largestNumber keeps sums within a float64.
	largestNumber = 1e300
)

// numberCounter counts numbers in cells of a power of ten, so that a single
// pass finds bins of a round width, and the order of the values does not matter.
// Only many different values make cells coarser: one that is far off does not.
type numberCounter struct {
	numbers  Numbers
	sum      float64
	grid     grid
	decimals int               // the most digits after the point, up to maxDecimals
	cells    map[float64]int64 // counts by the lower bound of the cell
}

// add counts a value, unless it is not a number.
func (c *numberCounter) add(_ int64, text string) {
	x, ok := parseNumber(text)
	if !ok {
		return
	}
	x = min(max(x, -largestNumber), largestNumber)
	n := &c.numbers
	if n.Count == 0 {
		n.Min, n.Max = x, x
		c.cells, c.grid = map[float64]int64{}, -maxDecimals
	}
	n.Count++
	n.Min, n.Max = min(n.Min, x), max(n.Max, x)
	c.sum += x
	_, fraction, _ := strings.Cut(text, ".")
	c.decimals = max(c.decimals, min(len(strings.TrimRight(fraction, "0")), maxDecimals))
	c.cells[c.grid.floor(x)]++
	for len(c.cells) > maxCells {
		c.coarsen()
	}
}

// coarsen makes cells ten times as wide. Where they are very wide, it takes larger steps,
// so that long numbers do not make many.
func (c *numberCounter) coarsen() {
	const wide = 12
	c.grid += max(1, c.grid/wide)
	cells := make(map[float64]int64, len(c.cells))
	for x, count := range c.cells {
		cells[c.grid.floor(x)] += count
	}
	c.cells = cells
}

// grid is cells of the width 10^grid.
type grid int

// floor is the lower bound of the cell that x is in. Beyond maxCell a float64 is
// hardly finer than a cell.
func (g grid) floor(x float64) float64 {
	if math.Abs(x) >= g.bound(maxCell) {
		return x
	}
	return g.bound(g.cell(x))
}

// cell returns the number of the cell that x is in.
func (g grid) cell(x float64) int64 {
	n := int64(math.Floor(x / g.bound(1)))
	for g.bound(n+1) <= x { // division may have rounded
		n++
	}
	for g.bound(n) > x {
		n--
	}
	return n
}

// bound is the lower bound of a cell, as exactly as a float64 can be.
func (g grid) bound(n int64) float64 {
	if g < 0 {
		return float64(n) / math.Pow10(int(-g))
	}
	return float64(n) * math.Pow10(int(g))
}

func (c *numberCounter) addTo(sum *FieldSummary) {
	n := c.numbers
	sum.Numbers = &n
	if n.Count == 0 {
		return
	}
	n.Mean = c.sum / float64(n.Count)
	c.grid = max(c.grid, grid(-c.decimals))
	cells := slices.Sorted(maps.Keys(c.cells))
	n.Bins = c.bins(cells)
	n.Median, n.Exact = (c.at(cells, (n.Count-1)/2)+c.at(cells, n.Count/2))/2, c.grid == grid(-c.decimals)
	if inner, below, above := c.inner(cells); len(inner) < len(cells) {
		n.Inner, n.Below, n.Above = c.bins(inner), below, above
	}
}

// rank returns the cell of the value with an index among all values in order.
func (c *numberCounter) rank(cells []float64, index int64) (cell float64, within int64) {
	for _, x := range cells {
		if index < c.cells[x] {
			return x, index
		}
		index -= c.cells[x]
	}
	panic("there are fewer values")
}

// at returns the value with an index among all values in order. Within a cell that
// holds different values, they are taken for evenly spread.
func (c *numberCounter) at(cells []float64, index int64) float64 {
	cell, within := c.rank(cells, index)
	if c.grid == grid(-c.decimals) {
		return cell
	}
	return cell + c.grid.bound(1)*(float64(within)+0.5)/float64(c.cells[cell])
}

// inner returns the cells that are not far from most values, and how many values are
// below and above them: beyond three times the distance of the quartiles, and what bins of
// a cell would show. If these are more than two, and than one value in twenty, they are no
// exceptions, and it returns all cells.
func (c *numberCounter) inner(cells []float64) (inner []float64, below, above int64) {
	const far, few, share = 3, 2, 20
	total := c.numbers.Count
	low, _ := c.rank(cells, total/4)
	high, _ := c.rank(cells, (3*total)/4)
	distance := max(far*(high-low), c.grid.bound(maxBins))
	for _, x := range cells {
		switch {
		case x < low-distance:
			below += c.cells[x]
		case x > high+distance:
			above += c.cells[x]
		default:
			inner = append(inner, x)
		}
	}
	if below+above > max(few, total/share) {
		return cells, 0, 0
	}
	return inner, below, above
}

// bins returns bins of the smallest width of 1, 2 or 5 times a power of ten that
// is not finer than the values are, and makes at most maxBins of them. The cells are
// sorted.
func (c *numberCounter) bins(cells []float64) []Bin {
	g, lowest, highest := c.grid, cells[0], cells[len(cells)-1]
	for max(-lowest, highest) >= g.bound(maxCell) {
		g++
	}
	low, high := g.cell(lowest), g.cell(highest)
	width := roundWidth(low, high)
	first := floorDiv(low, width)
	bins := make([]Bin, floorDiv(high, width)-first+1)
	for i := range bins {
		from := (first + int64(i)) * width
		bins[i] = Bin{From: g.bound(from), To: g.bound(from + width)}
	}
	for _, x := range cells {
		bins[floorDiv(g.cell(x), width)-first].Count += c.cells[x]
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
