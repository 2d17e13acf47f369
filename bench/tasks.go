package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	manyConns = 64
	listConns = 32 // a user may read 50 lists at one time
)

// task prepares a measurement on a server. The returned function ends it.
type task func(ctx context.Context, server *process) (run runner, end func(), err error)

func creates(conns int) task {
	return send(conns, func(server *process) message { return server.create })
}

func reads(conns int) task {
	return send(conns, func(server *process) message { return server.read })
}

var listsOfOne = send(listConns, func(server *process) message { return getMessage(submissionPath+"?limit=1", server.authorization) })

func send(conns int, choose func(*process) message) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		l, err := openLoad(ctx, choose(server), conns, server)
		return l.run, l.close, err
	}
}

// readLists reads all of a list, page by page. It counts the rows of the first.
func readLists(ctx context.Context, server *process) (runner, func(), error) {
	read := func(w io.Writer) (err error) {
		for _, path := range server.lists(listRows) {
			err = errors.Join(err, getPage(ctx, server, path, "Authorization", server.authorization, w))
		}
		return err
	}
	var body bytes.Buffer
	err := read(&body)
	if rows := bytes.Count(body.Bytes(), []byte("Number 1")); err == nil && rows != listRows {
		err = fmt.Errorf("the list has %d rows instead of %d", rows, listRows)
	}
	return repeatedly(server, listRows, func() error { return read(io.Discard) }), func() {}, err
}

// ask asks a program one of its questions.
func ask(question string) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		return repeatedly(server, 1, func() error {
			return getPage(ctx, server, server.questions[question], "Authorization", server.authorization, io.Discard)
		}), func() {}, nil
	}
}

// openResults opens the page with the newest submissions.
func openResults(ctx context.Context, server *process) (runner, func(), error) {
	cookie, err := signIn(ctx, server)
	return repeatedly(server, 1, func() error {
		var page bytes.Buffer
		err := getPage(ctx, server, resultsPage, "Cookie", cookie, &page)
		if rows := bytes.Count(page.Bytes(), []byte("Number 1")); err == nil && rows < 50 {
			err = fmt.Errorf("the results page has %d rows instead of 50", rows)
		}
		return err
	}), func() {}, err
}

func signIn(ctx context.Context, server *process) (cookie string, err error) {
	form := url.Values{"username": {user}, "password": {password}, "next": {resultsPage}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+server.addr+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := plain.Do(req)
	if err != nil {
		return "", err
	}
	cookie, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	if cookie == "" {
		err = fmt.Errorf("sign in: %s", resp.Status)
	}
	return cookie, errors.Join(err, resp.Body.Close())
}

// size is taken once of a server that was just started.
type size struct {
	title, unit string
	atMost      float64
	of          func(ctx context.Context, server *process) (float64, error)
}

func startTime(_ context.Context, server *process) (float64, error) {
	return float64(server.started) / float64(time.Millisecond), nil
}

func memoryAtRest(ctx context.Context, server *process) (float64, error) {
	err := once(ctx, server.addr, server.hello)
	rest, errRest := server.memory("VmRSS")
	return rest, errors.Join(err, errRest)
}

func memoryToList(ctx context.Context, server *process) (float64, error) {
	rest, err := memoryAtRest(ctx, server)
	server.resetPeak()
	errList := getPage(ctx, server, submissionPath, "Authorization", server.authorization, io.Discard)
	peak, errPeak := server.memory("VmHWM")
	return peak - rest, errors.Join(err, errList, errPeak)
}
