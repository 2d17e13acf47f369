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

// readLists counts the rows of a list once, and then reads lists of the same length.
func readLists(ctx context.Context, server *process) (runner, func(), error) {
	var body bytes.Buffer
	size, err := readList(ctx, server, &body)
	if rows := bytes.Count(body.Bytes(), []byte("Number 1")); err == nil && rows != listRows {
		err = fmt.Errorf("the list has %d rows instead of %d", rows, listRows)
	}
	return repeatedly(server, listRows, func() error {
		got, err := readList(ctx, server, io.Discard)
		if err == nil && got != size {
			err = fmt.Errorf("the list has %d bytes instead of %d", got, size)
		}
		return err
	}), func() {}, err
}

// readList reads a list with all its pages, and returns its length.
func readList(ctx context.Context, server *process, w io.Writer) (size int64, err error) {
	for _, path := range server.lists(listRows) {
		n, err := getPage(ctx, server, path, "Authorization", server.authorization, w)
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

// ask asks a program one of its questions.
func ask(question string) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		return repeatedly(server, 1, func() error {
			_, err := getPage(ctx, server, server.questions[question], "Authorization", server.authorization, io.Discard)
			return err
		}), func() {}, nil
	}
}

// openResults opens the page with the newest submissions.
func openResults(ctx context.Context, server *process) (runner, func(), error) {
	cookie, err := signIn(ctx, server)
	return repeatedly(server, 1, func() error {
		var page bytes.Buffer
		_, err := getPage(ctx, server, resultsPage, "Cookie", cookie, &page)
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
	_, errList := getPage(ctx, server, submissionPath, "Authorization", server.authorization, io.Discard)
	peak, errPeak := server.memory("VmHWM")
	return peak - rest, errors.Join(err, errList, errPeak)
}
