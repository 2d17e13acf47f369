package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata" // for --timezone where the system has no zones, such as in a container

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/markup"
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
	return &cli.Command{
		Name:  "serve",
		Usage: "serve the forms of a directory of pages, or of a live wiki",
		Flags: slices.Concat([]cli.Flag{
			valueFlag("listen", "127.0.0.1:8080", "address to listen on"),
			valueFlag("base-path", "/", "path that pages, API and /embed.js are below, such as /forms on the host of a wiki; "+
				"/healthz, /readyz and /metrics stay at the root"),
			&cli.StringFlag{
				Name: "pages", Required: true, Usage: "directory of wiki pages (" + markup.Extensions + "), or a live wiki: mediawiki+URL of its api.php, " +
					"confluence+URL or confluence-cloud+URL",
				Sources: env("pages"),
			},
		}, signInFlags(), wikiFlags(), storeFlags(), []cli.Flag{
			&cli.StringFlag{
				Name: "anonymous-key", Usage: "file with the key that anonymous submitters are recognised by, the same for all servers on one database; made if it is missing",
				DefaultText: anonymousKeyFile + " in --data", Sources: env("anonymous-key"),
			},
			boolFlag("new-anonymous-key", "accept a new key because the old one is lost: everybody may submit once more to anonymous forms"),
			textFlag("tls-cert", "certificate chain (PEM); read again when it changes"),
			textFlag("tls-key", "private key of the certificate (PEM)"),
			listFlag("trusted-proxies", "addresses or prefixes of proxies whose X-Forwarded-For, X-Forwarded-Proto and --user-header are trusted"),
			valueFlag("timezone", "UTC", "zone in which days begin: those of opens, closes, today, filters and summaries by day; "+
				"a name such as Europe/Berlin, the same for all servers on one database"),
			&cli.Int64Flag{Name: "max-body", Value: request.DefaultMaxBody, Usage: "largest request body, and largest submission, in bytes", Sources: env("max-body")},
			&cli.Int64Flag{Name: "max-file", Value: service.DefaultMaxFile, Usage: "largest file of a submission, in bytes", Sources: env("max-file")},
			&cli.IntFlag{Name: "max-connections", Value: server.DefaultMaxConnections, Usage: "most open connections; further ones wait", Sources: env("max-connections")},
			&cli.BoolFlag{Name: "access-log", Value: true, Usage: "log each request; on by default, --access-log=false switches it off", Sources: env("access-log")},
			valueFlag("log-format", "text", "text or json, on standard error; durations in JSON are in seconds"),
			valueFlag("log-level", "info", "debug, info, warn or error"),
			boolFlag("metrics", "serve Prometheus metrics at /metrics, without credentials"),
		}, eventFlags(), webFlags()),
		ArgValidator: refuseArguments,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			settings, err := readServeFlags(cmd)
			if err != nil {
				return err
			}
			log, err := newLogger(streams.Err, cmd.String("log-format"), cmd.String("log-level"))
			if err != nil {
				return err
			}
			// A log that is closed, such as a pipe to a program that has ended, is no
			// reason to end without finishing what is under way.
			signal.Ignore(syscall.SIGPIPE)
			ctx, stop := untilSignal(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := advise(serve(ctx, cmd, settings, log)); err != nil {
				if cmd.String("log-format") == "json" {
					log.Error("the server failed", "error", err)
				} else {
					complain(streams.Err, err)
				}
				if _, ok := errors.AsType[*configError](err); ok {
					return errMisconfigured
				}
				return errFailed
			}
			return nil
		},
	}
}

// serveSettings are the flags of serve that are read into more than a text or a number.
type serveSettings struct {
	at      location
	zone    *time.Location
	base    string // what paths begin with
	origins []string
	proxies []netip.Prefix
	mail    markup.Mail // which addresses of forms get mail
}

