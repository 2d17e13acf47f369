package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/rest"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
)

func serveCommand(streams Streams) *cli.Command {
	var c config
	return &cli.Command{
		Name:         "serve",
		Usage:        "serve the forms of a directory of pages, or of a live wiki",
		Flags:        c.flags(),
		ArgValidator: refuseArguments,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := c.check(cmd); err != nil {
				return err
			}
			lines := &server.LogBuffer{W: streams.Err}
			defer lines.Flush()
			log, err := newLogger(lines, c.logFormat, c.logLevel)
			if err != nil {
				return err
			}
			warnOfVariables(cmd, log)
			// A log that is closed, such as a pipe to a program that has ended, is no
			// reason to end without finishing what is under way.
			signal.Ignore(syscall.SIGPIPE)
			ctx, stop := untilSignal(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = serve(ctx, &c, log)
			if errors.Is(err, service.ErrOtherKey) || errors.Is(err, store.ErrSchemaVersion) {
				err = &configError{err, false}
			}
			if err != nil && c.logFormat == "json" {
				log.Error("the server failed", "error", advise(err))
				err = errors.Join(errFailed, err)
			}
			return err
		},
	}
}

func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level %q: use debug, info, warn or error", level)
	}
	opts := slog.HandlerOptions{Level: least}
	w = server.LineEscaper{W: w}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &opts)), nil
	case "json":
		opts.ReplaceAttr = inSeconds
		return slog.New(slog.NewJSONHandler(w, &opts)), nil
	default:
		return nil, usagef("--log-format %q: use text or json", format)
	}
}

// inSeconds writes durations in JSON as seconds. Slog would write nanoseconds.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// anonymousKeyFile is the name, within the data directory, of the key that
// holds anonymous submitters to one submission each.
const anonymousKeyFile = "anonymous.key"

// gcBallast is memory that is never touched, so it takes up no room. Only a few megabytes
// live on the heap. Without the ballast, garbage is collected hundreds of times a second
// under load, which adds a tenth to the processor time of a create.
const gcBallast = 16 << 20

// serve puts the parts together and runs until ctx ends.
func serve(ctx context.Context, c *config, log *slog.Logger) (err error) {
	ballast := make([]byte, gcBallast)
	defer runtime.KeepAlive(ballast)
	hangUps, stopHangUps := catchHangUps()
	defer stopHangUps()
	source, users, err := openPages(c, log)
	if err != nil {
		return err
	}
	listeners, err := openListeners(c, log)
	if err != nil {
		return err
	}
	if _, err := configured(c, c.checkFiles()); err != nil {
		return err
	}
	store, key, err := openServed(ctx, c, log)
	if err != nil {
		return err
	}
	if wiki, ok := source.(*pages.Wiki); ok {
		wiki.Memory = store
	}
	var tasks sync.WaitGroup
	defer func() { err = errors.Join(err, closeServed(store, &tasks)) }()
	svc := service.New(service.Options{
		Pages: source, Store: store, Files: store, AnonymousKey: key, Now: time.Now, Zone: c.zone,
		MaxSubmission: c.maxBody, MaxFile: c.maxFile, Events: listeners.Events,
		Authors: c.authors, Markup: &c.markup, Log: log,
	})
	backend := request.NewBackend(request.Options{
		Service: svc, Auth: users, Logger: log, MaxBody: c.maxBody, BasePath: c.base,
	})
	// Where a proxy signs people in, there may be sessions of an earlier time. They expire.
	passwords, _ := users.(session.Authenticator)
	sessions := session.New(session.Options{Store: store, Users: passwords, OwnerKey: key, Logger: log})
	site := newSite(c, backend, sessions, key)
	opts := c.server
	opts.Logger, opts.Handler = log, routes(c.base, rest.New(backend), site)
	opts.Ready = func(ctx context.Context) error { return errors.Join(svc.Ready(ctx), users.Ready(ctx)) }
	if c.userHeader != "" {
		opts.ProxyHeaders = strings.Fields(c.userHeader + " " + c.groupsHeader) // the second may be ""
		log.Info("users are whom a trusted proxy names", "headers", opts.ProxyHeaders, "proxies", opts.TrustedProxies)
	}
	if c.accessLog && log.Enabled(ctx, slog.LevelInfo) {
		opts.AccessLog = log
	}
	if c.metrics {
		opts.Metrics = server.NewMetrics()
		registerStore(opts.Metrics.Registry(), store)
		thisBuild().register(opts.Metrics.Registry())
	}
	srv, err := server.New(opts) //nolint:contextcheck // requests must outlive ctx: they are finished in grace
	if err != nil {
		return err
	}
	if srv.Exposed() {
		log.Warn(clearTextWarning, "address", srv.Addr())
	}
	warnOfAuthors(ctx, c, source, log)
	var counts pages.Counts // of a live wiki, nothing is known at the start
	if directory, ok := source.(*pages.Directory); ok {
		counts = directory.Counts()
	}
	log.Info("serving", "url", srv.URL()+c.base, "version", thisBuild().Version, "store", c.at.String(),
		"pages", counts.Pages, "forms", counts.Forms, "broken", counts.Broken)
	notify(log, "READY=1\nSTATUS=Serving "+srv.URL()+c.base)
	defer context.AfterFunc(ctx, func() { notify(log, "STOPPING=1\nSTATUS=Finishing requests") })()
	reload := func(ctx context.Context) {
		reloadOn(ctx, hangUps, log, users.Reload, source.Reload, srv.Reload, listeners.Reload)
	}
	return runWith(ctx, &tasks, srv.Run, users.Watch, source.Run, sessions.Run, listeners.Watch,
		newDelivery(c, store, svc, listeners, opts.Metrics, log), reload,
		func(ctx context.Context) { svc.RunSweeps(ctx, c.sweepInterval, log) })
}

