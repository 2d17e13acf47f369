package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// mountNamespace is a command whose mounts no other process sees; they go away
// with it. It runs as root, or as the root of a user namespace. The options are
// further ones of unshare.
func mountNamespace(t *testing.T, options []string, script string, args ...string) *exec.Cmd {
	t.Helper()
	options = append([]string{"--mount"}, options...)
	if os.Geteuid() != 0 {
		options = append(options, "--user", "--map-root-user")
	}
	// Without a mount of its own, a refusal would show as an error of the script.
	if out, err := exec.Command("unshare", append(options, "mount", "-t", "tmpfs", "tmpfs", "/mnt")...).CombinedOutput(); err != nil {
		testkit.Missing(t, fmt.Errorf("no mount namespace: %w: %s"+
			"In a container, run the tests as root with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN --security-opt apparmor=unconfined). "+
			"Without root, allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "+
			"on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0) and install uidmap.", err, out))
	}
	return exec.Command("unshare", append(append(options, "sh", "-euc", script, "sh"), args...)...)
}
