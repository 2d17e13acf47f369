//go:build release

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Debian's package installs a server that runs, a newer one restarts it, and removing it leaves
// configuration and data. Purging leaves pages and backups alone. The older package is of the commit before.
func TestPackage(t *testing.T) {
	older, newer := debianPackage(t, "HEAD~1", "0.0.1"), debianPackage(t, "HEAD", "0.0.2")
	m := newMachine(t)
	m.run(t, "", "mkdir -p /run/systemd/system && touch /run/systemctl")
	dpkg := func(want string, args ...string) {
		t.Helper()
		m.run(t, "", ": >/run/systemctl; dpkg --no-triggers --force-confold "+strings.Join(args, " ")+" >&2")
		if calls := m.run(t, "", "cat /run/systemctl"); calls != want {
			t.Errorf("dpkg %s: calls of systemctl: %q, want %q", args, calls, want)
		}
	}
	dpkg("--system daemon-reload\n--quiet --system start formulary.service\n", "--install", m.copy(t, older))
	testkit.Same(t, "systemd-analyze verify",
		m.run(t, "", "systemd-analyze verify --man=no "+
			"/usr/lib/systemd/system/formulary*.service /usr/lib/systemd/system/formulary*.timer 2>&1"),
		"",
	)
	testkit.Same(t, "owners and modes", m.run(t, "", "cd /; stat -c '%U:%G %a %n' "+
		"etc/formulary etc/formulary/* var/lib/formulary var/lib/formulary/* var/lib/formulary-backup"),
		"root:formulary 750 etc/formulary\n"+
			"root:root 600 etc/formulary/formulary.env\nroot:formulary 640 etc/formulary/users.htpasswd\n"+
			"root:root 755 var/lib/formulary\nformulary:formulary 700 var/lib/formulary/data\n"+
			"root:root 755 var/lib/formulary/pages\nformulary:formulary 700 var/lib/formulary-backup\n")

	p := launch(t, m.unit(t, "formulary.service")) // nobody may sign in yet
	if r := fetch(t, p, "/readyz"); r.status != 200 {
		t.Errorf("/readyz after the installation: %d %s", r.status, r.body)
	}
	users, err := os.ReadFile(newSite(t).users)
	must(t, err)
	m.run(t, string(users), "cat >/etc/formulary/users.htpasswd")
	m.run(t, pageSource, "cat >/var/lib/formulary/pages/1.md; echo '# mine' >>/etc/formulary/formulary.env")
	testkit.Eventually(t, "the user and the page are read", func() bool {
		r, err := p.call(t.Context(), "GET", "/note", "")
		return err == nil && r.status == 200
	})
	p.must(t, 201, "POST", "/note/submission", note("kept"))
	must(t, p.terminate(t))

	dpkg("--system daemon-reload\n--quiet --system restart formulary.service\n", "--install", m.copy(t, newer))
	if version := m.run(t, "", "formulary version"); !strings.HasPrefix(version, "formulary 0.0.2 ") {
		t.Errorf("after the upgrade: %s", version)
	}
	p = launch(t, m.unit(t, "formulary.service"))
	if kept := p.submissions(t, "note"); len(kept) != 1 {
		t.Errorf("after the upgrade there are %d submissions: %v", len(kept), kept)
	}
	must(t, p.terminate(t))

	const keeps = "grep -qx '# mine' /etc/formulary/formulary.env && grep -q ^ann: /etc/formulary/users.htpasswd && test -s /var/lib/formulary/data/formulary.db"
	m.run(t, "", keeps)
	// The operator has enabled these, so there are links that dpkg does not know.
	m.run(t, "", "systemctl --root=/ enable formulary-backup.timer formulary@8081.service 2>&1")
	dpkg("stop formulary.service\n--system stop formulary-backup.timer formulary@*.service\n--no-reload disable formulary@.service\n--system daemon-reload\n", "--remove", "formulary")
	m.run(t, "", keeps+" && test ! -e /usr/bin/formulary && test ! -e /usr/lib/systemd/system/formulary.service")
	m.run(t, "", "mount -t tmpfs tmpfs /var/lib/formulary/data") // a volume
	dpkg("daemon-reload\n", "--purge", "formulary")
	m.run(t, "", "test ! -e /etc/formulary && test -s /var/lib/formulary/pages/1.md && test -d /var/lib/formulary-backup && umount /var/lib/formulary/data")
	testkit.Same(t, "after purging there are still the links", m.run(t, "", "find /etc/systemd -name 'formulary*'"), "")

	m.run(t, "", "mount -t tmpfs tmpfs /proc") // there is none where an image is built
	dpkg("--system daemon-reload\n--quiet --system start formulary.service\n", "--install", m.copy(t, newer))
	m.run(t, "", "umount /proc")
	m.run(t, "", "rm /var/lib/formulary/pages/1.md && touch /var/lib/formulary/data/formulary.db")
	dpkg("stop formulary.service\n--system stop formulary-backup.timer formulary@*.service\n--no-reload disable formulary@.service\n--system daemon-reload\ndaemon-reload\n", "--purge", "formulary")
	m.run(t, "", "test ! -e /etc/formulary && test ! -e /var/lib/formulary")
}

