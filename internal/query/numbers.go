package query

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// Numbers is what the values of a numeric field say together. Numbers beyond
// 1e300 count as that.
type Numbers struct {
	Count               int64
	Min, Max, Mean, Sum float64 // 0 without any; groups have no Min and Max
	Bins                []Bin   // contiguous, of one width; groups have none

	// What follows is not part of the API's summary.

	Median float64
	Exact  bool  // the median is exact, as it is for few different values, see maxCells
	Inner  []Bin // without the few values that are far from the others; nil if there are none
	Below  int64 // values below Inner
	Above  int64 // values above Inner
}

// Bin is the number of values from From up to, but not including, To.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

const (
	maxBins = 20
	// maxCells is how many different values are counted one by one on a form with few fields. It is so far above
	// maxBins that cells hardly ever change the bins.
	maxCells = 1000
	// maxIndex keeps edges of a grid apart: a float64 has as many whole numbers.
	maxIndex = 1e15
	// maxDecimals is up to how many digits after the point count for bins.
	maxDecimals = 6
	// largestNumber keeps sums within a float64.
	largestNumber = 1e300
)

// numberCounter counts values, so that a single pass finds bins of a round width, and
// the order of the values does not matter. Many different values share cells of a power
// of ten. One that is far off does not make cells coarser.
type numberCounter struct {
	most    int // cells
	numbers Numbers
	sum     decimalSum
	exp     int               // of the finest grid for bins: that of the values, or that of the cells
	counts  map[float64]int64 // by value, or by the lower edge of its cell
}

// add counts a value, unless it is not a number.
func (c *numberCounter) add(text string) {
	x, ok := forms.ParseNumber(text)
	if !ok {
		return
	}
	x = min(max(x, -largestNumber), largestNumber)
	n := &c.numbers
	if n.Count == 0 {
		n.Min, n.Max, n.Exact, c.counts = x, x, true, map[float64]int64{}
	}
	n.Count++
	n.Min, n.Max = min(n.Min, x), max(n.Max, x)
	c.sum.add(text, x)
	if n.Exact {
		_, fraction, _ := strings.Cut(text, ".")
		c.exp = min(c.exp, max(-len(strings.TrimRight(fraction, "0")), -maxDecimals))
	}
	c.counts[c.cell(x)]++
	for len(c.counts) > c.most {
		c.coarsen()
	}
}

// coarsen makes cells ten times as wide. Where they are very wide, it takes larger steps,
// so that long numbers do not make many.
func (c *numberCounter) coarsen() {
	const wide = 12
	c.numbers.Exact = false
	c.exp += max(1, c.exp/wide)
	counts := make(map[float64]int64, len(c.counts))
	for x, count := range c.counts {
		counts[c.cell(x)] += count
	}
	c.counts = counts
}

// cell returns the lower edge of the cell that x is in.
func (c *numberCounter) cell(x float64) float64 {
	g := grid{1, c.exp}
	index := g.index(x)
	if c.numbers.Exact || math.Abs(index) >= maxIndex {
		return x
	}
	return g.edge(index)
}

// grid is edges at all multiples of step*10^exp.
type grid struct {
	step float64
	exp  int
}

// edge is as exact as a float64 can be.
func (g grid) edge(index float64) float64 {
	if g.exp < 0 {
		return index * g.step / math.Pow10(-g.exp)
	}
	return index * g.step * math.Pow10(g.exp)
}

// index returns the index of the last edge that is not above x.
func (g grid) index(x float64) float64 {
	index := math.Round(x / g.edge(1))
	if g.edge(index) > x {
		index--
	}
	return index
}

