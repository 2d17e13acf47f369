// Package pgtest runs a real PostgreSQL for tests: a cluster of its own, in a
// temporary folder, that is gone when the test process is, however that ends.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/testkit"
)

// Options configure a cluster.
type Options struct {
	// Durable keeps fsync on. Without it, tests are faster, and what a crash
	// of the machine would leave is not tested.
	Durable bool
	// TCP makes the server also listen on a port of the loopback interface. There
	// it requires the password.
	TCP bool
	// Settings are further lines of postgresql.conf, such as "log_statement = all".
	Settings []string
}

// Cluster is a PostgreSQL server.
type Cluster struct {
	dir      string // holds data, log and the socket
	bin      string
	port     int
	tcp      bool
	password string
	as       *account
	watchdog *watchdog
	icu      bool

	schemasOnce sync.Once
	schemas     string // the database that they are in
	schemasErr  error
}

// socketPort is the port in the name of a socket. No server listens on it.
const socketPort = 5432

// role is the one of a cluster, which may do everything.
const role = "formulary"

var (
	shared    *Cluster
	sharedErr error
	startOnce sync.Once
)

// Variable is the environment variable with the directory of a cluster that all
// test processes of a run share. scripts/gotest starts it.
const Variable = "FORMULARY_TEST_POSTGRES"

// Shared is the cluster that many tests share, and that none may stop. It is not
// durable. Without one in the environment, the first call in the test process
// starts it.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	startOnce.Do(func() {
		if dir := os.Getenv(Variable); dir != "" {
			shared = &Cluster{dir: dir, port: socketPort}
			sharedErr = shared.examine()
			return
		}
		shared, sharedErr = Start(Options{})
	})
	if sharedErr != nil {
		giveUp(t, sharedErr)
	}
	return shared
}