// readServeFlags checks all flags.
func readServeFlags(cmd *cli.Command) (s serveSettings, err error) {
	switch {
	case cmd.String("listen") == "": // it would mean every interface, and any port
		return s, usagef("--listen is empty: use an address such as 127.0.0.1:8080, or :8080 for all interfaces")
	case cmd.Int64("max-body") < 1:
		return s, usagef("--max-body %d: use 1 or more", cmd.Int64("max-body"))
	case cmd.Int64("max-file") < 1:
		return s, usagef("--max-file %d: use 1 or more", cmd.Int64("max-file"))
	case cmd.Int("max-connections") < 1:
		return s, usagef("--max-connections %d: use 1 or more", cmd.Int("max-connections"))
	case (cmd.String("tls-cert") == "") != (cmd.String("tls-key") == ""):
		return s, usagef("--tls-cert and --tls-key go together: give both or neither")
	case cmd.Int("database-connections") < 2:
		return s, usagef("--database-connections %d: use 2 or more", cmd.Int("database-connections"))
	case cmd.Duration("database-timeout") < time.Second:
		return s, usagef("--database-timeout %v: use 1s or more", cmd.Duration("database-timeout"))
	case cmd.String("data") == "" && cmd.String("database") != "" && cmd.String("anonymous-key") == "":
		return s, usagef("--database needs --anonymous-key FILE: a secret that all servers on the database share, made at the first start")
	}
	var baseErr, proxiesErr, mailErr, originsErr, zoneErr, storeErr error
	s.base, baseErr = parseBasePath(cmd.String("base-path"))
	s.proxies, proxiesErr = parsePrefixes(cmd.StringSlice("trusted-proxies"))
	s.origins, originsErr = parseOrigins(cmd.StringSlice("frame-ancestors"))
	s.zone, zoneErr = parseZone(cmd.String("timezone"))
	s.mail.Domains, mailErr = mailDomains(cmd)
	s.mail.Off = cmd.String("smtp") == ""
	s.at, storeErr = locate(cmd)
	return s, cmp.Or(baseErr, proxiesErr, checkSignInFlags(cmd, s.proxies), checkWikiFlags(cmd), checkEventFlags(cmd), mailErr,
		originsErr, zoneErr, storeErr)
}

// basePath is made of segments that need no escape in a path or in a cookie's name.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+/?$`)

// maxBasePath bounds --base-path, in bytes.
const maxBasePath = 200

// parseBasePath returns what paths begin with, without a slash at the end: "" for /.
func parseBasePath(text string) (string, error) {
	if text == "/" {
		return "", nil
	}
	base := strings.TrimSuffix(text, "/")
	if !basePath.MatchString(text) || len(text) > maxBasePath || path.Clean(base) != base {
		return "", usagef("--base-path %q: use a path such as /forms, with letters, digits, -, _, . and ~, and at most %d of them", text, maxBasePath)
	}
	return base, nil
}

// parseZone refuses "Local": servers on one database must agree.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, usagef("--timezone %q: there is no such zone; use a name such as UTC or Europe/Berlin", name)
	}
	return zone, nil
}

func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level %q: use debug, info, warn or error", level)
	}
	opts := slog.HandlerOptions{Level: least}
	w = server.EscapeLines(w)
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

