package forms

import (
	"math/big"
	"strconv"
	"strings"
)

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
