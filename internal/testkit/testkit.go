// Package testkit has what tests of several packages need.
package testkit

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// WaitLimit is the time limit of waits in tests. It is long, because a machine
// may be slow; a test that passes does not reach it.
const WaitLimit = time.Minute

// The pauses between two calls of a condition grow: most conditions hold soon,
// and those that don't must not be slowed down by the polling.
const (
	firstPause = time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// Eventually waits until a condition holds. After WaitLimit it fails the test.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	EventuallyWithin(t, WaitLimit, what, holds)
}

// EventuallyWithin is Eventually with another limit.
func EventuallyWithin(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for pause := firstPause; !holds(); pause = min(2*pause, maxPause) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %s: %s", limit, what)
		}
		time.Sleep(pause)
	}
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Same fails the test unless two values are the same.
func Same[T comparable](t testing.TB, what any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v: got %+v, want %+v", what, got, want)
	}
}

// Diff fails the test unless two values are alike, and shows how they differ.
func Diff(t testing.TB, what, got, want any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%v (-want +got):\n%s", what, diff)
	}
}

// Contains fails the test unless a text has a part.
func Contains(t testing.TB, what any, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%v: no %q in %s", what, part, text)
	}
}

// ErrorIs fails the test unless an error is the wanted one.
func ErrorIs(t testing.TB, what any, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v: got %v, want %v", what, err, want)
	}
}

// Each calls visit for what a sequence yields, until visit returns an error. It returns that, or the error of the
// sequence.
func Each[T any](sequence iter.Seq2[T, error], visit func(T) error) error {
	for v, err := range sequence {
		if err == nil {
			err = visit(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ErrorOf is the error of a call that returns another value, too.
func ErrorOf[T any](_ T, err error) error { return err }

// WriteFile writes a file, and creates its directory if there is none.
func WriteFile(t testing.TB, path, content string) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o750))
	Must(t, os.WriteFile(path, []byte(content), 0o600))
}

// Release reports whether the tests run before a release, by `make check-release`. They
// try more then, and take longer. A build tag would compile every test twice: once
// for the linters, which read all files, and once for the tests.
func Release() bool { return os.Getenv("FORMULARY_TEST_RELEASE") != "" }

// Rounds is how often a test tries something: few times for each commit, and many
// before a release.
func Rounds(commit, release int) int {
	if Release() {
		return release
	}
	return commit
}

// Rows splits a text into the rows of a table, one for each line that is not empty. Cells stand
// between bars, and have no spaces at their ends.
func Rows(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) > 1 || cells[0] != "" {
			rows = append(rows, cells)
		}
	}
	return rows
}

// EscapedRows are Rows whose cells have the escapes of Go strings.
func EscapedRows(t testing.TB, text string) [][]string {
	t.Helper()
	rows := Rows(text)
	for _, row := range rows {
		for i, cell := range row {
			text, err := strconv.Unquote(`"` + strings.ReplaceAll(cell, `"`, `\"`) + `"`)
			Must(t, err)
			row[i] = text
		}
	}
	return rows
}

// ScanRows scans each line of a table into the variables, and calls check.
func ScanRows(t testing.TB, format string, into []any, check func(line string), table string) {
	t.Helper()
	for line := range strings.Lines(table) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if _, err := fmt.Sscanf(line, format, into...); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		check(line)
	}
}
