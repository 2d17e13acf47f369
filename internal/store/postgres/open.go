// Package postgres implements the store contract on PostgreSQL and databases
// that are compatible with it. Many processes may share one database.
//
// Concurrent creates are stored in batches, one statement each. Every other
// operation is a statement or a short transaction of its own, on a connection
// from a small pool.
package postgres

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formulary/formulary/internal/limit"
	"github.com/formulary/formulary/internal/store/engine"
)

// Defaults of Options.
const (
	// DefaultMaxConns leaves room for several replicas within PostgreSQL's
	// default limit of 100 connections.
	DefaultMaxConns = 16
	// DefaultStatementTimeout is far more than any statement takes: all of
	// them find their rows by a key.
	DefaultStatementTimeout = 10 * time.Second
	// DefaultConnectWait allows for a database that starts at the same time.
	DefaultConnectWait = 15 * time.Second
)

const (
	// connectTimeout bounds one try to connect to one host.
	connectTimeout = 5 * time.Second
	// lockTimeout is shorter than the statement timeout, so that the error
	// names the lock as the cause.
	lockTimeout = 5 * time.Second
	// idleTimeout ends transactions of clients that vanished. Our own are idle
	// only while a merge runs, which is quick.
	idleTimeout = 30 * time.Second
	// readBuffer is the size of a connection's read buffer. With the driver's
	// default of 8 KB, a list takes one system call per 8 KB.
	readBuffer = 64 << 10
)

// Options configure Open.
type Options struct {
	// URL is postgres://user:password@host:port/database?option=value. It may
	// name several hosts; target_session_attrs=read-write selects the primary.
	URL string
	// MaxConns bounds the connections of this process.
	MaxConns int
	// StatementTimeout bounds one statement.
	StatementTimeout time.Duration
	// ConnectWait is how long Open waits for a database that can't be reached yet.
	ConnectWait time.Duration
	// MustExist makes Open fail if the database holds no store, or one that
	// needs a migration.
	MustExist bool
	// ReadOnly is for a store that is not to be changed: methods that would do so fail.
	ReadOnly bool
	// Log receives a warning if Open has to wait, and a line per migration.
	Log *slog.Logger
}

// Store implements store.Engine.
type Store struct {
	*engine.Files
	engine.Common
	engine.Definitions

	pool             *pgxpool.Pool
	writer           *writer
	alone            *limit.Limiter
	settled          settled // of the ids of submissions
	statementTimeout time.Duration
	closed           atomic.Bool
	close            func()
}

// Open opens the store in an existing database. It creates or migrates the
// tables as needed.
func Open(ctx context.Context, o Options) (*Store, error) {
	o.MaxConns = cmp.Or(o.MaxConns, DefaultMaxConns)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, DefaultStatementTimeout)
	o.ConnectWait = cmp.Or(o.ConnectWait, DefaultConnectWait)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	config, err := configure(o)
	if err != nil {
		return nil, err
	}
	s := &Store{statementTimeout: o.StatementTimeout, alone: newAlone(o)}
	s.Definitions = engine.Definitions{DB: database{s}, SQLOfSubmission: sqlDefinition, SQLUnused: sqlUnused}
	setUp := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		s.ForgetDefinitions() // it may lead to a standby that was behind, or to a database that was restored
		return setUp(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := prepareDatabase(ctx, pool, o); err != nil {
		pool.Close()
		c := config.ConnConfig // of which the credentials must not be shown
		return nil, fmt.Errorf("open database %q at %s port %d: %w", c.Database, c.Host, c.Port, err)
	}
	s.pool = pool
	s.settled.read, s.settled.turn = s.readSettled, make(chan struct{}, 1)
	s.Common = engine.Common{
		Database: database{s}, SQLLatest: sqlLatest, SQLCountNamed: sqlCountNamed,
		SQLCountForms: sqlCountForms,
	}
	s.writer = startWriter(s, workers) //nolint:contextcheck // it outlives the call of Open
	s.Files = engine.NewFiles(database{s}, o.Log)
	if !o.ReadOnly {
		s.StartSweeping() //nolint:contextcheck // it outlives the call of Open
	}
	s.close = sync.OnceFunc(func() {
		s.closed.Store(true)
		if !o.ReadOnly {
			s.StopSweeping()
		}
		s.writer.close()
		pool.Close() // waits for all connections in use
	})
	return s, nil
}

