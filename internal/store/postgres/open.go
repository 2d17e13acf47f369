// Package postgres is the engine of the store contract for PostgreSQL, and for
// databases that speak its language. Many processes may share one database.
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
	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/store"
)

// What Options leave open.
const (
	// DefaultMaxConns leaves room for some replicas beside each other under
	// PostgreSQL's own default of 100 connections.
	DefaultMaxConns = 16
	// DefaultStatementTimeout is far more than any statement takes: all of
	// them find their rows by a key.
	DefaultStatementTimeout = 10 * time.Second
	// DefaultConnectWait is for a database that is started together with us.
	DefaultConnectWait = 15 * time.Second
)

const (
	// connectTimeout bounds one try to connect to one host.
	connectTimeout = 5 * time.Second
	// lockTimeout is shorter than the statement's, so that who waits for a
	// lock is told so.
	lockTimeout = 5 * time.Second
	// idleTimeout ends a transaction whose process is gone without a word.
	// Between two statements there is a merge at most, which is quick.
	idleTimeout = 30 * time.Second
	// readBuffer is what a connection reads at a time. The driver's own 8 KB
	// take a wake-up each where a list is read.
	readBuffer = 64 << 10
)

// Options say where the database is, and how to treat it.
type Options struct {
	// URL is postgres://user:password@host:port/database?option=value. It may
	// name many hosts; target_session_attrs=read-write chooses the primary.
	URL string
	// MaxConns bounds the connections of this process.
	MaxConns int
	// StatementTimeout bounds one statement.
	StatementTimeout time.Duration
	// ConnectWait is how long Open waits for a database that can't be reached yet.
	ConnectWait time.Duration
	// MustExist refuses a database that is not a store already, or that would
	// have to be migrated, for those who only want to read.
	MustExist bool
	// Log is told of that wait, and of migrations.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.MaxConns = cmp.Or(o.MaxConns, DefaultMaxConns)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, DefaultStatementTimeout)
	o.ConnectWait = cmp.Or(o.ConnectWait, DefaultConnectWait)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Store implements store.Store, store.Archive and store.Settings.
type Store struct {
	pool             *pgxpool.Pool
	writer           *writer
	statementTimeout time.Duration
	closed           atomic.Bool
	close            func()
	pings            singleflight.Group
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Archive  = (*Store)(nil)
	_ store.Settings = (*Store)(nil)
)

// Open opens the store in a database, which must be there, and migrates it
// where needed.
func Open(ctx context.Context, options Options) (*Store, error) {
	options = options.withDefaults()
	config, err := configure(options)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	s := &Store{pool: pool, statementTimeout: options.StatementTimeout}
	if err := s.prepare(ctx, options); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open database %s: %w", describe(config.ConnConfig), err)
	}
	s.writer = startWriter(s, workers)
	s.close = sync.OnceFunc(func() {
		s.closed.Store(true)
		s.writer.close()
		pool.Close() // which waits for every connection that is in use
	})
	return s, nil
}

// describe is where a database is, without how to get in.
func describe(c *pgx.ConnConfig) string {
	return fmt.Sprintf("%s at %s port %d", strconv.Quote(c.Database), c.Host, c.Port)
}

// prepare waits for the database and brings its schema up to date.
func (s *Store) prepare(ctx context.Context, options Options) error {
	if err := s.await(ctx, options); err != nil {
		return err
	}
	config := s.pool.Config().ConnConfig
	return migrate(ctx, config, options)
}

