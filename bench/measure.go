package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	manyConns = 64
	readRows  = 10_000
	listRows  = 100_000

	millionStore = "SQLite-million"

	// What a change may make of processor time, start and memory.
	noMore = 1.05
)

// measurements in the order they run. The last ones share a store that takes a while to fill, and
// the creates beside a slow reader change it.
var measurements = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"sqlite-create-64", func(b *bench, ctx context.Context) error {
		return b.creates(ctx, sqlite, manyConns, lane{side: b.bare("bare POST", sqlite), atLeast: 0.4},
			lane{side: b.pocketBase("PocketBase"), atLeast: 7.5}, lane{side: b.pocketBase("durable PocketBase", "--durable"), atLeast: 10})
	}},
	{"sqlite-create-1", func(b *bench, ctx context.Context) error {
		return b.creates(ctx, sqlite, 1, lane{side: b.pocketBase("PocketBase"), atLeast: 2.5}, lane{side: b.pocketBase("durable PocketBase", "--durable"), atLeast: 3.5})
	}},
	{"postgres-create-64", func(b *bench, ctx context.Context) error {
		return b.creates(ctx, postgres, manyConns, lane{side: b.bare("raw pgx", postgres), atLeast: 1.2})
	}},
	{"postgres-create-1", func(b *bench, ctx context.Context) error {
		return b.creates(ctx, postgres, 1, lane{side: b.bare("raw pgx", postgres), atLeast: 0.4})
	}},
	{"sqlite-read-64", func(b *bench, ctx context.Context) error {
		return b.reads(ctx, sqlite, lane{side: b.bare("bare GET", sqlite), atLeast: 0.55}, lane{side: b.pocketBase("PocketBase"), atLeast: 7})
	}},
	{"postgres-read-64", func(b *bench, ctx context.Context) error { return b.reads(ctx, postgres) }},
	{"sqlite-list", func(b *bench, ctx context.Context) error {
		return b.list(ctx, sqlite, lane{side: b.pocketBase("PocketBase"), atLeast: 12})
	}},
	{"postgres-list", func(b *bench, ctx context.Context) error { return b.list(ctx, postgres) }},
	{"sqlite-page-of-one", func(b *bench, ctx context.Context) error { return b.pageOfOne(ctx, sqlite) }},
	{"postgres-page-of-one", func(b *bench, ctx context.Context) error { return b.pageOfOne(ctx, postgres) }},
	{"sqlite-uploads", func(b *bench, ctx context.Context) error {
		return b.beside(ctx, sqlite, "while ten files of 25 MiB are sent", "SQLite-uploads", 0, 0.5, startUploads)
	}},
	{"postgres-uploads", func(b *bench, ctx context.Context) error {
		return b.beside(ctx, postgres, "while ten files of 25 MiB are sent", "PostgreSQL-uploads", 0, 0.5, startUploads)
	}},
	{"postgres-limited", func(b *bench, ctx context.Context) error {
		return b.beside(ctx, postgres, "beside 64 clients on a form with a limit", "PostgreSQL-limited", 0, 0.5, startLimited)
	}},
	{"allocations", (*bench).allocations},
	{"hooks", (*bench).hooks},
	{"wiki", (*bench).wiki},
	{"summary-by", (*bench).summaryBy},
	{"start", (*bench).startAndList},
	{"results-page", (*bench).resultsPage},
	{"slow-reader", func(b *bench, ctx context.Context) error {
		return b.beside(ctx, sqlite, "beside a slow reader of "+grouped(float64(b.rows)), millionStore, b.rows, 0.75, startSlowReader)
	}},
}

// sides are Formulary and, with -before, the older binary, and that once more as the control. Flags
// for anything but pages and users come before those.
func (b *bench) sides(e engine, flags ...string) []side {
	if !slices.Contains(flags, "--pages") {
		flags = append(flags, "--pages", "pages", "--users", b.path(usersFile))
	}
	sides := []side{b.formulary("Formulary", b.binary, e, flags...)}
	if b.before != "" {
		sides = append(sides, b.formulary("before", b.before, e, flags...), b.formulary("control", b.before, e, flags...))
	}
	return sides
}