// checkFiles reads the other files, before a store is made.
func (c *config) checkFiles() (err error) {
	c.anonymousKey = cmp.Or(c.anonymousKey, filepath.Join(c.at.dir, anonymousKeyFile))
	c.web.BrandCSS, err = readBrandCSS(c.brandCSS)
	return cmp.Or(err, c.server.CheckCertificate(), service.CheckAnonymousKey(c.anonymousKey))
}

// openServed opens the store with the key that belongs to it.
func openServed(ctx context.Context, c *config, log *slog.Logger) (s store.Engine, key []byte, err error) {
	c.database.Log = log
	if s, err = c.at.open(ctx, c.database, 0); err != nil {
		return nil, nil, err
	}
	if c.at.dir != "" { // beside a database elsewhere, it holds the key alone
		if err = durable.MkdirAll(c.at.dir); err != nil {
			err = fmt.Errorf("create data directory: %w", err)
		}
	}
	if err == nil {
		key, err = service.LoadAnonymousKey(ctx, s, c.anonymousKey, c.newAnonymousKey)
	}
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return s, key, err
}

// closeLimit is what is left of the ten seconds within which a server ends.
const closeLimit = time.Second

// closeServed closes a store when the tasks that use it have ended. A PostgreSQL that does
// not answer is not waited for: what was acknowledged is committed there.
func closeServed(s store.Engine, tasks *sync.WaitGroup) error {
	closed := make(chan error, 1)
	go func() {
		tasks.Wait()
		closed <- s.Close()
	}()
	var limit <-chan time.Time
	if _, remote := s.(*postgres.Store); remote {
		limit = time.After(closeLimit)
	}
	select {
	case err := <-closed:
		return err
	case <-limit:
		return nil
	}
}

// registerStore publishes what an operator has to watch. Past the limit of connections,
// requests wait, and fail in the end. The write-ahead log grows for as long as checkpoints fail.
func registerStore(registry *prometheus.Registry, engine store.Engine) {
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	switch s := engine.(type) {
	case *postgres.Store:
		gauge("formulary_database_connections_used", "Connections to the database that are in use.", s.UsedConnections)
		gauge("formulary_database_connections_limit", "Connections to the database that may be in use.", s.MaxConnections)
	case *sqlite.Store:
		gauge("formulary_wal_bytes", "Bytes of SQLite's write-ahead log that are in use.", s.WALBytes)
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "formulary_checkpoint_failures_total", Help: "Checkpoints of SQLite's write-ahead log that failed.",
		}, s.FailedCheckpoints))
	}
}

// runWith runs main with tasks beside it. When main has ended, they are told to end.
func runWith(
	ctx context.Context, tasks *sync.WaitGroup, main func(context.Context) error, beside ...func(context.Context),
) error {
	taskCtx, stop := context.WithCancel(ctx)
	defer stop()
	for _, task := range beside {
		tasks.Go(func() { task(taskCtx) })
	}
	return main(ctx)
}
