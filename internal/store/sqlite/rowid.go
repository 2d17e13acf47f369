package sqlite

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// The row id of a submission, column row_id, holds the number of
// its form in the upper bits and its own id in the lower 40. So the rows of a
// form are stored next to each other in the order of their ids, and the table
// itself is the only index that lists need.
const (
	idBits = 40
	maxID  = forms.MaxSubmissionID // 1<<idBits - 1
	// maxForm leaves one number free: the range of the last form ends where the next would begin.
	maxForm = 1<<(63-idBits) - 2
)

func makeRowID(form, id int64) int64 { return form<<idBits | id }

// submissionID is the id of the submission in a row.
func submissionID(rowID int64) int64 { return rowID & maxID }

// rowIDRange returns the row ids that a query on a form selects, both ends excluded.
func rowIDRange(form int64, q store.Query) (low, high int64) {
	low, high = makeRowID(form, 0), makeRowID(form+1, 0)
	after := min(q.After, maxID+1) // higher than every id, and still in the range of the form
	switch {
	case after == 0:
	case q.Descending:
		high = low + after
	default:
		low += after
	}
	return low, high
}

// formName is how clients address a form.
type formName struct {
	pageID int64
	formID string
}

// formNumbers caches the numbers of forms, which never change once they are
// committed.
type formNumbers struct {
	mu     sync.RWMutex
	number map[formName]int64
}

// maxRemembered bounds the memory of the cache.
const maxRemembered = 100_000

// find returns the number of a form. It is remembered, unless it may be rolled back.
func (f *formNumbers) find(conn *connection, name formName, committed bool) (int64, error) {
	f.mu.RLock()
	n, ok := f.number[name]
	f.mu.RUnlock()
	if ok {
		return n, nil
	}
	n, err := readForm(conn, name)
	if err == nil && committed {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.number == nil || len(f.number) >= maxRemembered {
			f.number = map[formName]int64{}
		}
		f.number[name] = n
	}
	return n, err
}

// errNoForm: nothing was ever stored under that page and form.
var errNoForm = fmt.Errorf("%w: no such form", store.ErrNotFound)

// readForm looks up the number of a form.
func readForm(conn *connection, name formName) (n int64, err error) {
	err = conn.queryRow(sqlForm, func(row *sqlite3.Stmt) { n = row.ColumnInt64(0) }, name.pageID, name.formID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return 0, errNoForm
	case err != nil:
		return 0, fmt.Errorf("look up form: %w", err)
	case n > maxForm:
		return 0, fmt.Errorf("form %s on page %d is number %d of a store that can hold %d",
			name.formID, name.pageID, n, maxForm)
	}
	return n, nil
}

// form is the number of a form outside of a transaction, as it is committed.
func (s *Store) form(conn *connection, name formName) (int64, error) {
	return s.forms.find(conn, name, true)
}

// form is the number of a form within a transaction.
func (t *tx) form(name formName) (int64, error) { return t.forms.find(t.conn, name, !t.hasNewForm) }

// formOrNew is form for a form that may have no number yet.
func (t *tx) formOrNew(name formName) (int64, error) {
	n, err := t.form(name)
	if !errors.Is(err, errNoForm) {
		return n, err
	}
	t.hasNewForm = true
	if err := t.conn.run(sqlNewForm, name.pageID, name.formID); err != nil {
		return 0, fmt.Errorf("number a form: %w", err)
	}
	return t.form(name)
}

// rowID returns the row id that a submission has if it exists.
func (f *formNumbers) rowID(conn *connection, key store.Key, committed bool) (int64, error) {
	if key.ID < 1 || key.ID > maxID { // its row id would belong to another form
		return 0, store.ErrNotFound
	}
	n, err := f.find(conn, formName{key.PageID, key.FormID}, committed)
	return makeRowID(n, key.ID), err
}