func (c *numberCounter) addTo(sum *FieldSummary) {
	n := c.numbers
	sum.Numbers = &n
	if n.Count == 0 {
		return
	}
	values := slices.Sorted(maps.Keys(c.counts))
	n.Sum = c.sum.total()
	n.Mean = n.Sum / float64(n.Count)
	n.Median = (c.at(values, (n.Count-1)/2) + c.at(values, n.Count/2)) / 2
	if !n.Exact {
		n.Median += grid{1, c.exp}.edge(1) / 2 // the middle of its cell
	}
	n.Bins = c.bins(values)
	if inner, below, above := c.inner(values); len(inner) < len(values) {
		n.Inner, n.Below, n.Above = c.bins(inner), below, above
	}
}

// at returns the value with an index among all values in order, or its cell.
func (c *numberCounter) at(values []float64, index int64) float64 {
	for _, x := range values {
		if index -= c.counts[x]; index < 0 {
			return x
		}
	}
	panic("there are fewer values")
}

// inner returns the values that are not far from most values, and how many are
// below and above them: beyond three times the distance of the quartiles, and what the
// finest bins would show. If these are more than two, and than one value in twenty, they
// are no exceptions, and it returns all values.
func (c *numberCounter) inner(values []float64) (inner []float64, below, above int64) {
	const far, few, share = 3, 2, 20
	total := c.numbers.Count
	low, high := c.at(values, total/4), c.at(values, 3*total/4)
	distance := max(far*(high-low), grid{1, c.exp}.edge(maxBins))
	for _, x := range values {
		switch {
		case x < low-distance:
			below += c.counts[x]
		case x > high+distance:
			above += c.counts[x]
		default:
			inner = append(inner, x)
		}
	}
	if below+above > max(few, total/share) {
		return values, 0, 0
	}
	return inner, below, above
}

// bins returns bins of the smallest width of 1, 2 or 5 times a power of ten that
// is not finer than the values are, and makes at most maxBins of them. The values are
// sorted.
func (c *numberCounter) bins(values []float64) []Bin {
	for exp := c.exp; ; exp++ {
		for _, step := range []float64{1, 2, 5} {
			g := grid{step, exp}
			first, last := g.index(values[0]), g.index(values[len(values)-1])
			if last-first >= maxBins || max(-first, last) >= maxIndex {
				continue
			}
			bins := make([]Bin, int(last-first)+1)
			for i := range bins {
				index := first + float64(i)
				bins[i] = Bin{From: g.edge(index), To: g.edge(index + 1)}
			}
			for _, x := range values {
				bins[int(g.index(x)-first)].Count += c.counts[x]
			}
			return bins
		}
	}
}

// decimalSum adds up decimals. It is exact for those with up to maxWhole digits before the
// point and maxDecimals after it: 0.1 and 0.2 are 0.3. Otherwise it is rounded as float64 is.
type decimalSum struct {
	whole, fractions int64   // exact; fractions are millionths
	rounded          float64 // the same, and what is beyond
	inexact          bool
}

const (
	maxWhole  = 15
	million   = 1e6      // 10 to the power of maxDecimals
	mostWhole = 1 << 62  // far enough from an overflow for one more value
	zeros     = "000000" // maxDecimals of them
)

func (s *decimalSum) add(text string, x float64) {
	s.rounded += min(max(x, -largestNumber), largestNumber)
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(whole) > maxWhole || len(fraction) > maxDecimals || s.inexact {
		s.inexact = true
		return
	}
	n, _ := strconv.ParseInt(whole, 10, 64) // digits, or nothing
	f, _ := strconv.ParseInt(fraction+zeros[len(fraction):], 10, 64)
	if negative {
		n, f = -n, -f
	}
	s.whole, s.fractions = s.whole+n, s.fractions+f
	s.inexact = max(s.whole, -s.whole) > mostWhole
}

func (s *decimalSum) total() float64 {
	if s.inexact {
		return s.rounded
	}
	sum := new(big.Int).Mul(big.NewInt(s.whole), big.NewInt(million))
	exact, _ := new(big.Rat).SetFrac(sum.Add(sum, big.NewInt(s.fractions)), big.NewInt(million)).Float64()
	return exact
}
