package main

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
)

// target is what a figure has to reach, such as "≥" 0.95. The zero target is none.
type target struct {
	relation string
	bound    float64
}

func (t target) met(value float64) bool {
	switch t.relation {
	case "≥":
		return value >= t.bound
	case "≤":
		return value <= t.bound
	case "1 ±":
		return math.Abs(value-1) <= t.bound
	}
	return true
}

// figure is a row of the results.
type figure struct {
	name       string
	target     target
	values     []float64 // what the target is about, per round
	unit       string    // of values; none for a ratio
	measured   string    // absolute values behind it
	durability string
}

func (f figure) met() bool { return len(f.values) == 0 || f.target.met(median(f.values)) }

func (f figure) row() string {
	goal, result, verdict := "none", "—", "—"
	if len(f.values) > 0 {
		goal = fmt.Sprintf("%s %s%s", f.target.relation, number(f.target.bound), f.unit)
		result = fmt.Sprintf("**%s**%s (%s–%s)", number(median(f.values)), f.unit, number(slices.Min(f.values)), number(slices.Max(f.values)))
		verdict = "pass"
		if !f.met() {
			verdict = "**miss**"
		}
	}
	return "| " + strings.Join([]string{f.name, goal, result, verdict, f.measured, f.durability}, " | ") + " |\n"
}

//go:embed notes.md
var notes string

func markdown(figures []figure, machine, command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Results\n\nWritten by `%s`, which repeats it.\n\n%s\n", command, machine)
	b.WriteString("| figure | target | result | | measured | durability |\n|---|---|---|---|---|---|\n")
	for _, f := range figures {
		b.WriteString(f.row())
	}
	return b.String() + "\n" + notes
}

func each[T any](all []T, value func(T) float64) []float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = value(v)
	}
	return values
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// number shows two decimals of what is small, and one of what is not.
func number(v float64) string {
	if math.Abs(v) < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func rate(perSecond float64) string { return grouped(perSecond) + "/s" }

// grouped writes a whole number with a comma after every three digits.
func grouped(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func short(seconds float64) string {
	if seconds < 1e-3 {
		return number(seconds*1e6) + " µs"
	}
	return number(seconds*1e3) + " ms"
}
