package forms

import (
	"math"
	"strconv"
	"strings"
)

// Numbers is what the values of a numeric field say together. They are numbers
// as a computer counts; beyond 1e300 they count as that.
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
	// maxDigits is the number of digits of a cell's number: as many as a float64
	// tells apart.
	maxDigits = 15
	// finestPlaces is up to how many places after the point count for bins.
	finestPlaces = 6
	// largestWhole is up to how many digits before the point a number may have:
	// any sum of them is within a float64.
	largestWhole = 300
)

// numberCounter counts numbers in cells of a power of ten, so that a single
// pass finds bins of a round width, and the order of the values does not matter.
// It computes with decimal digits: no value falls to the wrong side of a bound
// such as 0.3 by rounding.
type numberCounter struct {
	numbers    Numbers
	sum, carry float64         // carry is what rounding took from sum
	exponent   int             // a cell's width is 10^exponent
	places     int             // the most places after the point, up to finestPlaces
	cells      map[int64]int64 // counts by the number of the cell
}

// add counts a value, unless it is not a number.
func (c *numberCounter) add(text string) {
	o := orderOf(text)
	if o.kind != decimalOrder {
		return
	}
	if len(o.whole) > largestWhole {
		o.whole, o.frac = "1"+strings.Repeat("0", largestWhole), ""
	}
	x, _ := strconv.ParseFloat(o.text(), 64) // within range
	c.measure(x)
	c.place(o)
}

// text is the decimal that the order stands for, cut to digits that count.
func (o order) text() string {
	sign := ""
	if o.negative {
		sign = "-"
	}
	return sign + "0" + o.whole + "." + o.frac[:min(len(o.frac), largestWhole)] + "0"
}

func (c *numberCounter) measure(x float64) {
	n := &c.numbers
	if n.Count == 0 {
		n.Min, n.Max = x, x
	}
	n.Count++
	n.Min, n.Max = min(n.Min, x), max(n.Max, x)
	// Neumaier's sum: the mean of many values must not drift.
	t := c.sum + x
	if math.Abs(c.sum) >= math.Abs(x) {
		c.carry += (c.sum - t) + x
	} else {
		c.carry += (x - t) + c.sum
	}
	c.sum = t
}

// place counts the value in its cell.
func (c *numberCounter) place(o order) {
	if c.cells == nil {
		c.cells, c.exponent = map[int64]int64{}, -finestPlaces
	}
	c.places = max(c.places, min(len(o.frac), finestPlaces))
	for len(o.whole)-c.exponent > maxDigits {
		c.coarsen()
	}
	c.cells[o.cell(c.exponent)]++
	for len(c.cells) > maxCells {
		c.coarsen()
	}
}

// cell returns the greatest n with n × 10^exponent not above the value.
func (o order) cell(exponent int) int64 {
	var n int64
	digits := o.whole + o.frac
	count := len(o.whole) - exponent // of digits that are at least 10^exponent
	for i := range count {
		n *= 10
		if i < len(digits) {
			n += int64(digits[i] - '0')
		}
	}
	if !o.negative {
		return n
	}
	if len(digits) > max(count, 0) && strings.Trim(digits[max(count, 0):], "0") != "" {
		n++
	}
	return -n
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
		n.Mean = (c.sum + c.carry) / float64(n.Count)
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

// bound is the lower bound of a cell.
func (c *numberCounter) bound(n int64) float64 {
	x, _ := strconv.ParseFloat(strconv.FormatInt(n, 10)+"e"+strconv.Itoa(c.exponent), 64) // within range
	return x
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
