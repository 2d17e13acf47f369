package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
)

// storeFlags say where submissions are, and how a server treats PostgreSQL.
func (c *config) storeFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("data", &c.at.dir, "directory of the embedded database and of "+anonymousKeyFile+"; made if it is missing"),
		textFlag("database", &c.at.url,
			"PostgreSQL instead of the embedded database: postgres://USER@HOST/NAME "+
				"(best given by the environment: other users of the machine see the command line)"),
		intFlag("database-connections", &c.database.MaxConns, postgres.DefaultMaxConns,
			"with --database: most connections that this process opens"),
		durationFlag("database-timeout", &c.database.StatementTimeout, postgres.DefaultStatementTimeout,
			"with --database: longest time that a statement may take"),
	}
}

// location is where a store is.
type location struct {
	dir string // of the embedded database
	url string // of PostgreSQL, instead
}

// check is for a location that was given by --data and --database.
func (l location) check() error {
	return cmp.Or(
		refuse(l == location{}, "say where submissions are: --data DIR, or --database postgres://…"),
		refuse(l.url != "" && !isPostgres(l.url), "--database: use postgres://USER@HOST/NAME"),
	)
}

func isPostgres(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// parseLocation reads sqlite:DIR or postgres://….
func parseLocation(s string) (location, error) {
	if isPostgres(s) {
		return location{url: s}, nil
	}
	if dir, ok := strings.CutPrefix(s, "sqlite:"); ok && dir != "" {
		return location{dir: strings.TrimPrefix(dir, "//")}, nil
	}
	// What is not understood is not shown either: it may be a URL with a password and a slip in it.
	return location{}, errors.New("use sqlite:DIR, with a data directory, or postgres://USER@HOST/NAME")
}

// parseSource is parseLocation, and takes the name of a data directory, too.
func parseSource(s string) (location, error) {
	if s != "" && !strings.Contains(s, ":") {
		return location{dir: s}, nil
	}
	return parseLocation(s)
}

// String is for people, and tells no password.
func (l location) String() string {
	if l.url == "" {
		return "sqlite:" + l.dir
	}
	u, err := url.Parse(l.url)
	if err != nil {
		return "postgres://…"
	}
	return "postgres://" + u.Host + u.Path
}

// How a store may be opened.
const (
	shared     = 1 << iota // beside a server, to write to it, but no new submissions
	unfinished             // also half a copy, which must not be served, or copied on
)

// open opens a store for this process alone unless how says otherwise.
func (l location) open(ctx context.Context, o postgres.Options, how int) (s store.Engine, err error) {
	if l.url != "" {
		o.URL = l.url
		s, err = postgres.Open(ctx, o)
	} else {
		s, err = sqlite.Open(ctx, l.dir, sqlite.Options{
			Log: o.Log, MustExist: o.MustExist, ReadOnly: o.ReadOnly, Shared: how&shared != 0,
		})
	}
	if err != nil || how&unfinished != 0 {
		return s, err
	}
	mark, err := s.Setting(ctx, store.SettingUnfinishedCopy)
	if err == nil && mark != "" {
		err = errors.New("this store is a copy that was not finished: " +
			"run the same 'formulary migrate' again, which begins anew")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", l, err), s.Close())
	}
	return s, nil
}