// lanes are Formulary and the others; with -before, those of pairs.
func (b *bench) lanes(e engine, t task, others ...lane) []lane {
	return b.lanesWith(nil, e, t, others...)
}

// lanesWith are lanes of servers with more flags.
func (b *bench) lanesWith(flags []string, e engine, t task, others ...lane) (all []lane) {
	for _, s := range b.sides(e, flags...) {
		all = append(all, lane{name: s.name, side: s, task: t})
	}
	if b.before != "" {
		return all
	}
	for _, o := range others {
		if o.task == nil {
			o.name, o.task = o.side.name, t
		}
		all = append(all, o)
	}
	return all
}

func (b *bench) creates(ctx context.Context, e engine, conns int, others ...lane) error {
	return b.compare(ctx, comparison{
		title: "creates on " + e.name + ", " + onConns(conns), store: fmt.Sprintf("%s-create-%d", e.name, conns), durability: e.durability,
		lanes: b.lanes(e, sendCreates(conns), others...),
	})
}

func sendCreates(conns int) task {
	return send(conns, func(server *process) message { return server.create })
}

func sendReads(conns int) task {
	return send(conns, func(server *process) message { return server.read })
}

func send(conns int, what func(*process) message) task {
	return func(ctx context.Context, server *process) (runner, func(), error) {
		l, err := openLoad(ctx, what(server), conns, server)
		return l.run, l.close, err
	}
}

func (b *bench) reads(ctx context.Context, e engine, others ...lane) error {
	return b.compare(ctx, comparison{
		title: "reads of one among 10,000 on " + e.name + ", 64 connections", store: e.name + "-read", rows: readRows, durability: noWrites,
		lanes: b.lanes(e, sendReads(manyConns), others...),
	})
}

// pageOfOne compares lists with ?limit=1 with reads.
func (b *bench) pageOfOne(ctx context.Context, e engine) error {
	const conns = 32 // a user may read 50 lists at one time
	pages := send(conns, func(server *process) message { return getMessage(submissionPath+"?limit=1", server.authorization) })
	return b.compare(ctx, comparison{
		title: "lists of one among 10,000 on " + e.name + ", " + onConns(conns), store: e.name + "-read", rows: readRows, durability: noWrites,
		lanes: b.lanes(e, pages, lane{"reads", b.sides(e)[0], sendReads(conns), 0.5}),
	})
}

