package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const sqlGet = `SELECT created, username, fields FROM submissions WHERE id = ? AND page_id = ? AND form_id = ?`

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
	get, byUser, insert, update, del *sqlite3.Stmt
}

func prepareWrites(conn *sqlite3.Conn) (*writeStmts, error) {
	w := &writeStmts{prepared: prepared{conn: conn}}
	w.begin = w.add(`BEGIN IMMEDIATE`)
	w.commit = w.add(`COMMIT`)
	w.rollback = w.add(`ROLLBACK`)
	w.sequences = w.add(`SELECT submission, entry FROM sequences`)
	w.setSequences = w.add(`UPDATE sequences SET submission = ?, entry = ?`)
	w.get = w.add(sqlGet)
	w.byUser = w.add(`SELECT 1 FROM submissions WHERE page_id = ? AND form_id = ? AND username = ? AND username <> '' LIMIT 1`)
	w.insert = w.add(`INSERT INTO submissions (id, page_id, form_id, username, created, once, fields) VALUES (?, ?, ?, ?, ?, ?, ?)`)
	w.update = w.add(`UPDATE submissions SET fields = ? WHERE id = ?`)
	w.del = w.add(`DELETE FROM submissions WHERE id = ? AND page_id = ? AND form_id = ?`)
	if w.err != nil {
		return nil, errors.Join(w.err, w.close())
	}
	return w, nil
}

func (w *writeStmts) readSequences() (sequences, error) {
	defer func() { _ = w.sequences.Reset() }()
	if !w.sequences.Step() {
		return sequences{}, fmt.Errorf("read sequences: %w", w.sequences.Err())
	}
	return sequences{submission: w.sequences.ColumnInt64(0), entry: w.sequences.ColumnInt64(1)}, nil
}

func (w *writeStmts) writeSequences(s sequences) error {
	return errors.Join(w.setSequences.BindInt64(1, s.submission), w.setSequences.BindInt64(2, s.entry), w.setSequences.Exec())
}

func (w *writeStmts) hasByUser(n store.New) (bool, error) {
	defer func() { _ = w.byUser.Reset() }()
	err := errors.Join(w.byUser.BindInt64(1, n.PageID), w.byUser.BindText(2, n.FormID), w.byUser.BindText(3, n.Username))
	if err != nil {
		return false, err
	}
	return w.byUser.Step(), w.byUser.Err()
}

func (w *writeStmts) insertSubmission(s forms.Submission, once string) error {
	err := errors.Join(
		w.insert.BindInt64(1, s.ID), w.insert.BindInt64(2, s.PageID), w.insert.BindText(3, s.FormID),
		w.insert.BindText(4, s.Username), w.insert.BindInt64(5, s.Created.UnixMilli()), w.insert.BindRawText(7, s.Entries))
	if once == "" {
		err = errors.Join(err, w.insert.BindNull(6))
	} else {
		err = errors.Join(err, w.insert.BindText(6, once))
	}
	if err != nil {
		return err
	}
	return w.insert.Exec()
}

func (w *writeStmts) updateSubmission(s forms.Submission) error {
	return errors.Join(w.update.BindRawText(1, s.Entries), w.update.BindInt64(2, s.ID), w.update.Exec())
}

func (w *writeStmts) deleteSubmission(key store.Key) (found bool, err error) {
	err = errors.Join(bindKey(w.del, 1, key), w.del.Exec())
	return w.conn.Changes() > 0, err
}

// listKind selects one of the list statements.
type listKind struct{ byUser, descending bool }

// readStmts are the statements of a reading connection.
type readStmts struct {
	prepared
	get  *sqlite3.Stmt
	list map[listKind]*sqlite3.Stmt
}

func prepareReads(conn *sqlite3.Conn) (*readStmts, error) {
	r := &readStmts{prepared: prepared{conn: conn}, list: map[listKind]*sqlite3.Stmt{}}
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
	beyond, order, user := `id > ?3`, `ASC`, ``
	if k.descending {
		beyond, order = `id < ?3`, `DESC`
	}
	if k.byUser {
		user = ` AND username = ?4 AND username <> ''`
	}
	return `SELECT id, created, username, fields FROM submissions WHERE page_id = ?1 AND form_id = ?2 AND ` +
		beyond + user + ` ORDER BY id ` + order
}
