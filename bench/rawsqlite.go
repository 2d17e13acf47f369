package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3" //nolint:depguard // the engine itself is what the server is held against
)

// database is the file within a data directory.
func database(data string) string { return filepath.Join(data, "formulary.db") }

// firstCreated is the time of the first stored submission; each one after it
// is a second younger.
const firstCreated = 1_767_225_600_000

// fill stores submissions in a data directory. The schema is made by the
// server itself, which is started and stopped for it; the rows are written past
// it, because a million of them take a minute otherwise.
func (b *bench) fill(ctx context.Context, name string, rows int64) (data string, err error) {
	return b.fillBy(ctx, b.binary, name, rows)
}

// fillBy is fill for a store that another binary has made.
func (b *bench) fillBy(ctx context.Context, binary, name string, rows int64) (data string, err error) {
	fmt.Printf("  storing %s submissions\n", grouped(float64(rows)))
	data = b.dataDir(name)
	server, err := b.startBinary(ctx, binary, data)
	if err != nil {
		return "", err
	}
	if err := server.stop(); err != nil {
		return "", err
	}
	conn, err := sqlite3.OpenContext(ctx, "file:"+database(data))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(), syncFile(database(data))) }()
	// A crash may spoil the file: it would be made anew.
	if err := conn.Exec(`PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536`); err != nil {
		return "", err
	}
	return data, insertRows(conn, rows)
}

// syncFile gets what was filled to the disk now, and not during a measurement.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func insertRows(conn *sqlite3.Conn, rows int64) (err error) {
	if err := conn.Exec(oneForm); err != nil {
		return err
	}
	stmt, _, err := conn.Prepare(insertPlaced)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	if err := conn.Exec(`BEGIN`); err != nil {
		return err
	}
	entries := int64(len(answers))
	var fields []byte
	for id := int64(1); id <= rows; id++ {
		fields = appendFields(fields[:0], id, (id-1)*entries+1)
		if err := insertRow(stmt, firstPlace+id, formNumber, fields); err != nil {
			return err
		}
	}
	return conn.Exec(fmt.Sprintf(`UPDATE sequences SET submission = %d, entry = %d; COMMIT`, rows, rows*entries))
}

// How the server's table tells a submission of the one form there is.
const (
	formNumber   = 1
	firstPlace   = formNumber << 40
	insertPlaced = `INSERT INTO submissions (place, form, username, created, fields) VALUES (?, ?, ?, ?, ?)`
)

var oneForm = fmt.Sprintf(`INSERT INTO forms VALUES (%d, %d, '%s')`, formNumber, pageID, formID)

func insertRow(stmt *sqlite3.Stmt, place, form int64, fields []byte) error {
	return errors.Join(
		stmt.BindInt64(1, place), stmt.BindInt64(2, form), stmt.BindText(3, user),
		stmt.BindInt64(4, firstCreated+1000*(place-firstPlace)), stmt.BindRawText(5, fields), stmt.Exec(),
	)
}

// inserter is the raw loop that single creates are held against: rows of the
// same size, one durable transaction each.
type inserter struct {
	conn                  *sqlite3.Conn
	begin, insert, commit *sqlite3.Stmt
	last                  int64
	fields                []byte // of the last row
}

// plainTable keeps the rows and nothing to find them by.
const plainTable = `CREATE TABLE submissions (
	place INTEGER PRIMARY KEY, form INTEGER, username TEXT, created INTEGER, fields TEXT)`

// serverTables is what the server keeps rows in: the table and its indexes.
func serverTables() (string, error) {
	files, err := filepath.Glob("../internal/store/sqlite/migrations/*.sql")
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("no migrations: run it in the folder bench/"))
	}
	var all []byte
	for _, file := range files { // Glob sorts them
		sql, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all = append(all, sql...)
	}
	return string(all), nil
}

func openInserter(ctx context.Context, path, schema string) (*inserter, error) {
	conn, err := sqlite3.OpenContext(ctx, "file:"+path)
	if err != nil {
		return nil, err
	}
	r := &inserter{conn: conn}
	err = conn.Exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + schema)
	for sql, stmt := range map[string]**sqlite3.Stmt{
		`BEGIN IMMEDIATE`: &r.begin,
		`COMMIT`:          &r.commit,
		insertPlaced:      &r.insert,
	} {
		if err == nil {
			*stmt, _, err = conn.Prepare(sql)
		}
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *inserter) close() error {
	return errors.Join(r.begin.Close(), r.insert.Close(), r.commit.Close(), r.conn.Close())
}

// once inserts a row.
func (r *inserter) once() error {
	r.last++
	r.fields = appendFields(r.fields[:0], r.last, r.last*int64(len(answers)))
	return errors.Join(r.begin.Exec(), insertRow(r.insert, firstPlace+r.last, formNumber, r.fields), r.commit.Exec())
}

// scanner is the raw loop that lists are held against: one statement over all
// rows of the server's own file, and the same JSON appended to one buffer.
type scanner struct {
	conn *sqlite3.Conn
	stmt *sqlite3.Stmt
	buf  []byte
}

func openScanner(ctx context.Context, data string) (*scanner, error) {
	conn, err := sqlite3.OpenContext(ctx, "file:"+database(data)+"?mode=ro")
	if err != nil {
		return nil, err
	}
	stmt, _, err := conn.Prepare(`SELECT place, created, username, fields FROM submissions WHERE place > ? AND place < ? ORDER BY place`)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &scanner{conn: conn, stmt: stmt, buf: make([]byte, 0, 2*scanBuffer)}, nil
}

func (s *scanner) close() error { return errors.Join(s.stmt.Close(), s.conn.Close()) }

// scanBuffer is where the buffer starts over, as if it had been sent.
const scanBuffer = 64 << 10

// scan reads and encodes all rows once.
func (s *scanner) scan() (rows, written int64, err error) {
	defer func() { err = errors.Join(err, s.stmt.Reset()) }()
	if err := errors.Join(s.stmt.BindInt64(1, firstPlace), s.stmt.BindInt64(2, 2*firstPlace)); err != nil {
		return 0, 0, err
	}
	s.buf = append(s.buf[:0], '[')
	for s.stmt.Step() {
		if rows > 0 {
			s.buf = append(s.buf, ',')
		}
		rows++
		s.buf = appendRow(s.buf, s.stmt)
		if len(s.buf) >= scanBuffer {
			written += int64(len(s.buf))
			s.buf = s.buf[:0]
		}
	}
	return rows, written + int64(len(s.buf)) + 1, s.stmt.Err() // 1 is the closing bracket
}

func appendRow(dst []byte, stmt *sqlite3.Stmt) []byte {
	return submission{
		id:      stmt.ColumnInt64(0) - firstPlace,
		created: time.UnixMilli(stmt.ColumnInt64(1)).UTC(), username: stmt.ColumnRawText(2), fields: stmt.ColumnRawText(3),
	}.append(dst)
}

// appendTimestamp goes by hand, since the server does: formatting by layout
// would make the raw loop an easier mark.
func appendTimestamp(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	start := len(dst)
	dst = append(dst, "0000-00-00T00:00:00.000+0000"...)
	text := dst[start:]
	for _, part := range [...]struct{ from, to, n int }{
		{0, 4, year},
		{5, 7, int(month)},
		{8, 10, day},
		{11, 13, hour},
		{14, 16, minute},
		{17, 19, second},
		{20, 23, t.Nanosecond() / int(time.Millisecond)},
	} {
		putDigits(text[part.from:part.to], uint64(part.n)) //nolint:gosec // parts of a date are not negative
	}
	return dst
}
