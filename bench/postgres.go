package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a PostgreSQL of this run's own, with the settings that initdb
// gives it: durable, and as large as its makers think fit.
type cluster struct {
	cmd            *exec.Cmd
	addr, password string
	log            string
	exited         chan struct{}
}

const clusterUser = "bench"

// url is where a database of the cluster is.
func (c *cluster) url(name string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", clusterUser, c.password, c.addr, name)
}

// newDatabase makes an empty database, and the cluster if there is none yet.
func (b *bench) newDatabase(ctx context.Context, name string) (url string, err error) {
	if b.postgres == nil {
		if b.postgres, err = b.startCluster(ctx); err != nil {
			return "", fmt.Errorf("start PostgreSQL: %w", err)
		}
	}
	return b.postgres.url(name), execute(ctx, b.postgres.url("postgres"), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
}

// execute runs statements on a connection of their own.
func execute(ctx context.Context, url string, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func (b *bench) startCluster(ctx context.Context) (*cluster, error) {
	fmt.Println("  starting PostgreSQL")
	owner, err := clusterOwner()
	if err != nil {
		return nil, err
	}
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return nil, err
	}
	server, err := postgresProgram("postgres")
	if err != nil {
		return nil, err
	}
	c := &cluster{password: rand.Text(), log: filepath.Join(b.work, "postgres.log"), exited: make(chan struct{})}
	if c.addr, err = freeAddr(ctx); err != nil {
		return nil, err
	}
	dir, err := b.initCluster(ctx, initdb, owner, c.password)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx, owner, server, dir); err != nil {
		return nil, err
	}
	return c, nil
}

// clusterOwner is who PostgreSQL runs as: it refuses to be root.
func clusterOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else
	}
	u, err := osuser.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("as root, PostgreSQL is run by its own user: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGroup := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err, errGroup)
}

// postgresProgram finds a program of PostgreSQL. Debian keeps them out of the
// path, in a folder for each version.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no %s: PostgreSQL is needed (on Debian: apt-get install postgresql)", name)
	}
	return slices.Max(found), nil
}

// initCluster makes the cluster's folder, on the disk that everything else is
// measured on. Its owner must be able to get there.
func (b *bench) initCluster(ctx context.Context, initdb string, owner *syscall.Credential, password string) (string, error) {
	dir, secret := filepath.Join(b.work, "cluster"), filepath.Join(b.work, "cluster-password")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(secret, []byte(password), 0o600)); err != nil {
		return "", err
	}
	if owner != nil {
		err := errors.Join(
			os.Chmod(workDir, 0o711), os.Chmod(b.work, 0o711), //nolint:gosec // to be passed through
			os.Chown(dir, int(owner.Uid), int(owner.Gid)), os.Chown(secret, int(owner.Uid), int(owner.Gid)))
		if err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, initdb, "-D", dir, "-U", clusterUser, "--pwfile", secret, //nolint:gosec // found above
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return dir, nil
}

func (c *cluster) start(ctx context.Context, owner *syscall.Credential, server, dir string) error {
	out, err := os.Create(c.log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	_, port, err := net.SplitHostPort(c.addr)
	if err != nil {
		return err
	}
	c.cmd = exec.CommandContext(ctx, server, "-D", dir, "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1", "-c", "port="+port) //nolint:gosec // found above
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGINT) }
	c.cmd.WaitDelay = time.Minute
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.exited)
	}()
	return c.awaitReady(ctx)
}

func (c *cluster) awaitReady(ctx context.Context) error {
	for begun := time.Now(); ; {
		err := execute(ctx, c.url("postgres"), "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-c.exited:
			text, _ := os.ReadFile(c.log)
			return fmt.Errorf("it ended at once: %s", text)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(begun) > 30*time.Second {
			return errors.Join(err, c.stop())
		}
	}
}

// stop hangs up on whoever is connected and ends the cluster, if there is one.
func (c *cluster) stop() error {
	if c == nil {
		return nil
	}
	_ = c.cmd.Process.Signal(syscall.SIGINT) // it may have ended already
	select {
	case <-c.exited:
		return nil
	case <-time.After(time.Minute):
		return errors.Join(errors.New("PostgreSQL does not end"), c.cmd.Process.Kill())
	}
}

// startOnPostgres starts formulary on a database.
func (b *bench) startOnPostgres(ctx context.Context, name, url string) (*process, error) {
	return b.startBinaryOnPostgres(ctx, b.binary, name, url)
}

func (b *bench) startBinaryOnPostgres(ctx context.Context, binary, name, url string) (*process, error) {
	return start(ctx, b.dataDir(name)+".log", binary,
		b.serverArgs("--database", url, "--anonymous-key", filepath.Join(b.work, "anonymous.key"))...)
}

// buildSingle builds formulary with one difference: a statement stores one
// submission, and every connection may be at work on one. What sharing
// statements is worth can only be told by leaving it out.
func (b *bench) buildSingle(ctx context.Context) (binary string, err error) {
	const file = "../internal/store/postgres/writer.go"
	original, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := string(original)
	for _, edit := range [][2]string{{"maxBatch = 512", "maxBatch = 1"}, {"workers = 2\n", "workers = DefaultMaxConns\n"}} {
		if strings.Count(text, edit[0]) != 1 {
			return "", fmt.Errorf("%s has no line %q to change", file, edit[0])
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	edited, overlay := filepath.Join(b.work, "writer.go"), filepath.Join(b.work, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: edited}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(edited, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	return b.build(ctx, "formulary-single", "..", "./cmd/formulary", "-overlay", overlay)
}
