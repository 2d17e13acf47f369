//go:build release

package failover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// What Patroni is told about time, in seconds: after ttl without a word from
// the primary another is elected. 20 is the least that Patroni takes.
const (
	ttl          = 20
	loopWait     = 5
	retryTimeout = 5
)

const password = "only-on-loopback"

// cluster is an etcd and three PostgreSQL servers that Patroni looks after.
type cluster struct {
	dir   string
	as    *syscall.Credential // nil for ourselves
	nodes []*node
}

type node struct {
	cluster  *cluster
	Name     string
	Dir      string
	Bin      string
	Etcd     int
	Postgres int
	API      int
	patroni  *exec.Cmd
}

// configuration is Patroni's file. The bootstrap part counts for the first
// node that starts; it is then the cluster's, in etcd.
var configuration = template.Must(template.New("").Parse(`
scope: formulary
name: {{.Name}}
restapi: {listen: "127.0.0.1:{{.API}}", connect_address: "127.0.0.1:{{.API}}"}
etcd3: {host: "127.0.0.1:{{.Etcd}}"}
bootstrap:
  dcs:
    ttl: ` + strconv.Itoa(ttl) + `
    loop_wait: ` + strconv.Itoa(loopWait) + `
    retry_timeout: ` + strconv.Itoa(retryTimeout) + `
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 100, shared_buffers: 32MB, wal_keep_size: 1GB}
  initdb: [encoding: UTF8, locale: C, data-checksums]
  pg_hba:
    - host all all 127.0.0.1/32 scram-sha-256
    - host replication all 127.0.0.1/32 scram-sha-256
postgresql:
  listen: 127.0.0.1:{{.Postgres}}
  connect_address: 127.0.0.1:{{.Postgres}}
  data_dir: {{.Dir}}/data
  bin_dir: {{.Bin}}
  pgpass: {{.Dir}}/pgpass
  authentication:
    superuser: {username: postgres, password: ` + password + `}
    replication: {username: replicator, password: ` + password + `}
    rewind: {username: rewinder, password: ` + password + `}
  parameters: {unix_socket_directories: {{.Dir}}}
`))

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{as: unprivileged(t)}
	dir, err := os.MkdirTemp("", "failover") //nolint:usetesting // cleanUp removes it, also when the test is killed
	testkit.Must(t, err)
	c.dir = dir
	c.own(t, dir)
	c.cleanUp(t)
	etcd := c.startEtcd(t)
	bin := binaries(t)
	for i := range 3 {
		n := &node{
			cluster: c, Name: fmt.Sprintf("node%d", i+1), Dir: filepath.Join(dir, fmt.Sprintf("node%d", i+1)),
			Bin: bin, Etcd: etcd, Postgres: freePort(t), API: freePort(t),
		}
		testkit.Must(t, os.Mkdir(n.Dir, 0o700))
		c.own(t, n.Dir)
		var text bytes.Buffer
		testkit.Must(t, configuration.Execute(&text, n))
		testkit.Must(t, os.WriteFile(n.file(), text.Bytes(), 0o644))
		c.nodes = append(c.nodes, n)
		n.start(t)
	}
	return c
}

func (n *node) file() string { return filepath.Join(n.Dir, "patroni.yml") }

// unprivileged is whom the servers run as: PostgreSQL refuses to run as root.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	found, err := user.Lookup("postgres")
	testkit.Must(t, err)
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	testkit.Must(t, errors.Join(uidErr, gidErr))
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (c *cluster) own(t *testing.T, path string) {
	t.Helper()
	if c.as == nil {
		return
	}
	testkit.Must(t, os.Chown(path, int(c.as.Uid), int(c.as.Gid)))
}

// binaries is the folder of PostgreSQL's programs, the latest that there is.
func binaries(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("there is no PostgreSQL in /usr/lib/postgresql: run 'make check-release', which installs it")
	}
	return filepath.Dir(found[len(found)-1])
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// cleanUp ends whatever runs in the cluster's folder and removes it, also when
// the test itself is killed: the shell waits for a pipe that is closed by then.
func (c *cluster) cleanUp(t *testing.T) {
	t.Helper()
	const script = `cat >/dev/null
for round in 1 2 3; do
	for file in "$1"/*.pid; do [ -e "$file" ] && kill -KILL "$(cat "$file")"; done
	for file in "$1"/*/data/postmaster.pid; do [ -e "$file" ] && kill -QUIT "$(head -n 1 "$file")"; done
	sleep 1
done 2>/dev/null
rm -rf "$1"`
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "sh", c.dir)
	cmd.Cancel = func() error { return nil }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the test
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.Must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			c.tellLogs(t)
		}
		_ = pipe.Close()
		_ = cmd.Wait()
	})
}

