package cli

import "testing"

func TestArchivedVersion(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct{ name, revision, want string }{
		{"a release", "v1.2.3 " + commit + "\n", "v1.2.3"},
		{"after a release", "v1.2.3-4-g0123456 " + commit + "\n", "v1.2.3-4-g0123456"},
		{"no release yet", " " + commit + "\n", commit},
		{"a clone", "$Format:%(describe:tags=true) %H$\n", ""},
	} {
		if got := archivedVersion(tt.revision); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
