package main

import (
	"context"
	"crypto/rand"
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

	"github.com/jackc/pgx/v5"
)

// cluster is a PostgreSQL of this run, with the settings that initdb gives it.
type cluster struct {
	dir      string              // holds password, log and data
	owner    *syscall.Credential // PostgreSQL refuses to run as root; nil for the user of this process
	url      string              // up to the name of the database
	existing map[string]bool     // databases
}

// database returns the URL of a database. The database is made when it is asked for first, and the cluster before.
func (b *bench) database(ctx context.Context, name string) (url string, err error) {
	if b.postgres == nil {
		fmt.Println("  starting PostgreSQL")
		if b.postgres, err = startCluster(ctx, b.work); err != nil {
			return "", fmt.Errorf("start PostgreSQL: %w", err)
		}
	}
	c, name := b.postgres, strings.ReplaceAll(name, " ", "-")
	url = c.url + name + "?sslmode=disable"
	if c.existing[name] {
		return url, nil
	}
	conn, err := pgx.Connect(ctx, c.url+"postgres?sslmode=disable")
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	c.existing[name] = err == nil
	return url, errors.Join(err, conn.Close(ctx))
}

// startCluster makes a cluster on the disk that everything else is measured on.
func startCluster(ctx context.Context, work string) (*cluster, error) {
	c := &cluster{dir: filepath.Join(work, "cluster"), existing: map[string]bool{}}
	secret, password := filepath.Join(c.dir, "password"), rand.Text()
	if err := errors.Join(os.Mkdir(c.dir, 0o700), os.WriteFile(secret, []byte(password), 0o600)); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if err := c.giveToPostgres(work, secret); err != nil {
			return nil, fmt.Errorf("as root, PostgreSQL is run by its own user: %w", err)
		}
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	c.url = fmt.Sprintf("postgres://bench:%s@%s/", password, addr)
	if err := c.pgCtl(ctx, "initdb", "-o", "-U bench --pwfile password --auth scram-sha-256 --encoding UTF8 --locale C"); err != nil {
		return nil, err
	}
	return c, c.pgCtl(ctx, "start", "-w", "-l", "log", "-o", "-c unix_socket_directories= -c listen_addresses=127.0.0.1 -c port="+port)
}

// giveToPostgres gives the folder to PostgreSQL's user, who must be able to get there.
func (c *cluster) giveToPostgres(work, secret string) error {
	u, err := osuser.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	gid, errGroup := strconv.Atoi(u.Gid)
	c.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}                  //nolint:gosec // ids are small
	return errors.Join(err, errGroup, os.Chmod(workDir, 0o711), os.Chmod(work, 0o711), //nolint:gosec // to be passed through
		os.Chown(c.dir, uid, gid), os.Chown(secret, uid, gid))
}

// pgCtl runs pg_ctl. On Debian it is not in the path, but in a folder for each version.
func (c *cluster) pgCtl(ctx context.Context, args ...string) error {
	program, err := exec.LookPath("pg_ctl")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
		if len(found) == 0 {
			return fmt.Errorf("%w; PostgreSQL is needed (on Debian: apt-get install postgresql)", err)
		}
		program = slices.Max(found)
	}
	cmd := exec.CommandContext(ctx, program, append(args, "-D", filepath.Join(c.dir, "data"))...) //nolint:gosec // found above
	cmd.Dir, cmd.SysProcAttr = c.dir, &syscall.SysProcAttr{Credential: c.owner}
	if err := cmd.Run(); err != nil { // its output is not read, because PostgreSQL keeps it open
		text, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		return fmt.Errorf("pg_ctl %s: %w\n%s", args[0], err, text)
	}
	return nil
}
