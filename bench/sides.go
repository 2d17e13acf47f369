package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// side is one of the programs that are compared. Each has stores of its own.
type side struct {
	name  string
	make  func(ctx context.Context, store string, rows int64) error // makes a store with so many submissions
	start func(ctx context.Context, store string) (*process, error)
}

// engine is what Formulary stores its submissions in.
type engine struct {
	name       string
	durability string
	flags      func(b *bench, ctx context.Context, store string) ([]string, error)
}

var (
	sqlite = engine{
		"SQLite", "every create on disk before its answer (WAL, `synchronous=FULL`)",
		func(b *bench, _ context.Context, store string) ([]string, error) {
			return []string{"--data", b.path(store)}, nil
		},
	}
	postgres = engine{
		"PostgreSQL", "every create committed and synced by PostgreSQL before its answer (`synchronous_commit=on`)",
		func(b *bench, ctx context.Context, store string) ([]string, error) {
			url, err := b.database(ctx, store)
			return []string{"--database", url, "--anonymous-key", b.path("anonymous.key")}, err
		},
	}
)

const noWrites = "reads only"

// path names a file or folder of this run.
func (b *bench) path(name string) string { return filepath.Join(b.work, name) }

// formulary is a formulary binary with its default settings. The access log is on by default,
// and goes to a file on the same disk. from are flags for pages and users, by default files.
func (b *bench) formulary(name, binary string, e engine, from ...string) side {
	if len(from) == 0 {
		from = []string{"--pages", "pages", "--users", b.path(usersFile)}
	}
	s := side{name: name}
	s.start = func(ctx context.Context, store string) (*process, error) {
		store += "-" + name
		flags, err := e.flags(b, ctx, store)
		if err != nil {
			return nil, err
		}
		args := slices.Concat([]string{"serve"}, from, flags)
		return start(ctx, formularyProtocol(), b.path(store+".log"), binary, args...)
	}
	s.make = func(ctx context.Context, store string, rows int64) error {
		server, err := s.start(ctx, store)
		if err != nil {
			return err
		}
		return errors.Join(sendAll(ctx, server, server.create, rows), server.stop())
	}
	return s
}

func formularyProtocol() protocol {
	p := protocol{
		hello: getMessage(formPath, basicAuth()), authorization: basicAuth(),
		create: postMessage(submissionPath, basicAuth(), `{"fields":`+fields+`}`, 201),
		read:   getMessage(submissionPath+"/", basicAuth()),
		lists:  func(int64) []string { return []string{submissionPath} },
	}
	p.read.ids = readRows
	return p
}

// bare is this program as a server that does less than Formulary: see serveBare. On PostgreSQL it
// inserts a row per request.
func (b *bench) bare(name string, e engine) side {
	return side{
		name: name,
		make: func(context.Context, string, int64) error { return nil },
		start: func(ctx context.Context, store string) (*process, error) {
			self, err := os.Executable()
			args := []string{bareCommand}
			if err == nil && e.name == postgres.name {
				var url string
				url, err = b.database(ctx, store+"-"+name)
				args = append(args, "--database", url)
			}
			if err != nil {
				return nil, err
			}
			return start(ctx, formularyProtocol(), b.path(store+"-"+name+".log"), self, args...)
		},
	}
}
