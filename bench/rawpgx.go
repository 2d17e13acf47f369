package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pgxCommand runs this program as a server that does with PostgreSQL what is
// plainest: a statement per request.
const pgxCommand = "pgx"

// pgxConns is the size of its pool, the best of those tried: with more, the
// backends get into each other's way on two cores; with fewer, not enough
// commits wait to be synced together.
const pgxConns = "16"

func (b *bench) startPgx(ctx context.Context, name, url string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, b.dataDir(name)+".log", self, pgxCommand, "--database", url+"&pool_max_conns="+pgxConns)
}

// pgxServer inserts and reads rows of the server's own table.
type pgxServer struct {
	pool *pgxpool.Pool
	last atomic.Int64 // id given
}

const (
	pgxInsert = `INSERT INTO submissions (page_id, form_id, id, username, created, fields) VALUES ($1, $2, $3, $4, $5, $6)`
	pgxSelect = `SELECT created, username, fields FROM submissions WHERE page_id = $1 AND form_id = $2 AND id = $3`
	pgxScan   = `SELECT id, created, username, fields FROM submissions WHERE page_id = $1 AND form_id = $2 ORDER BY id`
)

func servePgx(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(pgxCommand, flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address")
	database := flags.String("database", "", "URL of the database")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, *database)
	if err != nil {
		return err
	}
	defer pool.Close()
	s := &pgxServer{pool: pool}
	var last int64
	if err := pool.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM submissions`).Scan(&last); err != nil {
		return err
	}
	s.last.Store(last)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(http.StatusOK, 3))
	mux.HandleFunc("GET "+formPath, answer(http.StatusOK, 3))
	mux.HandleFunc("POST "+submissionPath, s.create)
	mux.HandleFunc("GET "+submissionPath+"/{id}", s.read)
	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// create stores the row that the server would make of the request.
func (s *pgxServer) create(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	id := s.last.Add(1)
	created := time.Now().UTC()
	fields := appendFields(nil, id, id*int64(len(answers)))
	if _, err := s.pool.Exec(r.Context(), pgxInsert, pageID, formID, id, user, created.UnixMilli(), fields); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeSubmission(w, http.StatusCreated, submission{id, created, []byte(user), fields})
}

func (s *pgxServer) read(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	var millis int64
	row := submission{id: id}
	if err == nil {
		err = s.pool.QueryRow(r.Context(), pgxSelect, pageID, formID, id).Scan(&millis, &row.username, &row.fields)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	row.created = time.UnixMilli(millis).UTC()
	writeSubmission(w, http.StatusOK, row)
}

func writeSubmission(w http.ResponseWriter, status int, s submission) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(s.append(nil))
}

// submission is a row on its way out.
type submission struct {
	id               int64
	created          time.Time
	username, fields []byte
}

func (s submission) append(dst []byte) []byte {
	dst = append(dst, `{"formId":"`+formID+`","pageId":1,"id":`...)
	dst = strconv.AppendInt(dst, s.id, 10)
	dst = append(dst, `,"fields":`...)
	dst = append(dst, s.fields...)
	dst = append(dst, `,"timestamp":"`...)
	dst = appendTimestamp(dst, s.created)
	dst = append(dst, `","username":"`...)
	dst = append(dst, s.username...)
	return append(dst, `"}`...)
}

// pgxScanner is the raw loop that lists are held against: one statement over
// all rows, and the same JSON appended to one buffer.
type pgxScanner struct {
	conn *pgx.Conn
	buf  []byte
}

func openPgxScanner(ctx context.Context, url string) (*pgxScanner, error) {
	conn, err := pgx.Connect(ctx, url)
	return &pgxScanner{conn: conn, buf: make([]byte, 0, 2*scanBuffer)}, err
}

// scan reads and encodes all rows once. Whole numbers come as eight bytes each,
// and nothing is copied before it is encoded.
func (s *pgxScanner) scan(ctx context.Context) (rows, written int64, err error) {
	result, err := s.conn.Query(ctx, pgxScan, pageID, formID)
	if err != nil {
		return 0, 0, err
	}
	defer result.Close()
	s.buf = append(s.buf[:0], '[')
	for result.Next() {
		if rows > 0 {
			s.buf = append(s.buf, ',')
		}
		rows++
		values := result.RawValues()
		millis := int64(binary.BigEndian.Uint64(values[1])) //nolint:gosec // as it was sent
		s.buf = submission{
			id:      int64(binary.BigEndian.Uint64(values[0])), //nolint:gosec // as it was sent
			created: time.UnixMilli(millis).UTC(), username: values[2], fields: values[3],
		}.append(s.buf)
		if len(s.buf) >= scanBuffer {
			written += int64(len(s.buf))
			s.buf = s.buf[:0]
		}
	}
	return rows, written + int64(len(s.buf)) + 1, result.Err() // 1 is the closing bracket
}

func (s *pgxScanner) close(ctx context.Context) error { return s.conn.Close(ctx) }
