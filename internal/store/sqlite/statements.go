package sqlite

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	sqlForm = `SELECT number FROM forms WHERE page_id = ? AND form_id = ?`
	sqlGet  = `SELECT created, username, fields FROM submissions WHERE place = ?`
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

// writeStmts are the statements of the writing connection.
type writeStmts struct {
	prepared
	begin, commit, rollback          *sqlite3.Stmt
	sequences, setSequences          *sqlite3.Stmt
	form, newForm                    *sqlite3.Stmt
	get, byUser, insert, update, del *sqlite3.Stmt
}

func prepareWrites(conn *sqlite3.Conn) (*writeStmts, error) {
	w := &writeStmts{prepared: prepared{conn: conn}}
	w.begin = w.add(`BEGIN IMMEDIATE`)
	w.commit = w.add(`COMMIT`)
	w.rollback = w.add(`ROLLBACK`)
	w.sequences = w.add(`SELECT submission, entry FROM sequences`)
	w.setSequences = w.add(`UPDATE sequences SET submission = ?, entry = ?`)
	w.form = w.add(sqlForm)
	w.newForm = w.add(`INSERT INTO forms (page_id, form_id) VALUES (?, ?)`)
	w.get = w.add(sqlGet)
	w.byUser = w.add(`SELECT 1 FROM submissions WHERE form = ? AND username = ? AND username <> '' LIMIT 1`)
	w.insert = w.add(`INSERT INTO submissions (place, form, username, created, once, fields) VALUES (?, ?, ?, ?, ?, ?)`)
	w.update = w.add(`UPDATE submissions SET fields = ? WHERE place = ?`)
	w.del = w.add(`DELETE FROM submissions WHERE place = ?`)
	if w.err != nil {
		return nil, errors.Join(w.err, w.close())
	}
	return w, nil
}

func (w *writeStmts) readSequences() (store.Sequences, error) {
	defer func() { _ = w.sequences.Reset() }()
	if !w.sequences.Step() {
		return store.Sequences{}, fmt.Errorf("read sequences: %w", cmp.Or(w.sequences.Err(), errNoSequences))
	}
	last := store.Sequences{Submission: w.sequences.ColumnInt64(0), Entry: w.sequences.ColumnInt64(1)}
	// What is reserved may lie beyond what can be given.
	if min(last.Submission, last.Entry) < 0 || last.Submission > maxID+reserve.Submission || last.Entry > maxEntry+reserve.Entry {
		return store.Sequences{}, fmt.Errorf("read sequences: %d and %d are no ids: the database is damaged", last.Submission, last.Entry)
	}
	return last, nil
}

var errNoSequences = errors.New("there are none: the database is damaged")

func (w *writeStmts) writeSequences(s store.Sequences) error {
	return errors.Join(w.setSequences.BindInt64(1, s.Submission), w.setSequences.BindInt64(2, s.Entry), w.setSequences.Exec())
}

func (w *writeStmts) hasByUser(form int64, username string) (bool, error) {
	defer func() { _ = w.byUser.Reset() }()
	if err := errors.Join(w.byUser.BindInt64(1, form), w.byUser.BindText(2, username)); err != nil {
		return false, err
	}
	return w.byUser.Step(), w.byUser.Err()
}

func (w *writeStmts) insertSubmission(form int64, s forms.Submission, once string) error {
	err := errors.Join(
		w.insert.BindInt64(1, makeRowID(form, s.ID)), w.insert.BindInt64(2, form), w.insert.BindText(3, s.Username),
		w.insert.BindInt64(4, s.Created.UnixMilli()), w.insert.BindRawText(6, s.Entries))
	if once == "" {
		err = errors.Join(err, w.insert.BindNull(5))
	} else {
		err = errors.Join(err, w.insert.BindText(5, once))
	}
	if err != nil {
		return err
	}
	return w.insert.Exec()
}

func (w *writeStmts) updateSubmission(rowID int64, entries forms.Entries) error {
	return errors.Join(w.update.BindRawText(1, entries), w.update.BindInt64(2, rowID), w.update.Exec())
}

func (w *writeStmts) deleteSubmission(rowID int64) (found bool, err error) {
	err = errors.Join(w.del.BindInt64(1, rowID), w.del.Exec())
	return w.conn.Changes() > 0, err
}

// listKind selects one of the list statements.
type listKind struct{ byUser, descending bool }

// readStmts are the statements of a reading connection.
type readStmts struct {
	prepared
	form *sqlite3.Stmt
	get  *sqlite3.Stmt
	list map[listKind]*sqlite3.Stmt
}

func prepareReads(conn *sqlite3.Conn) (*readStmts, error) {
	r := &readStmts{prepared: prepared{conn: conn}, list: map[listKind]*sqlite3.Stmt{}}
	r.form = r.add(sqlForm)
	r.get = r.add(sqlGet)
	for _, k := range []listKind{{}, {byUser: true}, {descending: true}, {byUser: true, descending: true}} {
		r.list[k] = r.add(listSQL(k))
	}
	if r.err != nil {
		return nil, errors.Join(r.err, r.close())
	}
	return r, nil
}

func listSQL(k listKind) string {
	order, user := `ASC`, ``
	if k.descending {
		order = `DESC`
	}
	if k.byUser {
		user = ` AND form = ?3 AND username = ?4 AND username <> ''`
	}
	return `SELECT place, created, username, fields FROM submissions WHERE place > ?1 AND place < ?2` + user +
		` ORDER BY place ` + order
}