// tellLogs shows the end of what every server said.
func (c *cluster) tellLogs(t *testing.T) {
	logs, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	for _, file := range logs {
		text, _ := os.ReadFile(file)
		lines := strings.Split(string(text), "\n")
		t.Logf("%s:\n%s", file, strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}

// run starts a server in the background. Its output goes to NAME.log, its
// process id to NAME.pid.
func (c *cluster) run(t *testing.T, name, program string, args ...string) *exec.Cmd {
	t.Helper()
	out, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	testkit.Must(t, err)
	defer func() { _ = out.Close() }()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, out, out
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+c.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.as}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v (run 'make check-release', which installs it)", program, err)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(c.dir, name+".pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
	return cmd
}

func (c *cluster) startEtcd(t *testing.T) (port int) {
	t.Helper()
	port = freePort(t)
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	c.run(t, "etcd", "etcd", "--name", "one", "--data-dir", filepath.Join(c.dir, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "one="+peer)
	return port
}

func (n *node) start(t *testing.T) {
	t.Helper()
	n.patroni = n.cluster.run(t, n.Name, "patroni", n.file())
}

// kill ends Patroni and PostgreSQL's postmaster as a crash would: connections
// break, and new ones are refused.
func (n *node) kill(t *testing.T) {
	t.Helper()
	// Patroni first: it would start another.
	testkit.Must(t, errors.Join(n.patroni.Process.Kill(), syscall.Kill(n.postmaster(t), syscall.SIGKILL)))
	_ = n.patroni.Wait() // which tells that it was killed
}

// freeze stops them together with all that the postmaster has started, as the
// loss of a machine would: connections stay, new ones too, and nobody answers.
// What is returned ends them.
func (n *node) freeze(t *testing.T) (end func()) {
	t.Helper()
	postmaster := n.postmaster(t)
	frozen := []int{n.patroni.Process.Pid, postmaster}
	for _, pid := range frozen {
		testkit.Must(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "pid=", "--ppid", strconv.Itoa(postmaster)).Output()
	testkit.Must(t, err)
	for _, text := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(text)
		if err == nil && syscall.Kill(pid, syscall.SIGSTOP) == nil {
			frozen = append(frozen, pid)
		}
	}
	return func() {
		for _, pid := range frozen {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = n.patroni.Wait() // which tells that it was killed
	}
}

func (n *node) postmaster(t *testing.T) (pid int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.Dir, "data", "postmaster.pid"))
	testkit.Must(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	if pid, err = strconv.Atoi(first); err != nil {
		t.Fatal(err)
	}
	return pid
}

// member is what Patroni tells of a node.
type member struct {
	Name, Role, State string
	Timeline          int
	Lag               any // a number, or "unknown"
}

// members asks any node that answers.
func (c *cluster) members() []member {
	client := http.Client{Timeout: 2 * time.Second}
	for _, n := range c.nodes {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/cluster", n.API))
		if err != nil {
			continue
		}
		var answer struct{ Members []member }
		err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
		if errors.Join(err, resp.Body.Close()) == nil && len(answer.Members) > 0 {
			return answer.Members
		}
	}
	return nil
}

// healthy returns the primary if all is as it should be: it has a synchronous
// standby, and the third follows, too.
func (c *cluster) healthy() *node {
	var primary *node
	roles := map[string]int{}
	members := c.members()
	for i, m := range members {
		if m.State != "running" && m.State != "streaming" || m.Timeline != members[0].Timeline {
			return nil
		}
		if lag, known := m.Lag.(float64); m.Role != "leader" && (!known || lag > 1<<20) {
			return nil
		}
		roles[m.Role]++
		if m.Role == "leader" {
			primary = c.nodes[nodeNumber(c, members[i].Name)]
		}
	}
	if roles["leader"] == 1 && roles["sync_standby"] == 1 && roles["replica"] == 1 {
		return primary
	}
	return nil
}

func nodeNumber(c *cluster, name string) int {
	for i, n := range c.nodes {
		if n.Name == name {
			return i
		}
	}
	panic("Patroni knows a node that we don't: " + name)
}

func (c *cluster) awaitHealthy(t *testing.T) *node {
	t.Helper()
	var primary *node
	testkit.EventuallyWithin(t, 3*time.Minute, "a primary, a synchronous standby and a replica", func() bool {
		primary = c.healthy()
		return primary != nil
	})
	return primary
}

// url names all three, and asks for the one that takes writes.
func (c *cluster) url(user, database string) string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", n.Postgres))
	}
	return fmt.Sprintf("postgres://%s:%s@%s/%s?target_session_attrs=read-write", user, password, strings.Join(hosts, ","), database)
}