func parsePrefixes(list []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, s := range list {
		s = strings.TrimSpace(s)
		prefix, err := netip.ParsePrefix(s)
		if err != nil || prefix.Addr().Is4In6() { // which would match no address
			addr, addrErr := netip.ParseAddr(s)
			if addrErr != nil {
				return nil, usagef("--trusted-proxies %q: use an address or a prefix such as 10.0.0.0/8", s)
			}
			addr = addr.Unmap()
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// anonymousKeyFile is the name, within the data directory, of the key that
// holds anonymous submitters to one submission each.
const anonymousKeyFile = "anonymous.key"

// gcBallast is memory that is allocated and never touched, so that it takes up no
// room. A few megabytes live on the heap: without it, garbage would be collected
// hundreds of times a second under load.
const gcBallast = 16 << 20

// serve puts the parts together and runs until ctx ends.
func serve(ctx context.Context, cmd *cli.Command, settings serveSettings, log *slog.Logger) (err error) {
	ballast := make([]byte, gcBallast)
	defer runtime.KeepAlive(ballast)
	hangUps, stopHangUps := catchHangUps()
	defer stopHangUps()
	source, users, err := openPages(cmd, &settings.mail, log)
	if err != nil {
		return err
	}
	listeners, err := openListeners(cmd, settings.mail.Domains, log)
	if err != nil {
		return err
	}
	store, key, err := openServed(ctx, cmd, settings.at, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeServed(store)) }()
	svc := service.New(service.Options{
		Pages: source, Store: store, Files: store, AnonymousKey: key, Now: time.Now, Zone: settings.zone,
		MaxSubmission: cmd.Int64("max-body"), MaxFile: cmd.Int64("max-file"), Events: listeners.Events,
	})
	backend := request.NewBackend(request.Options{
		Service: svc, Auth: users, Logger: log, MaxBody: cmd.Int64("max-body"), BasePath: settings.base,
	})
	// Where a proxy signs people in, there may be sessions of an earlier time. They expire.
	passwords, _ := users.(session.Authenticator)
	sessions, err := session.New(session.Options{Store: store, Users: passwords, OwnerKey: key, Logger: log})
	if err != nil {
		return err
	}
	site, err := newSite(cmd, settings, backend, sessions, key)
	if err != nil {
		return err
	}
	opts := server.Options{
		Listen: cmd.String("listen"), TLSCert: cmd.String("tls-cert"), TLSKey: cmd.String("tls-key"),
		TrustedProxies: settings.proxies, ProxyHeaders: proxyHeaders(cmd), Logger: log, MaxConnections: cmd.Int("max-connections"),
		Ready:   func(ctx context.Context) error { return errors.Join(svc.Ready(ctx), users.Ready(ctx)) },
		Handler: routes(settings.base, rest.New(backend), site),
	}
	if cmd.Bool("access-log") && log.Enabled(ctx, slog.LevelInfo) {
		opts.AccessLog = log
	}
	if cmd.Bool("metrics") {
		opts.Metrics = server.NewMetrics()
		registerStore(opts.Metrics.Registry(), store)
	}
	srv, err := server.New(opts) //nolint:contextcheck // requests must outlive ctx: they are finished in grace
	if err != nil {
		return err
	}
	if srv.Exposed() {
		log.Warn(clearTextWarning, "address", srv.Addr())
	}
	if headers := proxyHeaders(cmd); len(headers) > 0 {
		log.Info("users are whom a trusted proxy names", "headers", headers, "proxies", settings.proxies)
	}
	var counts pages.Counts // of a live wiki, nothing is known at the start
	if directory, ok := source.(*pages.Directory); ok {
		counts = directory.Counts()
	}
	log.Info("serving", "url", srv.URL()+settings.base, "version", Version(), "store", settings.at.String(),
		"pages", counts.Pages, "forms", counts.Forms, "broken", counts.Broken)
	reload := func(ctx context.Context) {
		reloadOn(ctx, hangUps, log, users.Reload, source.Reload, srv.Reload, listeners.Reload)
	}
	return runWith(ctx, srv.Run, users.Watch, source.Run, sessions.Run, listeners.Watch, newDelivery(cmd, store, listeners, opts.Metrics, log), reload)
}

// openServed opens the store with the key that belongs to it.
func openServed(ctx context.Context, cmd *cli.Command, at location, log *slog.Logger) (_ store.Engine, key []byte, err error) {
	s, err := at.open(ctx, postgres.Options{
		MaxConns: cmd.Int("database-connections"), StatementTimeout: cmd.Duration("database-timeout"), Log: log,
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := refuseUnfinished(ctx, s); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", at, err)
	}
	keyFile := cmd.String("anonymous-key")
	if keyFile == "" {
		if err := durable.MkdirAll(at.dir, 0o700); err != nil { // beside a database elsewhere, it holds the key alone
			return nil, nil, fmt.Errorf("create data directory: %w", err)
		}
		keyFile = filepath.Join(at.dir, anonymousKeyFile)
	}
	key, err = service.LoadAnonymousKey(ctx, s, keyFile, cmd.Bool("new-anonymous-key"))
	if err != nil {
		return nil, nil, err
	}
	return s, key, nil
}

// closeLimit is what is left of the ten seconds within which a server ends.
const closeLimit = 500 * time.Millisecond

// closeServed closes a store. A PostgreSQL that does not answer is not waited
// for: what was acknowledged is committed there.
func closeServed(s store.Engine) error {
	if _, remote := s.(*postgres.Store); !remote {
		return s.Close()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeLimit):
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
		gauge("formulary_database_connections_used", "Connections to the database that are in use.",
			func() float64 { used, _ := s.Connections(); return float64(used) })
		gauge("formulary_database_connections_limit", "Connections to the database that may be in use.",
			func() float64 { _, limit := s.Connections(); return float64(limit) })
	case *sqlite.Store:
		gauge("formulary_wal_bytes", "Bytes of SQLite's write-ahead log that are in use.",
			func() float64 { bytes, _ := s.WAL(); return float64(bytes) })
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "formulary_checkpoint_failures_total", Help: "Checkpoints of SQLite's write-ahead log that failed.",
		}, func() float64 { _, failed := s.WAL(); return float64(failed) }))
	}
}

// runWith runs main with background tasks beside it, and waits for all to end.
func runWith(ctx context.Context, main func(context.Context) error, background ...func(context.Context)) error {
	backgroundCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, task := range background {
		wg.Go(func() { task(backgroundCtx) })
	}
	err := main(ctx)
	stop()
	wg.Wait()
	return err
}
