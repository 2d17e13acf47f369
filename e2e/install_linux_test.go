//go:build release

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// The lines of docs/operations.md install a server that runs, and the first
// backup works, on a Debian with nothing but systemd. The machine is not booted:
// systemctl is a fake that records its calls.
func TestInstallAsDocumented(t *testing.T) {
	m := newMachine(t)
	m.run(t, "a good password\n", documented(t, "By hand, with systemd"))
	testkit.Same(t, "calls of systemctl",
		m.run(t, "", "cat /run/systemctl"),
		"daemon-reload\nenable --now formulary formulary-backup.timer\n",
	)
	testkit.Same(t, "systemd-analyze verify",
		m.run(t, "", "systemd-analyze verify --man=no "+
			"/etc/systemd/system/formulary*.service /etc/systemd/system/formulary*.timer 2>&1"),
		"",
	)

	unit := m.unit(t, "formulary.service")
	p := launch(t, unit)
	resp, err := http.Get(p.url + "/healthz")
	must(t, err)
	_ = resp.Body.Close()
	testkit.Same(t, "/healthz", resp.StatusCode, http.StatusOK)
	if r, err := p.callAs(t.Context(), "alice", "a good password", "GET", "", ""); err != nil || r.status != http.StatusNotFound {
		t.Errorf("alice asks for a page that is not there: status %d, %v", r.status, err)
	}

	backup := regexp.MustCompile(`(?m)^.* formulary backup .*$`).FindString(documented(t, "Backup"))
	m.run(t, "", backup)
	testkit.Same(
		t, "owner and mode of the backup", m.run(t, "", "stat -c '%U %a' /var/lib/formulary-backup/*.db"), "formulary 600\n",
	)
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// systemd does not start a server again whose pages are missing, but does so
// after a crash: their statuses differ.
func TestUnitsRestartAfterACrashOnly(t *testing.T) {
	m := newMachine(t)
	m.run(t, "a good password\n", documented(t, "By hand, with systemd"))
	for _, name := range []string{"formulary.service", "formulary@.service"} {
		m.run(t, "", "grep -qx Restart=on-failure /etc/systemd/system/"+name+" && grep -qx RestartPreventExitStatus=2 /etc/systemd/system/"+name)
		p := launch(t, m.unit(t, name))
		if err := p.Cmd.Process.Signal(syscall.SIGQUIT); err != nil { // Go ends as after a crash
			t.Fatal(err)
		}
		err := p.Wait(t, testkit.WaitLimit)
		if p.Cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGABRT {
			t.Errorf("%s: after a crash: %v, want SIGABRT", name, err)
		}

		m.run(t, "", "mv /var/lib/formulary/pages /var/lib/formulary/away")
		out, err := m.unit(t, name).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%s: without pages: %v, want status 2: %s", name, err, out)
		}
		m.run(t, "", "mv /var/lib/formulary/away /var/lib/formulary/pages")
	}
}

// documented returns the first block of shell lines below a heading of
// docs/operations.md.
func documented(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	_, section, _ := strings.Cut(string(text), "# "+heading+"\n")
	_, block, _ := strings.Cut(section, "\n```sh\n")
	block, _, found := strings.Cut(block, "\n```\n")
	if !found {
		t.Fatalf("there is no block of shell lines below %q", heading)
	}
	return block
}

// machine is a root directory with the programs of this system, and with new
// directories /etc, /srv and /var. What it writes to /usr, and what dpkg writes down,
// no other process sees. It exists as long as its process.
type machine struct{ pid int }

const newRoot = `
root=$1 binary=$2 deploy=$3
mount -t tmpfs -o mode=0755 tmpfs "$root"
cd "$root"
mkdir -p usr dev proc run tmp srv etc/systemd/system etc/pam.d var/lib root/bin
mkdir -p var/lib/dpkg upper/usr upper/dpkg work/usr work/dpkg
mount -t overlay -o lowerdir=/usr,upperdir=upper/usr,workdir=work/usr overlay usr
mount -t overlay -o lowerdir=/var/lib/dpkg,upperdir=upper/dpkg,workdir=work/dpkg overlay var/lib/dpkg
rm -f usr/sbin/policy-rc.d var/lib/dpkg/statoverride # which names groups of this machine
mount -t tmpfs tmpfs usr/local
mount --rbind /dev dev
mount --rbind /proc proc
for dir in /bin /sbin /lib*; do
	if [ -L "$dir" ]; then cp -d "$dir" .; else mkdir "./$dir"; mount --rbind "$dir" "./$dir"; fi
done
echo root:x:0:0:root:/root:/bin/sh >etc/passwd
echo root:x:0: >etc/group
printf 'auth sufficient pam_rootok.so\nsession required pam_permit.so\n' >etc/pam.d/runuser
cp "$binary" root/bin/formulary
cp -r "$deploy" root/deploy
mkdir -p usr/local/bin usr/local/sbin
cat >usr/local/sbin/systemctl <<'EOF'
#!/bin/sh
case "$*" in
--root=*) exec /usr/bin/systemctl "$@" ;; # it enables a unit without asking systemd
*is-enabled*) [ ! -e /etc/systemd/system/multi-user.target.wants/formulary.service ] || echo enabled ;;
*is-active*) ;;
--no-reload*) echo "$@" >>/run/systemctl && exec /usr/bin/systemctl --root=/ "$@" ;;
*) echo "$@" >>/run/systemctl ;;
esac
EOF
chmod +x usr/local/sbin/systemctl
exec chroot . /bin/sh -c 'echo ready; exec sleep infinity'
`

func newMachine(t *testing.T) machine {
	t.Helper()
	var options []string
	if os.Geteuid() != 0 {
		options = []string{"--map-auto"} // more users than one
	}
	deploy, err := filepath.Abs("../deploy")
	must(t, err)
	cmd := mountNamespace(t, options, newRoot, t.TempDir(), binary, deploy)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ready := make([]byte, len("ready"))
	if _, err := stdout.Read(ready); err != nil {
		_ = cmd.Wait()
		t.Fatalf("make the root directory: %v: %s", err, &stderr)
	}
	return machine{cmd.Process.Pid}
}

// command runs shell lines on the machine, as root in its home.
func (m machine) command(script string) *exec.Cmd {
	options := []string{"--target", fmt.Sprint(m.pid), "--mount", "--root", "--wd"}
	if os.Geteuid() != 0 {
		options = append(options, "--user", "--preserve-credentials")
	}
	cmd := exec.Command("nsenter", append(options, "/bin/sh", "-euc", "umask 022; cd /root; "+script)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	return cmd
}

func (m machine) run(t *testing.T, stdin, script string) string {
	t.Helper()
	cmd := m.command(script)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v: %s%s", script, err, out, &stderr)
	}
	return string(out)
}

// unit is the command of a unit, with its user, environment and limit of core
// dumps, on a port that is free.
func (m machine) unit(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	text := m.run(t, "", "cat '/etc/systemd/system/"+name+"' 2>/dev/null || cat '/usr/lib/systemd/system/"+name+"'")
	setting := func(key string) string {
		value := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(text)
		if value == nil {
			t.Fatalf("%s has no %s", name, key)
		}
		return strings.ReplaceAll(value[1], "%i", "0")
	}
	return m.command(fmt.Sprintf(
		"ulimit -c %s; set -a; FORMULARY_LISTEN=127.0.0.1:0; %s; . %s; exec setpriv --reuid %s --regid %s --clear-groups --no-new-privs %s",
		setting("LimitCORE"), setting("Environment"), setting("EnvironmentFile"), setting("User"), setting("Group"), setting("ExecStart")))
}