// New starts a cluster for one test, which may stop or crash it.
func New(t testing.TB, options Options) *Cluster {
	t.Helper()
	c, err := Start(options)
	if err != nil {
		giveUp(t, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// giveUp ends a test that has no server.
func giveUp(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) {
		testkit.Missing(t, err)
	}
	t.Fatal(err)
}

// Start makes a cluster and starts it.
func Start(options Options) (*Cluster, error) {
	c, err := create(options)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := errors.Join(c.initialise(options), c.Resume(), c.examine()); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w\n%s", err, c.Log()), c.Close())
	}
	return c, nil
}

func create(options Options) (*Cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	port := socketPort
	if options.TCP {
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	dir, err := as.makeDir()
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, port: port, tcp: options.TCP, password: rand.Text(), as: as}
	if c.watchdog, err = watch(c.data(), dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// freePort is a port that no process listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (c *Cluster) data() string    { return filepath.Join(c.dir, "data") }
func (c *Cluster) logFile() string { return filepath.Join(c.dir, "log") }

// initialise makes the cluster's files.
func (c *Cluster) initialise(options Options) error {
	passwords := filepath.Join(c.dir, "password")
	if err := c.as.writeFile(passwords, c.password); err != nil {
		return err
	}
	err := c.run("initdb", "--pgdata", c.data(), "--username", role, "--encoding", "UTF8", "--locale", "C",
		"--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", passwords, "--no-sync")
	if err != nil {
		return err
	}
	settings := append([]string{
		"unix_socket_directories = '" + c.dir + "'",
		"port = " + strconv.Itoa(c.port),
		"max_connections = 400",
		"shared_buffers = 32MB",
		"jit = off",
		"autovacuum_naptime = 1h", // it would change plans and timing at random
	}, options.Settings...)
	if !options.TCP {
		settings = append(settings, "listen_addresses = ''")
	} else {
		settings = append(settings, "listen_addresses = '127.0.0.1'")
	}
	if !options.Durable {
		settings = append(settings, "fsync = off", "full_page_writes = off")
	}
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(settings, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// examine asks the server which features it has.
func (c *Cluster) examine() error {
	return c.connect("postgres", func(ctx context.Context, conn *pgx.Conn) error {
		var version string
		if err := conn.QueryRow(ctx, `SHOW server_version_num`).Scan(&version); err != nil {
			return err
		}
		number, err := strconv.Atoi(version)
		c.icu = number >= 15_00_00
		return err
	})
}

// run runs one of PostgreSQL's programs, as a user that PostgreSQL accepts.
func (c *Cluster) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = c.as.attributes()
	// Not through a pipe: the server inherits it, and would keep it open.
	out, err := os.CreateTemp("", "pgtest")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(out.Close(), os.Remove(out.Name())) }()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", name, err, said)
	}
	return nil
}

// Resume starts the server, after Stop or Crash.
func (c *Cluster) Resume() error {
	return c.run("pg_ctl", "start", "--pgdata", c.data(), "--log", c.logFile(), "--wait", "--timeout", "60")
}

// Stop shuts the server down cleanly. Open connections are closed.
func (c *Cluster) Stop() error {
	return c.run("pg_ctl", "stop", "--pgdata", c.data(), "--mode", "fast", "--wait", "--timeout", "60")
}

// Crash ends the server at once. Resume recovers from the WAL what was not written
// to the tables.
func (c *Cluster) Crash() error {
	return c.run("pg_ctl", "stop", "--pgdata", c.data(), "--mode", "immediate", "--wait", "--timeout", "60")
}

// Kill ends the server's first process by SIGKILL. The others find out by
// themselves, and Resume fails until they have.
func (c *Cluster) Kill() error {
	content, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("read the server's process id: %w", err)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// Close stops the server and removes its files.
func (c *Cluster) Close() error { return c.watchdog.release() }

// Dir is where all files of the cluster are, and the log.
func (c *Cluster) Dir() string { return c.dir }

// Log returns the log of the server.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(c.logFile())
	return string(text)
}

// Database makes an empty database and returns its URL. It stays as long as
// the cluster: to drop it would wait for open connections.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name, err := c.createDatabase()
	if err != nil {
		t.Fatalf("create a database: %v", err)
	}
	return c.URL(name)
}

// createDatabase creates a database whose collation differs from byte order, as
// most do. Tests fail for a store that relies on the collation.
func (c *Cluster) createDatabase() (name string, err error) {
	name = c.newName()
	sql := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'"
	if c.icu {
		sql += " LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
	}
	return name, c.exec("postgres", sql)
}

// Schema makes an empty schema, in a database with others, and returns the URL
// that leads there. It takes a tenth of the time of a database, for tests that
// need many and look at nothing beyond their own tables.
func (c *Cluster) Schema(t testing.TB) string {
	t.Helper()
	database, err := c.schemaDatabase()
	if err != nil {
		t.Fatalf("create the database of schemas: %v", err)
	}
	name := c.newName()
	if err := c.exec(database, "CREATE SCHEMA "+name); err != nil {
		t.Fatalf("create a schema: %v", err)
	}
	return c.URL(database) + "&search_path=" + name // every URL has options
}

func (c *Cluster) schemaDatabase() (string, error) {
	c.schemasOnce.Do(func() { c.schemas, c.schemasErr = c.createDatabase() })
	return c.schemas, c.schemasErr
}

// newName returns a name that no other process uses, either.
func (c *Cluster) newName() string { return "test" + strings.ToLower(rand.Text()) }

func (c *Cluster) exec(database, sql string) error {
	return c.connect(database, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (c *Cluster) connect(database string, fn func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return err
	}
	return errors.Join(fn(ctx, conn), conn.Close(ctx))
}

// URL returns the URL of an existing database. It uses TCP where the cluster
// listens on it, so that a proxy can be put between.
func (c *Cluster) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	if c.tcp {
		u.User = url.UserPassword(role, c.password)
		u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port))
		u.RawQuery = "sslmode=disable"
		return u.String()
	}
	u.RawQuery = url.Values{"host": {c.dir}, "port": {strconv.Itoa(c.port)}}.Encode()
	return u.String()
}