// prepareDatabase prepares the schema. It waits for a database that can't be reached yet:
// a server may be started before it.
func prepareDatabase(ctx context.Context, pool *pgxpool.Pool, options Options) error {
	deadline := time.Now().Add(options.ConnectWait)
	for logged := false; ; {
		conn, err := pool.Acquire(ctx)
		if err == nil {
			defer conn.Release()
			return prepareSchema(ctx, conn.Conn(), options)
		}
		// Not if the server refused the user, the password or the database's name.
		retry := serverCode(err) == "" || isUnavailable(serverCode(err))
		if ctx.Err() != nil || !retry || time.Now().After(deadline) {
			return err
		}
		if !logged {
			options.Log.Warn("the database can't be reached yet", "error", err, "wait", options.ConnectWait)
			logged = true
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func configure(options Options) (*pgxpool.Config, error) {
	config, err := parseURL(options.URL)
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	if c.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return nil, errors.New("the database URL asks for the simple protocol, which is not supported: " +
			"leave out default_query_exec_mode")
	}
	if c.ConnectTimeout == 0 { // the driver would wait forever for a host that accepts the connection and never answers
		c.ConnectTimeout = connectTimeout
	}
	c.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "formulary"
	}
	config.MaxConns = int32(min(options.MaxConns, 1<<15)) //nolint:gosec // min bounds it
	config.MinConns = 0
	config.MaxConnLifetime = time.Hour // so that connections follow changes of DNS
	config.MaxConnLifetimeJitter = 10 * time.Minute
	config.MaxConnIdleTime = 5 * time.Minute
	config.HealthCheckPeriod = 30 * time.Second
	config.PingTimeout = 2 * time.Second
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout) // the driver's connect timeout does not cover this call
		defer cancel()
		return setUp(ctx, conn, options, c.RuntimeParams)
	}
	return config, nil
}

// parseURL returns errors that never contain the password. The driver redacts
// it only where it can, so the error comes from a second parse without it.
func parseURL(text string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(text)
	if err == nil {
		return config, nil
	}
	const what = "the database URL can't be read"
	u, urlErr := url.Parse(text)
	if urlErr != nil {
		return nil, errors.New(what + ": it must look like postgres://user:password@host:port/database, " +
			"with special characters percent-encoded")
	}
	u.User = nil
	query := u.Query()
	query.Del("password")
	query.Del("sslpassword")
	u.RawQuery = query.Encode()
	if _, err = pgxpool.ParseConfig(u.String()); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return nil, errors.New(what)
}

// setUp sets what a new connection needs, except what the URL sets. It uses
// set_config because PgBouncer refuses most settings as startup parameters.
//
// An acknowledged commit must be on disk. So synchronous_commit=off becomes on;
// other values, which may include standbys, are not changed.
//
// Each statement of a transaction sees what was committed before it, whatever the default of
// the database is: what counts the submissions of a form first waits for its lock.
//
// The server would plan lists for each execution anew, because it can't know
// their limit. That takes longer than to read a page of them, and leads to the
// same plan: see TestPlans.
func setUp(ctx context.Context, conn *pgx.Conn, options Options, params map[string]string) error {
	settings := map[string]string{
		"statement_timeout":                   milliseconds(options.StatementTimeout),
		"lock_timeout":                        milliseconds(min(lockTimeout, options.StatementTimeout)),
		"idle_in_transaction_session_timeout": milliseconds(idleTimeout),
		"plan_cache_mode":                     "force_generic_plan",
	}
	if options.ReadOnly {
		settings["default_transaction_read_only"] = "on"
	}
	columns, args := []string{
		`set_config('synchronous_commit', CASE current_setting('synchronous_commit')
			WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`,
		`set_config('default_transaction_isolation', 'read committed', false)`,
	}, []any{pgx.QueryExecModeExec}
	for name, value := range settings {
		if _, set := params[name]; !set {
			args = append(args, value)
			columns = append(columns, fmt.Sprintf("set_config('%s', $%d, false)", name, len(args)-1))
		}
	}
	_, err := conn.Exec(ctx, `SELECT `+strings.Join(columns, ", "), args...)
	return engine.Wrap(err, "set up the connection")
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Ping implements store.Store. It fails on a read-only server, too.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, checkPrimary)
}

func checkPrimary(ctx context.Context, conn *pgx.Conn) error {
	var readOnly string
	err := conn.QueryRow(ctx, `SHOW transaction_read_only`).Scan(&readOnly)
	if readOnly == "on" {
		err = &pgconn.PgError{Severity: "ERROR", Code: codeReadOnly, Message: "the server is a standby, or read-only"}
	}
	return engine.Wrap(err, "ping")
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.close()
	return nil
}
