package testkit

import (
	"os"
	"testing"
)

// Missing ends a test that needs a program which this machine does not have. The
// test is skipped and tells the reason, so that the other tests run on any
// machine. In CI, which sets the variable CI, it fails.
func Missing(t testing.TB, reason error) {
	t.Helper()
	if os.Getenv("CI") == "" {
		t.Skip(reason)
	}
	t.Fatal(reason)
}
