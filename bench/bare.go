package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// bareCommand runs this program as the server to compare with.
const bareCommand = "bare"

const (
	// poolSize is the best of the sizes that were tried for the server that inserts a row per request.
	poolSize = "&pool_max_conns=16"

	bareTable  = `CREATE TABLE IF NOT EXISTS submissions (id bigserial PRIMARY KEY, username text, created bigint, fields text)`
	bareInsert = `INSERT INTO submissions (username, created, fields) VALUES ($1, $2, $3)`
)

// serveBare is the least that a server on net/http can do with the same requests: find the route,
// read the body, answer with a submission. With a database it inserts that submission.
// It does not authenticate, validate or log.
func serveBare(ctx context.Context) error {
	flags := flag.NewFlagSet(bareCommand, flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address")
	database := flags.String("database", "", "URL of a PostgreSQL database to insert into")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	insert := func(context.Context) error { return nil }
	if *database != "" {
		pool, err := pgxpool.New(ctx, *database+poolSize)
		if err != nil {
			return err
		}
		defer pool.Close()
		if _, err := pool.Exec(ctx, bareTable); err != nil {
			return err
		}
		insert = func(ctx context.Context) error {
			_, err := pool.Exec(ctx, bareInsert, user, time.Now().UnixMilli(), fields)
			return err
		}
	}
	const path = "/rest/forms/1.0/page/{pageId}/form/{formId}"
	mux, created := http.NewServeMux(), answer(http.StatusCreated)
	mux.HandleFunc("GET /healthz", answer(http.StatusOK))
	mux.HandleFunc("GET "+path, answer(http.StatusOK))
	mux.HandleFunc("GET "+path+"/submission/{id}", answer(http.StatusOK))
	mux.HandleFunc("POST "+path+"/submission", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if err := insert(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		created(w, r)
	})
	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// answer answers with a submission.
func answer(status int) http.HandlerFunc {
	body := []byte(`{"formId":"survey","pageId":1,"id":100000,"fields":` + fields + `,"timestamp":"2026-01-31T12:00:00.000+0000","username":"ann"}`)
	return func(w http.ResponseWriter, _ *http.Request) {
		// Without it net/http would look at the body to guess.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}