func (b *bench) list(ctx context.Context, e engine, others ...lane) error {
	return b.compare(ctx, comparison{
		title: "nested list of 100,000 on " + e.name, store: e.name + "-list", rows: listRows, durability: noWrites,
		lanes: b.lanes(e, readLists, others...),
	})
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

// disturbance is what goes on beside the creates of a turn. The returned function ends it.
type disturbance func(ctx context.Context, server *process) (finish func() error, err error)

// beside measures creates beside something else. They are compared with creates by themselves on
// the same server, or with creates of the older binary beside the same.
func (b *bench) beside(ctx context.Context, e engine, what, store string, rows int64, atLeast float64, disturb disturbance) error {
	disturbed := func(ctx context.Context, server *process) (runner, func(), error) {
		creates, end, err := sendCreates(manyConns)(ctx, server)
		return func(ctx context.Context, start, length time.Duration, t *tally) error {
			finish, err := disturb(ctx, server)
			if err != nil {
				return err
			}
			return errors.Join(creates(ctx, start, length, t), finish())
		}, end, err
	}
	alone := lane{"creates alone", b.sides(e)[0], sendCreates(manyConns), atLeast}
	return b.compare(ctx, comparison{
		title: "creates on " + e.name + ", 64 connections, " + what, store: store, rows: rows, durability: e.durability,
		lanes: b.lanes(e, disturbed, alone),
	})
}

// summaryBy compares a summary by 1,000 options with one without groups.
func (b *bench) summaryBy(ctx context.Context) error {
	const answer = `{"fields":{"comment":{"fieldId":"comment","value":"` + comment + `"},"centre":{"fieldId":"centre","value":"`
	create := postMessage(centrePath+"/submission", basicAuth(), answer+`1001"}}}`, 201)
	create.start, create.rest = create.start+strings.TrimSuffix(create.rest, `1001"}}}`), `"}}}`
	create.before, create.ids = 1000, 1000
	summaries := func(query string, rows int64) task {
		return func(ctx context.Context, server *process) (runner, func(), error) {
			err := sendAll(ctx, server, create, rows)
			return repeatedly(server, 1, func() error {
				_, err := getPage(ctx, server, centrePath+"/summary"+query, "Authorization", server.authorization, io.Discard)
				return err
			}), func() {}, err
		}
	}
	return b.compare(ctx, comparison{
		title: "summary by 1,000 options, 1 connection", store: "SQLite-summary", durability: noWrites,
		lanes: b.lanes(sqlite, summaries("?by=centre", 20_000), lane{"summary", b.sides(sqlite)[0], summaries("", 0), 0.33}),
	})
}

// startAndList measures what needs no load: start, memory of an idle server, and memory while it lists everything.
func (b *bench) startAndList(ctx context.Context) error {
	var starts, idles, growths [2][]float64 // by side, then by round
	for round := range 3 * b.rounds {       // a start is short, and varies
		sides := b.sides(sqlite)
		for i, s := range sides[:min(len(sides), len(starts))] { // they take turns: no control
			if err := b.make(ctx, s, millionStore, b.rows); err != nil {
				return err
			}
			start, idle, growth, err := startOnce(ctx, s)
			if err != nil {
				return err
			}
			progress(round, "%s: start %.1f ms, idle %.1f MiB, grew by %.1f MiB", s.name, start, idle, growth)
			starts[i], idles[i], growths[i] = append(starts[i], start), append(idles[i], idle), append(growths[i], growth)
		}
	}
	many := grouped(float64(b.rows))
	b.addSizes("start of the process to the first 200 of `/healthz`, "+many+" stored", " ms", 50, starts)
	b.addSizes("memory (RSS) of an idle server, "+many+" stored", " MiB", 0, idles)
	b.addSizes("peak memory while "+many+" are listed, above idle", " MiB", 64, growths)
	return nil
}

// startOnce returns milliseconds to the first answer, MiB when idle, and how many MiB a list adds.
func startOnce(ctx context.Context, s side) (start, idle, growth float64, err error) {
	server, err := s.start(ctx, millionStore)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	err = once(ctx, server.addr, server.hello)
	idle, errIdle := server.memory("VmRSS")
	server.resetPeak()
	_, errList := getPage(ctx, server, submissionPath, "Authorization", server.authorization, io.Discard)
	peak, errPeak := server.memory("VmHWM")
	return server.started.Seconds() * 1000, idle, peak - idle, errors.Join(err, errIdle, errList, errPeak)
}

// addSizes adds sizes of Formulary by themselves, or beside those of the older binary.
func (b *bench) addSizes(name, unit string, limit float64, values [2][]float64) {
	f := figure{name: name, durability: noWrites, measured: fmt.Sprintf("%.1f%s", median(values[0]), unit)}
	if b.before != "" {
		f.name, f.target, f.values = name+", of before", target{"≤", noMore}, ratios(values[0], values[1])
		f.measured = fmt.Sprintf("Formulary %s, before %.1f%s", f.measured, median(values[1]), unit)
	} else if limit > 0 {
		f.target, f.values, f.unit = target{"≤", limit}, values[0], unit
	}
	b.figures = append(b.figures, f)
}

// resultsPage measures how long the page with the newest submissions takes at one connection.
func (b *bench) resultsPage(ctx context.Context) error {
	task := func(ctx context.Context, server *process) (runner, func(), error) {
		cookie, err := signIn(ctx, server)
		return repeatedly(server, 1, func() error {
			var page bytes.Buffer
			_, err := getPage(ctx, server, resultsPage, "Cookie", cookie, &page)
			// The summary has the latest answers, too.
			if rows := bytes.Count(page.Bytes(), []byte("Number 1")); err == nil && rows < 50 {
				err = fmt.Errorf("the results page has %d rows instead of 50", rows)
			}
			return err
		}), func() {}, err
	}
	return b.compare(ctx, comparison{
		title: "results page of 50 among " + grouped(float64(b.rows)) + ", 1 connection", store: millionStore, rows: b.rows, durability: noWrites,
		budget: 20, lanes: b.lanes(sqlite, task),
	})
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
