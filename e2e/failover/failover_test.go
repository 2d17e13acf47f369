//go:build release

// Package failover kills the primary of a PostgreSQL cluster under load, again
// and again, and counts what became of the submissions. It takes minutes and
// needs Patroni and etcd, so it is not among the tests that CI runs:
// 'make check-release' installs them and runs it. Alone it is
// 'go test -C e2e -tags release -v ./failover'.
package failover

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/testkit"
)

const (
	kills   = 5
	servers = 2
	writers = 8 // in all

	// quiet is how long the load runs undisturbed before a kill.
	quiet = 5 * time.Second
)

// TestFailover: what was acknowledged before, during and after the loss of a
// primary is there, once, and nothing is there twice.
func TestFailover(t *testing.T) {
	c := startCluster(t)
	c.awaitHealthy(t)
	createDatabase(t, c)
	hook := startReceiver(t)
	l := startLoad(t, startServers(t, c, hook.file(t)))
	t.Logf("Patroni: ttl %d s, loop_wait %d s, retry_timeout %d s, synchronous_mode; %d servers, %d writers", ttl, loopWait, retryTimeout, servers, writers)
	for kill := 1; kill <= kills; kill++ {
		l.failover(t, c, fmt.Sprintf("kill %d", kill), func(primary *node) (end func()) {
			primary.kill(t)
			return func() {}
		})
	}
	// Once as if the machine were gone: nothing breaks, and nobody answers.
	l.failover(t, c, "freeze", func(primary *node) (end func()) { return primary.freeze(t) })
	l.stop()
	hook.check(t, l.read(t)) // after the last answer
	sum := l.check(t)
	t.Logf("in the end: %d acknowledged, %d lost, %d doubled; %d requests were told no (503), of which %d are stored all the same",
		sum.acknowledged, sum.lost, sum.doubled, sum.refused, sum.refusedButStored)
}

// failover takes the primary away, and tells what became of the writes.
func (l *load) failover(t *testing.T, c *cluster, what string, lose func(primary *node) (end func())) {
	t.Helper()
	primary := c.awaitHealthy(t)
	l.runFor(t, quiet)
	l.mark()
	lost := time.Now()
	end := lose(primary)
	l.runFor(t, quiet) // which waits until writes succeed again
	gap, slowest := l.measured()
	end()
	primary.start(t)
	c.awaitHealthy(t)
	sum := l.check(t)
	t.Logf("%s, of %s: %.1f s without a successful write, %.1f s the slowest answer, all three nodes back after %.1f s; %d acknowledged so far, %d lost, %d doubled",
		what, primary.Name, gap.Seconds(), slowest.Seconds(), time.Since(lost).Seconds(), sum.acknowledged, sum.lost, sum.doubled)
}

func createDatabase(t *testing.T, c *cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url("postgres", "postgres"))
	testkit.Must(t, err)
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range []string{
		"CREATE ROLE formulary LOGIN PASSWORD '" + password + "'",
		"CREATE DATABASE formulary OWNER formulary ENCODING 'UTF8' TEMPLATE template0",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	// A server asks the standbys, too. One that does not know the database yet would refuse it.
	testkit.Eventually(t, "both standbys have the database", func() (all bool) {
		const sql = "SELECT count(*) = 2 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()"
		testkit.Must(t, conn.QueryRow(ctx, sql).Scan(&all))
		return all
	})
}

const page = "```yaml form\n" + `form: note
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n"

// startServers returns the addresses of Formulary's servers.
func startServers(t *testing.T, c *cluster, hooks string) (urls []string) {
	t.Helper()
	dir := t.TempDir()
	binary, remove, err := testkit.Binary()
	testkit.Must(t, err)
	t.Cleanup(remove)
	pages, users := filepath.Join(dir, "pages"), filepath.Join(dir, "users")
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	testkit.Must(t, err)
	testkit.WriteFile(t, filepath.Join(pages, "1.md"), page)
	testkit.WriteFile(t, users, "ann:"+string(hash)+"\n")
	for i := range servers {
		cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json",
			"--pages", pages, "--users", users, "--anonymous-key", filepath.Join(dir, "anonymous.key"), "--access-log=false", "--hooks", hooks)
		cmd.Env = append(os.Environ(), "FORMULARY_DATABASE="+c.url("formulary", "formulary"))
		server := testkit.Serve(t, cmd)
		t.Cleanup(func() { testkit.WriteFile(t, filepath.Join(c.dir, fmt.Sprintf("formulary%d.log", i+1)), server.Log()) })
		urls = append(urls, server.URL)
		testkit.Eventually(t, "the server is ready", func() bool { return isReady(urls[i]) })
	}
	return urls
}

func isReady(url string) bool {
	resp, err := http.Get(url + "/readyz")
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}
