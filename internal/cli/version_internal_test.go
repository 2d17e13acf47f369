package cli

import "testing"

func TestArchivedVersion(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct{ name, revision, want string }{
		{"a release", commit + " 1767225600 v1.2.3\n", "v1.2.3"},
		{"after a release", commit + " 1767225600 v1.2.3-4-g0123456\n", "v1.2.3-4-g0123456"},
		{"no release yet", commit + " 1767225600 \n", "v0.0.0-20260101000000-0123456789ab"},
		{"a clone", "$Format:%H %ct %(describe:tags=true)$\n", ""},
	} {
		if got := archivedVersion(tt.revision); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
