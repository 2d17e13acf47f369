package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// bareCommand runs this program as the server to compare with.
const bareCommand = "bare"

// startBare starts a bare server that answers with bodies of the given sizes.
func (b *bench) startBare(ctx context.Context, createBytes, readBytes int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, filepath.Join(b.work, "bare.log"), self, bareCommand,
		"--create-bytes", strconv.Itoa(createBytes), "--read-bytes", strconv.Itoa(readBytes))
}

// serveBare is the least that a server on net/http can do with the same
// requests: find the route, read the body, answer with as many bytes. It
// checks nothing, stores nothing and logs nothing.
func serveBare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(bareCommand, flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address")
	createBytes := flags.Int("create-bytes", 0, "length of the answer to a create")
	readBytes := flags.Int("read-bytes", 0, "length of the answer to a read")
	if err := flags.Parse(args); err != nil {
		return err
	}
	mux := http.NewServeMux()
	path := "/rest/forms/1.0/page/{pageId}/form/{formId}"
	mux.HandleFunc("GET /healthz", answer(http.StatusOK, 3))
	mux.HandleFunc("GET "+path, answer(http.StatusOK, *readBytes))
	mux.HandleFunc("POST "+path+"/submission", answer(http.StatusCreated, *createBytes))
	mux.HandleFunc("GET "+path+"/submission/{id}", answer(http.StatusOK, *readBytes))

	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(status, size int) http.HandlerFunc {
	body := []byte(strings.Repeat("x", size))
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		// Without it net/http would look at the body to guess.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}
