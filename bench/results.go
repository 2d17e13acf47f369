package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// target is a promise with slack below the figures of a normal run, such as "≥" 6.
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
	default: // "1 ±"
		return math.Abs(value-1) <= t.bound
	}
}

// figure is a row of the results.
type figure struct {
	name     string
	target   target
	values   []float64 // for the target, per round
	unit     string    // of target and values
	than     string    // the rival, for a ratio
	measured string    // absolute values behind it
}

func (f figure) met() bool { return f.target.met(median(f.values)) }

func (f figure) row() string {
	goal := strings.TrimSpace(fmt.Sprintf("%s %g%s %s", f.target.relation, f.target.bound, f.unit, f.than))
	result := fmt.Sprintf("**%s**%s (%s–%s)", number(median(f.values)), f.unit, number(slices.Min(f.values)), number(slices.Max(f.values)))
	verdict := "kept"
	if !f.met() {
		verdict = "**missed**"
	}
	return "| " + strings.Join([]string{f.name, goal, result, verdict, f.measured}, " | ") + " |\n"
}

//go:embed notes.md
var notes string

const head = "\n## %s\n\n| | target | result | | measured |\n|---|---|---|---|---|\n"

// describeMachine lists the rest that the figures depend on.
func describeMachine(ctx context.Context, dir string) string {
	return fmt.Sprintf("- commit %s\n- %s\n- %s, %d cores\n- %s\n- data on %s\n",
		output(ctx, "git", "describe", "--always", "--dirty"), output(ctx, "go", "env", "GOVERSION"),
		output(ctx, "sed", "-n", "0,/^model name.*: /s///p", "/proc/cpuinfo"), runtime.NumCPU(),
		output(ctx, "uname", "-srm"), filesystemOf(ctx, dir))
}

// filesystemOf names the type of the file system of a folder.
func filesystemOf(ctx context.Context, dir string) string {
	return strings.TrimSpace(strings.TrimPrefix(output(ctx, "df", "--output=fstype", dir), "Type"))
}

func output(ctx context.Context, command string, args ...string) string {
	out, err := exec.CommandContext(ctx, command, args...).Output() //nolint:gosec // the commands above
	if err != nil {
		return command + " failed: " + err.Error()
	}
	return strings.TrimSpace(string(out))
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

// number shows two decimals below 10, and one above.
func number(v float64) string {
	if math.Abs(v) < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func rate(perSecond float64) string {
	if perSecond < 100 {
		return number(perSecond) + "/s"
	}
	return grouped(perSecond) + "/s"
}

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
