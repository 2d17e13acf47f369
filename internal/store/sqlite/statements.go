package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// sqlSubmission are the columns of readSubmission.
const sqlSubmission = `created, username, fields, files, ` + sqlChange

// sqlChange is the creation while the submission was never changed.
const sqlChange = `ifnull(changed, created), ifnull(changer, username)`

const (
	sqlForm  = `SELECT number FROM forms WHERE page_id = ? AND form_id = ?`
	sqlGet   = `SELECT ` + sqlSubmission + ` FROM submissions WHERE row_id = ?`
	sqlChunk = `SELECT data FROM file_chunks WHERE file = ? AND number = ?`
	sqlKey   = `SELECT ` + sqlSubmission + `, row_id, body FROM submissions WHERE form = ? AND key = ? AND key IS NOT NULL`
	// sqlLatest reads no large texts. It has no LIMIT, and callers stop reading
	// instead: SQLite compiles a statement anew whenever a parameter of LIMIT is
	// bound.
	sqlLatest = `SELECT row_id, created, page_id, form_id FROM submissions CROSS JOIN forms ON number = form
		WHERE username = ? AND username <> '' ORDER BY row_id & 0xffffffffff DESC`
	sqlSubmitted = `SELECT 1 WHERE EXISTS (SELECT 1 FROM submissions WHERE form = ?1 AND submitter_key = ?2 AND submitter_key IS NOT NULL)
		OR EXISTS (SELECT 1 FROM submissions WHERE form = ?1 AND username = ?3 AND username <> '')`
	// sqlFull returns a row if a form has ?3 submissions. It counts up to store.MaxLimit.
	sqlFull = `SELECT 1 WHERE ?3 <= (SELECT count(*) FROM (SELECT 1 FROM submissions WHERE row_id > ?1 AND row_id < ?2 LIMIT 10000))`
)

// prepared remembers every statement made through it, so that they are closed together.
type prepared struct {
	conn  *sqlite3.Conn
	stmts []*sqlite3.Stmt
	err   error
}

func (p *prepared) add(sql string) *sqlite3.Stmt {
	if p.err != nil {
		return nil
	}
	stmt, _, err := p.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		p.err = fmt.Errorf("prepare %q: %w", sql, err)
		return nil
	}
	p.stmts = append(p.stmts, stmt)
	return stmt
}

