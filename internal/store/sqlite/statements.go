package sqlite

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// sqlSubmission are the columns of readSubmission.
const sqlSubmission = `created, username, fields, ` + sqlChange

// sqlChange are the files and the last change, which is the creation while the submission was never changed.
const sqlChange = `files, ifnull(changed, created), ifnull(changer, username)`

const (
	sqlBegin     = `BEGIN IMMEDIATE`
	sqlBeginRead = `BEGIN`
	sqlCommit    = `COMMIT`
	sqlRollback  = `ROLLBACK`

	// sqlDataVersion is another number after a commit of another connection.
	sqlDataVersion = `PRAGMA data_version`

	// These count how often processes have emptied the WAL.
	sqlEmptied      = `SELECT COALESCE((SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'wal-emptied'), 0)`
	sqlCountEmptied = `INSERT INTO settings VALUES ('wal-emptied', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1`

	// The sequence holds the last id that is reserved.
	sqlLastID    = `SELECT last FROM sequence`
	sqlSetLastID = `UPDATE sequence SET last = ?`

	sqlNewForm = `INSERT INTO forms (page_id, form_id) VALUES (?, ?)`
	sqlForm    = `SELECT number FROM forms WHERE page_id = ? AND form_id = ?`
	sqlGet     = `SELECT ` + sqlSubmission + ` FROM submissions WHERE row_id = ?`
	sqlByKey   = `SELECT ` + sqlSubmission + `, row_id, body FROM submissions WHERE form = ? AND key = ? AND key IS NOT NULL`
	// sqlLatest finds the forms of a user one by one, and the newest submission of each. To every submission that
	// it takes from these, the latest first, it adds the one before in the same form.
	sqlLatest = `WITH RECURSIVE
		mine (form) AS (SELECT min(form)` + sqlMine + `
			UNION ALL SELECT (SELECT min(s.form)` + sqlMine + ` AND s.form > mine.form) FROM mine WHERE form IS NOT NULL),
		latest (form, id) AS (
			SELECT form, (SELECT max(row_id) & 0xffffffffff` + sqlMine + ` AND s.form = mine.form) FROM mine WHERE form IS NOT NULL
			UNION ALL SELECT form, (SELECT max(row_id) & 0xffffffffff` + sqlMine + ` AND s.form = latest.form
				AND row_id < latest.form << 40 | latest.id) FROM latest WHERE id IS NOT NULL
			ORDER BY 2 DESC LIMIT 200)
		SELECT page_id, form_id, id, created FROM latest CROSS JOIN forms ON number = latest.form
			CROSS JOIN submissions ON row_id = latest.form << 40 | id ORDER BY id DESC`
	sqlMine = ` FROM submissions s WHERE username = ?1 AND username <> ''`

	sqlSubmitted = `SELECT 1 WHERE EXISTS (SELECT 1 FROM submissions WHERE form = ?1 AND submitter_key = ?2 AND submitter_key IS NOT NULL)
		OR EXISTS (SELECT 1 FROM submissions WHERE form = ?1 AND username = ?3 AND username <> '')`
	// sqlCount adds 0 to the limit: SQLite compiles a statement again when a plain LIMIT ? is bound.
	sqlCount = `SELECT count(*) FROM (SELECT 1 FROM submissions WHERE row_id > ? AND row_id < ? LIMIT 0 + ?)`
	// sqlCountNamed reads no long fields: they come after the names.
	sqlCountNamed = `SELECT count(NULLIF(username, '')), count(*) FROM (SELECT username FROM forms
		CROSS JOIN submissions ON row_id > number << 40 AND row_id < (number + 1) << 40
		WHERE page_id = ?1 AND form_id = ?2 ORDER BY row_id LIMIT 10000)`
	sqlCountForms = `SELECT page_id, form_id,
			(SELECT count(*) FROM (SELECT 1 FROM submissions WHERE row_id > number << 40 AND row_id < (number + 1) << 40 LIMIT ?3))
		FROM forms WHERE page_id BETWEEN ?1 AND ?2 ORDER BY page_id, form_id`

	sqlInsert    = `INSERT INTO submissions (row_id, form, username, created, fields, definition) VALUES (?, ?, ?, ?, ?, ?)`
	sqlInsertAll = `INSERT INTO submissions (row_id, form, username, created, submitter_key, fields, key, body, files, definition, changed, changer)
		VALUES (?, ?, ?, ?, NULLIF(?, ''), ?, NULLIF(?, ''), NULLIF(?, ''), NULLIF(?, ''), ?, ?, ?)`
	sqlUpdate = `UPDATE submissions SET fields = ?2, files = NULLIF(?3, ''), changed = ?4, changer = ?5 WHERE row_id = ?1`
	sqlDelete = `DELETE FROM submissions WHERE row_id = ?`

	// sqlDefinition looks for no id that could not be one: its row would be that of another form.
	sqlDefinition = `SELECT d.definition FROM forms f CROSS JOIN submissions s ON row_id = number << 40 | ?3
		CROSS JOIN definitions d ON d.page_id = ?1 AND d.form_id = ?2 AND hash = s.definition
		WHERE f.page_id = ?1 AND f.form_id = ?2 AND ?3 BETWEEN 1 AND 0xffffffffff`
	// sqlUnused is the condition that the form of a definition has no submissions.
	sqlUnused = `NOT EXISTS (SELECT 1 FROM forms f CROSS JOIN submissions ON row_id > number << 40 AND row_id < (number + 1) << 40
		WHERE f.page_id = definitions.page_id AND f.form_id = definitions.form_id)`
)

