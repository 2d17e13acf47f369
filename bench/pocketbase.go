package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3" //nolint:depguard // rows are written past the server
)

const (
	pocketPath = "/api/collections/submissions/records"
	pocketPage = 1000 // rows at a time: it gives no more

	// PocketBase's ids are texts of 15 characters. Those of stored rows are
	// numbers, so that they can be drawn like Formulary's.
	beforePocketIDs = 100_000_000_000_000
)

// pocket is a data directory of PocketBase, and the user in it.
type pocket struct {
	binary, data string
	ID, Token    string
}

// makePocket makes one with that many submissions.
func (b *bench) makePocket(ctx context.Context, name string, rows int64) (p pocket, err error) {
	if b.pocketBase == "" {
		if b.pocketBase, err = b.build(ctx, "pocketbase", ".", "./pocketbase"); err != nil {
			return p, err
		}
	}
	p = pocket{binary: b.pocketBase, data: b.dataDir(name)}
	out, err := exec.CommandContext(ctx, p.binary, "make", "--data", p.data).Output() //nolint:gosec // the binary just built
	if err != nil {
		return p, fmt.Errorf("make PocketBase's data: %w", err)
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return p, fmt.Errorf("make PocketBase's data: %w\n%s", err, out)
	}
	if rows > 0 {
		err = p.fill(ctx, rows)
	}
	return p, err
}

func (p pocket) args(more ...string) []string {
	return append([]string{"serve", "--data", p.data}, more...)
}

func (p pocket) start(ctx context.Context, more ...string) (*process, error) {
	return p.greeted(start(ctx, p.data+".log", p.binary, p.args(more...)...))
}

// greeted has nothing to prepare: a token is checked anew on every request.
func (pocket) greeted(server *process, err error) (*process, error) {
	if err == nil {
		server.hello = message{name: "/healthz", start: "GET /healthz", rest: " HTTP/1.1\r\nHost: bench\r\n\r\n", status: http.StatusOK}
	}
	return server, err
}

func (p pocket) headers() string {
	return " HTTP/1.1\r\nHost: bench\r\nAuthorization: " + p.Token + "\r\n"
}

func (p pocket) createMessage() message {
	values := map[string]any{"owner": p.ID}
	for _, a := range answers {
		switch a.id {
		case "topics":
			values[a.id] = strings.Split(a.value, ";")
		case "hours":
			values[a.id] = json.Number(a.value)
		default:
			values[a.id] = a.value
		}
	}
	body, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	rest := fmt.Sprintf("%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", p.headers(), len(body), body)
	return message{name: "create", start: "POST " + pocketPath, rest: rest, status: http.StatusOK}
}

func (p pocket) readMessage(ids int) message {
	return message{
		name: "read", start: "GET " + pocketPath + "/", ids: ids, before: beforePocketIDs,
		rest: p.headers() + "\r\n", status: http.StatusOK,
	}
}

// pageRequests ask for all of that many rows, by key: an offset costs more the
// further it is.
func (p pocket) pageRequests(rows int64) [][]byte {
	var requests [][]byte
	for after := int64(0); after < rows; after += pocketPage {
		requests = append(requests, fmt.Appendf(nil, "GET %s?perPage=%d&skipTotal=true&sort=id&filter=id%%3E'%d'%s\r\n",
			pocketPath, pocketPage, beforePocketIDs+after, p.headers()))
	}
	return requests
}

// fill has the server store one submission, and multiplies its row.
func (p pocket) fill(ctx context.Context, rows int64) error {
	fmt.Printf("  storing %s submissions in PocketBase\n", grouped(float64(rows)))
	server, err := p.start(ctx)
	if err != nil {
		return err
	}
	_, err = once(ctx, server.addr, p.createMessage())
	if err := errors.Join(err, server.stop()); err != nil {
		return err
	}
	file := filepath.Join(p.data, "data.db")
	return errors.Join(multiply(ctx, file, rows), syncFile(file))
}

func multiply(ctx context.Context, file string, rows int64) (err error) {
	conn, err := sqlite3.OpenContext(ctx, "file:"+file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return conn.Exec(fmt.Sprintf(`
		BEGIN;
		CREATE TEMP TABLE first AS SELECT * FROM submissions;
		DELETE FROM submissions;
		WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO submissions (id, comment, rating, mail, day, topics, hours, owner, created)
			SELECT CAST(%d + i AS TEXT), printf('Number %%016d', i) || substr(comment, 24), rating, mail, day, topics, hours, owner, created
			FROM n, first;
		COMMIT`, rows, beforePocketIDs))
}