// The archive has what docs/operations.md installs by hand. After what is removed as documented, the package takes over
// configuration and data.
func TestArchive(t *testing.T) {
	pack := debianPackage(t, "HEAD", "0.0.2")
	m := newMachine(t)
	m.run(t, "", "mkdir -p /run/systemd/system && rm -r bin deploy")
	name := "formulary_0.0.2_linux_" + runtime.GOARCH
	m.run(t, "", "tar -xzf "+m.copy(t, filepath.Join(filepath.Dir(pack), name+".tar.gz")))
	for _, heading := range []string{"By hand, with systemd", "The rest of an archive"} {
		m.run(t, "a good password\n", "cd "+name+"; "+documented(t, heading))
	}
	p := launch(t, m.unit(t, "formulary.service"))
	must(t, p.terminate(t))
	m.run(t, "", "test -e /usr/local/share/man/man1/formulary-serve.1 && echo '# mine' >>/etc/formulary/formulary.env")

	m.run(t, "", documented(t, "From files by hand to a package"))
	testkit.Same(t, "there are still",
		m.run(t, "", "find /usr/local /etc/systemd /etc/sysusers.d /etc/tmpfiles.d -name '*formulary*'"),
		"",
	)
	m.run(t, "", "dpkg --no-triggers --force-confold --install "+m.copy(t, pack)+" >&2")
	m.run(t, "", "grep -qx '# mine' /etc/formulary/formulary.env && grep -q ^alice: /etc/formulary/users.htpasswd && test -s /var/lib/formulary/data/formulary.db")
	must(t, launch(t, m.unit(t, "formulary.service")).terminate(t))
}

// debianPackage makes the package of a commit, for this machine. The archive is beside it.
func debianPackage(t *testing.T, commit, version string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "formulary")
	for _, args := range [][]string{
		{"git", "clone", "--quiet", "--no-tags", "--no-checkout", "..", dir},
		{"git", "-C", dir, "checkout", "--quiet", "--detach", inRepository(t, commit)},
		{"go", "run", "-C", filepath.Join(dir, "scripts/release"), "-trimpath", ".", version, "linux/" + runtime.GOARCH},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", cmd, err, out)
		}
	}
	return filepath.Join(dir, "dist", "formulary_"+version+"_"+runtime.GOARCH+".deb")
}

// inRepository is the id of a commit of this repository.
func inRepository(t *testing.T, commit string) string {
	t.Helper()
	out, err := exec.Command("git", "rev-parse", commit).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// copy puts a file into the home of the machine's root.
func (m machine) copy(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	m.run(t, string(data), "cat >"+filepath.Base(path))
	return filepath.Base(path)
}
