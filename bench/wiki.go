package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

const wikiUsers = 1000

// fakeWiki speaks what Formulary asks a MediaWiki for. It has one page, and every user has an
// account. It is fast: what the caches of Formulary cost is measured, not a wiki.
type fakeWiki struct {
	*httptest.Server
	text          string
	logins, texts atomic.Int64
}

func newFakeWiki() (*fakeWiki, error) {
	page, err := os.ReadFile("pages/1-benchmark.md")
	if err != nil {
		return nil, err
	}
	form := strings.Split(string(page), "```")[1]
	w := &fakeWiki{text: `<pre class="form">` + html.EscapeString(strings.TrimPrefix(form, "yaml form")) + "</pre>"}
	w.Server = httptest.NewServer(http.HandlerFunc(w.answer))
	return w, nil
}

func (w *fakeWiki) answer(rw http.ResponseWriter, r *http.Request) {
	query := ""
	switch {
	case r.FormValue("action") == "clientlogin":
		w.logins.Add(1)
		_, _ = fmt.Fprintf(rw, `{"clientlogin":{"status":"PASS","username":%q}}`, r.FormValue("username"))
		return
	case strings.Contains(r.FormValue("meta"), "tokens"):
		query = `"tokens":{"logintoken":"token"},"authmanagerinfo":{"requests":[{"id":"Password","fields":{"password":{}}}]}`
	case r.FormValue("prop") == "info":
		query = fmt.Sprintf(`"userinfo":{"id":1,"name":%q},"pages":[{"pageid":1,"title":"Benchmark","contentmodel":"wikitext","lastrevid":1,`+
			`"actions":{"read":true,"edit":true}}]`, r.FormValue("assertuser"))
	case r.FormValue("prop") == "revisions":
		w.texts.Add(1)
		query = fmt.Sprintf(`"pages":[{"pageid":1,"revisions":[{"revid":1,"slots":{"main":{"contentmodel":"wikitext","content":%q}}}]}]`, w.text)
	}
	_, _ = fmt.Fprintf(rw, `{"batchcomplete":true,"query":{%s}}`, query)
}

// wiki compares pages and users of a wiki with files, and counts what many users cause there.
func (b *bench) wiki(ctx context.Context) error {
	w, err := newFakeWiki()
	if err != nil {
		return err
	}
	defer w.Close()
	flags := []string{"--pages", "mediawiki+" + w.URL + "/api.php", "--users", "wiki"}
	lanes := func(t task) []lane {
		return b.lanesWith(flags, sqlite, t, lane{"files", b.formulary("files", b.binary, sqlite), t, 0.9})
	}
	creates := comparison{title: "creates with --users wiki, 64 connections", store: "wiki-create", durability: sqlite.durability}
	reads := comparison{title: "reads with --users wiki, 64 connections", store: "wiki-read", rows: readRows, durability: noWrites}
	creates.lanes, reads.lanes = lanes(sendCreates(manyConns)), lanes(sendReads(manyConns))
	return errors.Join(b.compare(ctx, creates), b.compare(ctx, reads), b.countWikiCalls(ctx, w, b.sides(sqlite, flags...)[0]))
}

// countWikiCalls has many users open a form at once, twice.
func (b *bench) countWikiCalls(ctx context.Context, w *fakeWiki, live side) (err error) {
	server, err := live.start(ctx, "SQLite-wiki-users")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	w.logins.Store(0)
	w.texts.Store(0)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(manyConns)
	for i := range 2 * wikiUsers {
		name := fmt.Sprintf("user %d:%s", i%wikiUsers, password)
		open := getMessage(formPath, "Basic "+base64.StdEncoding.EncodeToString([]byte(name)))
		group.Go(func() error { return once(ctx, server.addr, open) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for name, count := range map[string]float64{
		"sign-ins at a wiki by each of 1,000 users":    float64(w.logins.Load()) / wikiUsers,
		"texts of a page that they have the wiki send": float64(w.texts.Load()),
	} {
		b.figures = append(b.figures, figure{name: name, target: target{"≤", 1}, values: []float64{count}, measured: number(count), durability: noWrites})
	}
	return nil
}