// refusal returns why a form does not take a submission. Counts that it makes are
// added to counts.
func (c *connection) refusal(form int64, n *store.New, counts formCounts) error {
	if err := c.refuseSecond(form, n); err != nil {
		return err
	}
	if n.Limit == 0 {
		return nil
	}
	if _, known := counts[form]; !known {
		count, err := c.count(form, store.MaxLimit)
		if err != nil {
			return err
		}
		if len(counts) >= maxRemembered {
			clear(counts)
		}
		counts[form] = count
	}
	if counts[form] >= n.Limit {
		return store.ErrLimit
	}
	return nil
}

// refuseSecond returns store.ErrAlreadySubmitted if the submitter may have one submission, and has it.
func (c *connection) refuseSecond(form int64, n *store.New) error {
	if n.SubmitterKey == "" {
		return nil
	}
	return c.refuseIfFound(store.ErrAlreadySubmitted, sqlSubmitted, form, n.SubmitterKey, n.Username)
}

// count returns how many submissions a form has, counted up to a limit.
func (c *connection) count(form int64, limit int) (n int, err error) {
	low, high := rowIDRange(form, store.Query{})
	err = c.queryRow(sqlCount, func(row *sqlite3.Stmt) { n = row.ColumnInt(0) }, low, high, int64(limit))
	return n, err
}

// formCounts is how many submissions forms with a limit have, counted up to
// store.MaxLimit. The writer remembers them: to count the rows for each create
// would hold up all writers.
type formCounts map[int64]int

// add records that submissions were stored or deleted. Where the count has stopped at
// store.MaxLimit, it is made again when it is needed.
func (c formCounts) add(form int64, n int) {
	if count, known := c[form]; known && count < store.MaxLimit {
		c[form] = count + n
	} else {
		delete(c, form)
	}
}

// readLastID returns the last id that is reserved. It may lie beyond what can be given.
func (c *connection) readLastID() (last int64, err error) {
	err = c.queryRow(sqlLastID, func(row *sqlite3.Stmt) { last = row.ColumnInt64(0) })
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = errors.New("there is none: the database is damaged")
	case err == nil && (last < 0 || last > forms.MaxSubmissionID+reserveIDs):
		err = fmt.Errorf("it is %d: the database is damaged", last)
	}
	return last, engine.Wrap(err, "read the last id")
}

// insertSubmission stores a new row. Most have neither a key nor files and were not
// changed: a statement with fewer columns, which are bound by hand, is faster.
func (c *connection) insertSubmission(form int64, r *store.Record) error {
	if r.Key == "" && r.SubmitterKey == "" && len(r.Files) == 0 && !r.IsChanged() {
		stmt, err := c.prepare(sqlInsert)
		if err != nil {
			return err
		}
		if err := cmp.Or(stmt.BindInt64(1, makeRowID(form, r.ID)), stmt.BindInt64(2, form), stmt.BindText(3, r.Username),
			stmt.BindInt64(4, r.Created.UnixMilli()), stmt.BindRawText(5, r.Entries),
			stmt.BindBlob(6, r.Definition.Hash[:])); err != nil {
			return err
		}
		return stmt.Exec()
	}
	row := []any{
		makeRowID(form, r.ID), form, r.Username, r.Created.UnixMilli(), r.SubmitterKey, r.Entries,
		r.Key, r.Body, string(forms.EncodeFiles(r.Files)), r.Definition.Hash[:],
	}
	return c.run(sqlInsertAll, append(row, lastChange(&r.Submission)...)...)
}

// lastChange returns the last two columns of a submission.
func lastChange(s *forms.Submission) []any {
	if !s.IsChanged() {
		return []any{nil, nil}
	}
	return []any{s.Changed.UnixMilli(), s.Changer}
}

// listSQL returns the statement that reads a list.
func listSQL(q store.Query) string {
	from, user, order := `submissions`, ``, ` ORDER BY row_id`
	switch {
	case q.IDs != nil: // no ORDER BY: it would read all rows first. CROSS JOIN keeps the order of the ids.
		from, order = `json_each(?3) CROSS JOIN submissions ON row_id = ?1 + value`, ``
	case q.Descending:
		order += ` DESC`
	}
	if q.Username != nil {
		user = ` AND form = ? AND username = ? AND username <> ''`
	}
	change := ``
	if q.Changes {
		change = `, ` + sqlChange
	}
	return `SELECT row_id, created, username, fields` + change + ` FROM ` + from + ` WHERE row_id > ?1 AND row_id < ?2` + user + order
}