func (p *prepared) close() error {
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// refusalStmts are the statements that look for what refuses a create.
type refusalStmts struct{ submitted, full *sqlite3.Stmt }

func (p *prepared) addRefusal() refusalStmts {
	return refusalStmts{p.add(sqlSubmitted), p.add(sqlFull)}
}

// refusal returns why a form does not take a submission.
func (r refusalStmts) refusal(form int64, n store.New) error {
	if n.SubmitterKey != "" {
		if err := refuseIfFound(store.ErrAlreadySubmitted, r.submitted, form, n.SubmitterKey, n.Username); err != nil {
			return err
		}
	}
	if n.Limit == 0 {
		return nil
	}
	low, high := rowIDRange(form, store.Query{})
	return refuseIfFound(store.ErrLimit, r.full, low, high, int64(n.Limit))
}

// writeStmts are the statements of the writing connection.
type writeStmts struct {
	prepared
	refusalStmts
	begin, commit, rollback        *sqlite3.Stmt
	lastID, setLastID              *sqlite3.Stmt
	form, newForm                  *sqlite3.Stmt
	get, byKey                     *sqlite3.Stmt
	insert, insertAll, update, del *sqlite3.Stmt
	stageFile, touchFile, putChunk *sqlite3.Stmt
	insertEvent                    *sqlite3.Stmt
}

func prepareWrites(conn *sqlite3.Conn) (*writeStmts, error) {
	w := &writeStmts{prepared: prepared{conn: conn}}
	w.begin = w.add(`BEGIN IMMEDIATE`)
	w.commit = w.add(`COMMIT`)
	w.rollback = w.add(`ROLLBACK`)
	w.lastID = w.add(`SELECT last FROM sequence`)
	w.setLastID = w.add(`UPDATE sequence SET last = ?`)
	w.form = w.add(sqlForm)
	w.newForm = w.add(`INSERT INTO forms (page_id, form_id) VALUES (?, ?)`)
	w.get = w.add(sqlGet)
	w.byKey = w.add(sqlKey)
	w.refusalStmts = w.addRefusal()
	w.insert = w.add(`INSERT INTO submissions (row_id, form, username, created, submitter_key, fields) VALUES (?, ?, ?, ?, ?, ?)`)
	w.insertAll = w.add(`INSERT INTO submissions (row_id, form, username, created, submitter_key, fields, key, body, files, changed, changer)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	w.update = w.add(`UPDATE submissions SET fields = ?, files = ?, changed = ?, changer = ? WHERE row_id = ?`)
	w.del = w.add(`DELETE FROM submissions WHERE row_id = ?`)
	w.stageFile = w.add(`INSERT INTO staged_files (touched, id, removed) VALUES (?, ?, 0)`)
	w.touchFile = w.add(`UPDATE staged_files SET touched = ? WHERE id = ? AND removed = 0`)
	w.putChunk = w.add(`INSERT INTO file_chunks (file, number, data) VALUES (?, ?, ?)`)
	w.insertEvent = w.add(sqlInsertEvent)
	if w.err != nil {
		return nil, errors.Join(w.err, w.close())
	}
	return w, nil
}

// readLastID returns the last id that is reserved. It may lie beyond what can be given.
func (w *writeStmts) readLastID() (int64, error) {
	var last int64
	found := false
	err := query(w.lastID, func() bool { last, found = w.lastID.ColumnInt64(0), true; return false })
	switch {
	case err != nil:
	case !found:
		err = errors.New("there is none: the database is damaged")
	case last < 0 || last > forms.MaxSubmissionID+reserveIDs:
		err = fmt.Errorf("it is %d: the database is damaged", last)
	}
	return last, engine.Wrap(err, "read the last id")
}

// insertSubmission stores a new row. Most have neither a key nor files and were not
// changed, and a statement with fewer columns is faster.
func (w *writeStmts) insertSubmission(form int64, r store.Record) error {
	row := [...]any{makeRowID(form, r.ID), form, r.Username, r.Created.UnixMilli(), optional(r.SubmitterKey), r.Entries}
	if r.Key == "" && len(r.Files) == 0 && !r.IsChanged() {
		return run(w.insert, row[:]...)
	}
	files, err := forms.EncodeFiles(r.Files)
	if err != nil {
		return err
	}
	return run(w.insertAll, append(append(row[:], optional(r.Key), optional(r.Body), optional(files)), lastChange(&r.Submission)...)...)
}

// lastChange returns the last two columns of a submission.
func lastChange(s *forms.Submission) []any {
	if !s.IsChanged() {
		return []any{nil, nil}
	}
	return []any{s.Changed.UnixMilli(), s.Changer}
}

func (w *writeStmts) updateSubmission(rowID int64, s forms.Submission) error {
	files, err := forms.EncodeFiles(s.Files)
	if err != nil {
		return err
	}
	return run(w.update, append(append([]any{s.Entries, optional(files)}, lastChange(&s)...), rowID)...)
}

// readStmts are the statements of a reading connection.
type readStmts struct {
	prepared
	refusalStmts
	form, get, byKey, latest, chunk, session, dueQueues *sqlite3.Stmt

	list map[engine.ListKind]*sqlite3.Stmt
}

func prepareReads(conn *sqlite3.Conn) (*readStmts, error) {
	r := &readStmts{prepared: prepared{conn: conn}, list: map[engine.ListKind]*sqlite3.Stmt{}}
	r.form = r.add(sqlForm)
	r.get = r.add(sqlGet)
	r.byKey = r.add(sqlKey)
	r.refusalStmts = r.addRefusal()
	r.latest = r.add(sqlLatest)
	r.chunk = r.add(sqlChunk)
	r.session = r.add(sqlSession)
	r.dueQueues = r.add(sqlDueQueues)
	for _, k := range engine.ListKinds {
		r.list[k] = r.add(listSQL(k))
	}
	if r.err != nil {
		return nil, errors.Join(r.err, r.close())
	}
	return r, nil
}

func listSQL(k engine.ListKind) string {
	order, user := `ASC`, ``
	if k.Descending {
		order = `DESC`
	}
	if k.ByUser {
		user = ` AND form = ?3 AND username = ?4 AND username <> ''`
	}
	change := ``
	if k.Changes {
		change = `, ` + sqlChange
	}
	return `SELECT row_id, created, username, fields` + change + ` FROM submissions WHERE row_id > ?1 AND row_id < ?2` + user +
		` ORDER BY row_id ` + order
}
