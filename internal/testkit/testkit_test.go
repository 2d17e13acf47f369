package testkit

import (
	"errors"
	"runtime"
	"testing"
)

// outcome is a testing.TB that records how the test ended.
type outcome struct {
	testing.TB
	skipped, failed bool
}

func (o *outcome) Helper()      {}
func (o *outcome) Skip(...any)  { o.skipped = true; runtime.Goexit() }
func (o *outcome) Fatal(...any) { o.failed = true; runtime.Goexit() }

// A test that can't run is skipped, but not in CI.
func TestMissing(t *testing.T) {
	for ci, skipped := range map[string]bool{"": true, "true": false} {
		t.Setenv("CI", ci)
		var got outcome
		done := make(chan struct{})
		go func() {
			defer close(done)
			Missing(&got, errors.New("there is no such program"))
		}()
		<-done
		if got.skipped != skipped || got.failed == skipped {
			t.Errorf("CI=%s: skipped %v, failed %v", ci, got.skipped, got.failed)
		}
	}
}

// Tests repeat more before a release.
func TestRounds(t *testing.T) {
	for release, want := range map[string]int{"": 3, "1": 20} {
		t.Setenv("FORMULARY_TEST_RELEASE", release)
		Same(t, "rounds", Rounds(3, 20), want)
	}
}
