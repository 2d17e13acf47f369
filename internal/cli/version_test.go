package cli

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// What the linker has set counts, and is told in all places alike.
func TestVersionOfARelease(t *testing.T) {
	before := [...]string{version, commit, commitDay}
	t.Cleanup(func() { version, commit, commitDay = before[0], before[1], before[2] })
	version, commit, commitDay = "0.1.0", "c0ffee", "2026-11-18"
	b := thisBuild()
	if got, want := b.String(), "formulary 0.1.0 c0ffee 2026-11-18 "+b.Go+" "+b.Platform; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	registry := prometheus.NewRegistry()
	b.register(registry)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "formulary_build_info" {
		t.Fatalf("%v, %v", families, err)
	}
	var labels []string
	for _, label := range families[0].GetMetric()[0].GetLabel() {
		labels = append(labels, label.GetName()+"="+label.GetValue())
	}
	if got, want := strings.Join(labels, " "), "commit=c0ffee goversion="+b.Go+" version=0.1.0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
