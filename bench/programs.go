package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// program is one of the programs that are compared. Each has stores of its own.
type program interface {
	String() string
	make(ctx context.Context, b *bench, s store) error
	start(ctx context.Context, b *bench, store string) (*process, error)
}

// engine is where Formulary stores its submissions.
type engine string

const (
	sqlite   engine = "SQLite"
	postgres engine = "PostgreSQL"
)

// formulary is Formulary with its default settings. The access log is on by default, and goes to a file on
// the same disk.
type formulary struct {
	name   string
	engine engine
	hook   bool
}

// before and control name the older binary.
const (
	before  = "before"
	control = "control"
)

func (f formulary) String() string { return f.name }

func (f formulary) start(ctx context.Context, b *bench, store string) (*process, error) {
	store = b.path(string(f.engine) + "-" + store + "-" + f.name)
	args := []string{"serve", "--pages", "pages", "--users", b.path(usersFile)}
	var err error
	if f.engine == sqlite {
		args = append(args, "--data", store)
	} else {
		var url string
		url, err = b.database(ctx, filepath.Base(store))
		args = append(args, "--database", url, "--anonymous-key", b.path("anonymous.key"))
	}
	if f.hook {
		hooks := b.path("hooks.yaml")
		args = append(args, "--hooks", hooks)
		err = errors.Join(err, os.WriteFile(hooks, []byte(hook()), 0o600))
	}
	if err != nil {
		return nil, err
	}
	binary := b.binary
	if f.name == before || f.name == control {
		binary = b.before
	}
	return start(ctx, formularyProtocol(), store+".log", binary, args...)
}

func (f formulary) make(ctx context.Context, b *bench, s store) error {
	server, err := f.start(ctx, b, s.name)
	if err != nil {
		return err
	}
	m := server.create
	if s.fill != nil {
		m = *s.fill
	}
	return errors.Join(sendAll(ctx, server, m, s.rows), server.stop())
}

func formularyProtocol() protocol {
	p := protocol{
		hello: getMessage(formPath, basicAuth()), authorization: basicAuth(),
		create:    postMessage(submissionPath, basicAuth(), `{"fields":`+fields+`}`),
		read:      getMessage(submissionPath+"/", basicAuth()),
		lists:     func(int64) []string { return []string{submissionPath} },
		questions: questions,
	}
	p.read.ids = readRows
	return p
}

// plainCommand runs this program as a plainServer.
const plainCommand = "plain"

// plainServer does the least that a server on net/http can do with a create. It reads the body, inserts a row, and
// answers with a submission.
type plainServer struct{}

func (plainServer) String() string { return "a plain insert" }

func (plainServer) make(context.Context, *bench, store) error { return nil }

func (plainServer) start(ctx context.Context, b *bench, store string) (*process, error) {
	self, err := os.Executable()
	url, errURL := b.database(ctx, store+"-plain")
	if err := errors.Join(err, errURL); err != nil {
		return nil, err
	}
	return start(ctx, formularyProtocol(), b.path(store+"-plain.log"), self, plainCommand, url)
}

const (
	// poolSize is the best of the sizes that were tried.
	poolSize = "&pool_max_conns=16"

	plainTable  = `CREATE TABLE IF NOT EXISTS submissions (id bigserial PRIMARY KEY, username text, created bigint, fields text)`
	plainInsert = `INSERT INTO submissions (username, created, fields) VALUES ($1, $2, $3)`
	plainAnswer = `{"formId":"survey","pageId":1,"id":100000,"fields":` + fields + `,"timestamp":"2026-01-31T12:00:00.000+0000","username":"ann"}`
)

// servePlain takes: URL --listen ADDRESS.
func servePlain(ctx context.Context, args []string) error {
	pool, err := pgxpool.New(ctx, args[0]+poolSize)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, plainTable); err != nil {
		return err
	}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int) {
		// Without a type net/http would look at the body to guess it.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(plainAnswer))
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK) })
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if _, err := pool.Exec(r.Context(), plainInsert, user, time.Now().UnixMilli(), fields); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, http.StatusCreated)
	})
	server := &http.Server{Addr: args[2], Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// path names a file or folder of this run.
func (b *bench) path(name string) string { return filepath.Join(b.work, name) }