// await returns when the database can be reached. A server may well be started
// before its database; but one whose database never comes must say so.
func (s *Store) await(ctx context.Context, options Options) error {
	deadline := time.Now().Add(options.ConnectWait)
	for told := false; ; {
		conn, err := s.pool.Acquire(ctx)
		if err == nil {
			defer conn.Release()
			return checkEncoding(conn.Conn())
		}
		if ctx.Err() != nil || !mayCome(err) || time.Now().After(deadline) {
			return err
		}
		if !told {
			options.Log.Warn("the database can't be reached yet", "error", err, "wait", options.ConnectWait)
			told = true
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// mayCome tells whether the database may yet let us in: not when it answered
// that the user, the password or the database itself is wrong.
func mayCome(err error) bool {
	code := serverCode(err)
	return code == "" || isUnavailable(code)
}

// checkEncoding refuses a database that could not store every text, or would
// take bytes for characters.
func checkEncoding(conn *pgx.Conn) error {
	if encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding != "" && encoding != "UTF8" {
		return fmt.Errorf("its encoding is %s: create it with ENCODING 'UTF8'", encoding)
	}
	return nil
}

func configure(options Options) (*pgxpool.Config, error) {
	config, err := parseURL(options.URL)
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	if c.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return nil, errors.New("the database URL asks for the simple protocol, which is not supported: leave out default_query_exec_mode")
	}
	if c.ConnectTimeout == 0 { // the driver would wait for ever for a host that takes connections and says nothing
		c.ConnectTimeout = connectTimeout
	}
	c.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "formulary"
	}
	config.MaxConns = int32(min(options.MaxConns, 1<<15)) //nolint:gosec // it fits by then
	config.MinConns = 0
	config.MaxConnLifetime = time.Hour // so that connections move on to where a name leads by now
	config.MaxConnLifetimeJitter = 10 * time.Minute
	config.MaxConnIdleTime = 5 * time.Minute
	config.HealthCheckPeriod = 30 * time.Second
	config.PingTimeout = 2 * time.Second
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout) // the driver's own ends before this
		defer cancel()
		return setUp(ctx, conn, options, c.RuntimeParams)
	}
	return config, nil
}

// parseURL never shows the password in its error: the driver's own error only
// tries not to, so it is asked again without one.
func parseURL(text string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return nil, errors.New("the database URL must begin with postgres://")
	}
	config, err := pgxpool.ParseConfig(text)
	if err == nil {
		return config, nil
	}
	const what = "the database URL can't be read"
	u, urlErr := url.Parse(text)
	if urlErr != nil {
		return nil, errors.New(what + ": it must look like postgres://user:password@host:port/database, with special characters percent-encoded")
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

// setUp sets a new connection's limits. Not as parameters of the connection,
// which PgBouncer would refuse. What the URL sets is left as it is.
//
// A commit that is acknowledged must be on the disk, so a server's default of
// synchronous_commit=off is turned on; what waits for standbys, too, stays.
func setUp(ctx context.Context, conn *pgx.Conn, options Options, params map[string]string) error {
	limits := map[string]time.Duration{
		"statement_timeout":                   options.StatementTimeout,
		"lock_timeout":                        min(lockTimeout, options.StatementTimeout),
		"idle_in_transaction_session_timeout": idleTimeout,
	}
	columns, args := []string{`set_config('synchronous_commit', CASE current_setting('synchronous_commit')
		WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`}, []any{pgx.QueryExecModeExec}
	for name, limit := range limits {
		if _, set := params[name]; !set {
			args = append(args, strconv.FormatInt(limit.Milliseconds(), 10))
			columns = append(columns, fmt.Sprintf("set_config('%s', $%d, false)", name, len(args)-1))
		}
	}
	if _, err := conn.Exec(ctx, `SELECT `+strings.Join(columns, ", "), args...); err != nil {
		return fmt.Errorf("set the connection's limits: %w", err)
	}
	return nil
}

// Ping implements store.Store. A server that only reads can't do its work, so
// that counts as unreachable. Who asks while one is under way shares it, so
// that they don't pile up.
func (s *Store) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	done := s.pings.DoChan("", func() (any, error) { //nolint:contextcheck // it is shared, so it must outlive who asked first
		return nil, s.do(context.Background(), ping)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	}
}

func ping(ctx context.Context, conn *pgx.Conn, _ bool) error {
	var readOnly string
	if err := conn.QueryRow(ctx, `SHOW transaction_read_only`).Scan(&readOnly); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	if readOnly == "on" {
		return &pgconn.PgError{Severity: "ERROR", Code: codeReadOnly, Message: "the server is a standby, or read-only"}
	}
	return nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.close()
	return nil
}
