package mediawikitest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Tests run on 1.43 or newer where it is, on an older one if it is chosen, and in
// CI on no other.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	folder := func(name string) string { return filepath.Join(dir, name) }
	for _, version := range []string{"1.39.17", "1.43.9", "1.45.0"} {
		text := fmt.Sprintf("<?php\ndefine( 'MW_VERSION', '%s' );\n", version)
		testkit.WriteFile(t, filepath.Join(folder(version), definitions), text)
	}
	for _, test := range []struct {
		system, unpacked, chosen string
		full                     bool
		want                     string // "" is an error
	}{
		{system: "1.39.17", unpacked: "1.43.9", full: true, want: "1.43.9"},
		{system: "1.45.0", unpacked: "1.43.9", full: true, want: "1.45.0"},
		{system: "1.39.17", unpacked: "1.43.9", full: true, chosen: "1.39.17", want: "1.39.17"},
		{system: "1.43.9", unpacked: "none", full: true, want: "1.43.9"},
		{system: "1.39.17", unpacked: "none", full: true},
		{system: "1.39.17", unpacked: "none", want: "1.39.17"},
		{system: "none", unpacked: "none"},
		{system: "1.43.9", unpacked: "none", chosen: "none"},
	} {
		chosen, want := test.chosen, test.want
		if chosen != "" {
			chosen = folder(chosen)
		}
		if want != "" {
			want = folder(want)
		}
		got, err := find(chosen, test.full, folder(test.system), folder(test.unpacked))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}
