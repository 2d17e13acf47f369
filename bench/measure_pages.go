package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	formPagePath = "/page/1/form/survey"
	resultsRows  = 50 // of the results page
	sessionCount = 10_000
)

// webPage is a page for people.
type webPage struct {
	name, path string
	contains   string                 // in every answer
	whole      func(body string) bool // what it answers once caches are filled
}

func formPage() webPage {
	last := fmt.Sprintf("name=%q", answers[len(answers)-1].id)
	return webPage{"form page", formPagePath, last, func(string) bool { return true }}
}

// resultsPage is that of so many submissions: its newest rows, and the summary,
// which the first who ask do not get yet.
func resultsPage(rows int64) webPage {
	link := formPagePath + "/submission/"
	return webPage{
		fmt.Sprintf("results page of %d among %s", resultsRows, grouped(float64(rows))), formPagePath + "/results",
		fmt.Sprintf("%s%d\"", link, rows),
		func(body string) bool {
			return strings.Count(body, link) == resultsRows && strings.Contains(body, "<svg")
		},
	}
}

// resultRows is how many submissions the results page is of.
func (b *bench) resultRows() int64 { return min(b.rows, millionRows) }

func (b *bench) pagesForm(ctx context.Context) error {
	data, err := b.fill(ctx, "pages-form", readIDs)
	if err != nil {
		return err
	}
	return b.page(ctx, "SQLite", formPage(), func() (*process, error) { return b.startServer(ctx, data) })
}

func (b *bench) pagesResults(ctx context.Context) (err error) {
	rows := b.resultRows()
	var data string
	if rows == millionRows {
		data, err = b.million(ctx)
	} else {
		data, err = b.fill(ctx, "pages-results", rows)
	}
	if err != nil {
		return err
	}
	return b.page(ctx, "SQLite", resultsPage(rows), func() (*process, error) { return b.startServer(ctx, data) })
}

func (b *bench) pgPagesForm(ctx context.Context) error {
	return b.pgPage(ctx, "pages_form", readIDs, formPage())
}

func (b *bench) pgPagesResults(ctx context.Context) error {
	return b.pgPage(ctx, "pages_results", b.resultRows(), resultsPage(b.resultRows()))
}

func (b *bench) pgPage(ctx context.Context, name string, rows int64, p webPage) error {
	url, err := b.fillPostgres(ctx, name, rows)
	if err != nil {
		return err
	}
	return b.page(ctx, "PostgreSQL", p, func() (*process, error) { return b.startOnPostgres(ctx, name, url) })
}

// page holds a page against the API's reads of one on the same server.
func (b *bench) page(ctx context.Context, engine string, p webPage, start func() (*process, error)) (err error) {
	server, err := start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	visits := newBrowser(server.addr)
	cookies, err := visits.signIn(ctx, manyConns)
	if err != nil {
		return err
	}
	if err := visits.awaitWhole(ctx, p, cookies[0]); err != nil {
		return err
	}
	var pairs, zipped []pair // bare is the read
	for round := range b.rounds {
		samples, err := measure(ctx, b.interval, shortTurn, newLoad(p.message(cookies), manyConns, server),
			newLoad(readMessage(readIDs), manyConns, server), newLoad(p.zipped(cookies), manyConns, server))
		if err != nil {
			return err
		}
		p, z := pair{samples[0], samples[1]}, pair{samples[2], samples[1]}
		progress(round, "page %s, read %s: %.2f; compressed %s: %.2f; cpu %s, read %s, compressed %s", rate(p.ours.perSecond), rate(p.bare.perSecond),
			p.ratio(), rate(z.ours.perSecond), z.ratio(), short(p.ours.cpu), short(p.bare.cpu), short(z.ours.cpu))
		pairs, zipped = append(pairs, p), append(zipped, z)
	}
	name := fmt.Sprintf("%s on %s, 64 connections, of the API's reads of one", p.name, engine)
	b.results.add(figureOf(name, target{atLeast, 0.25}, "page", "read", pairs, noWrites))
	b.results.add(figure{
		name: "the same page compressed", durability: noWrites,
		measured: fmt.Sprintf("%.2f; page %s", median(each(zipped, pair.ratio)), describe(zipped, func(p pair) sample { return p.ours })),
	})
	return nil
}

// message asks for the page, each connection in a session of its own: a user
// can read 50 lists at one time.
func (p webPage) message(cookies []string) message {
	return message{name: p.name, start: "GET " + p.path, rest: "\r\n", status: http.StatusOK, contains: []byte(p.contains), cookies: cookies}
}

// zipped asks for the page in gzip, whose first bytes are all that is looked at.
func (p webPage) zipped(cookies []string) message {
	m := p.message(cookies)
	m.rest, m.contains = "Accept-Encoding: gzip\r\n\r\n", []byte("\x1f\x8b\x08")
	return m
}

// untilIdle is how long a server that has worked hard takes to be as small as it
// gets: Go collects garbage every two minutes if nothing else makes it, and
// returns memory little by little then.
const untilIdle = 5 * time.Minute

// pagesSessions tells how much memory sessions take: an idle server after many
// of them against an idle server before. The servers of all rounds become idle
// at the same time.
func (b *bench) pagesSessions(ctx context.Context) (err error) {
	var servers []*process
	defer func() {
		for _, server := range servers {
			err = errors.Join(err, server.stop())
		}
	}()
	var before, busy, after, growths []float64
	for round := range b.rounds {
		server, err := b.startServer(ctx, b.dataDir(fmt.Sprintf("sessions-%d", round)))
		if err != nil {
			return err
		}
		servers = append(servers, server)
		if before, err = appendRSS(ctx, before, server); err != nil {
			return err
		}
		if err := newBrowser(server.addr).openMany(ctx, sessionCount); err != nil {
			return err
		}
		if busy, err = appendRSS(ctx, busy, server); err != nil {
			return err
		}
	}
	pause(ctx, untilIdle)
	for round, server := range servers {
		if after, err = appendRSS(ctx, after, server); err != nil {
			return err
		}
		progress(round, "idle %s, right after the sessions %s, idle again %s", mebibytes(before[round]), mebibytes(busy[round]), mebibytes(after[round]))
		growths = append(growths, (after[round]-before[round])/(1<<20))
	}
	b.results.add(figure{
		name: "memory of an idle server after 10,000 sessions that have opened a page each, above that before", target: target{below, 32}, unit: " MiB",
		values: growths, durability: "every session on disk before its answer",
		measured: fmt.Sprintf("RSS %s before, %s after, %s while the last pages were opened", mebibytes(median(before)), mebibytes(median(after)), mebibytes(median(busy))),
	})
	return nil
}

// browser opens pages with care, where speed does not matter.
type browser struct {
	http.Client
	server string
}

func newBrowser(addr string) *browser {
	return &browser{server: "http://" + addr, Client: http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: manyConns},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}}
}

// openMany begins so many sessions, and opens the form page in each.
func (b *browser) openMany(ctx context.Context, sessions int) error {
	cookies, err := b.signIn(ctx, sessions)
	if err != nil {
		return err
	}
	return inParallel(sessions, func(i int) error {
		body, err := b.open(ctx, formPagePath, cookies[i])
		if err == nil && (!strings.Contains(body, visitor(i)) || !strings.Contains(body, formPage().contains)) {
			err = fmt.Errorf("the form page of %s is another: %s", visitor(i), body)
		}
		return err
	})
}

// signIn begins so many sessions, of one visitor after the other, and returns
// their cookies.
func (b *browser) signIn(ctx context.Context, sessions int) ([]string, error) {
	cookies := make([]string, sessions)
	return cookies, inParallel(sessions, func(i int) error {
		form := url.Values{"username": {visitor(i)}, "password": {password}, "next": {formPagePath}}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server+"/login", strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		header, _, err := b.send(req, http.StatusSeeOther)
		if err != nil {
			return err
		}
		cookies[i], _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
		if cookies[i] == "" {
			return fmt.Errorf("%s signs in and gets no cookie", visitor(i))
		}
		return nil
	})
}

// send fails if the answer has another status.
func (b *browser) send(req *http.Request, status int) (header http.Header, body string, err error) {
	resp, err := b.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != status {
		err = fmt.Errorf("%s %s: %s: %s", req.Method, req.URL.Path, resp.Status, text)
	}
	return resp.Header, string(text), err
}

func (b *browser) open(ctx context.Context, path, cookie string) (body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server+path, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Cookie", cookie)
	_, body, err = b.send(req, http.StatusOK)
	return body, err
}

// awaitWhole opens a page until all of it is there.
func (b *browser) awaitWhole(ctx context.Context, p webPage, cookie string) error {
	for begun := time.Now(); ; pause(ctx, 100*time.Millisecond) {
		body, err := b.open(ctx, p.path, cookie)
		if err != nil {
			return err
		}
		if strings.Contains(body, p.contains) && p.whole(body) {
			return nil
		}
		if time.Since(begun) > 3*time.Minute {
			return fmt.Errorf("the %s is not whole: %s", p.name, body)
		}
	}
}

// inParallel does something n times, on so many connections at once as are
// measured. It returns one of the errors.
func inParallel(n int, do func(i int) error) error {
	var next atomic.Int64
	failed := make(chan error, manyConns)
	var wg sync.WaitGroup
	for range manyConns {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}
