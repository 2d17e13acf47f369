package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Report describes a store or a backup without faults.
type Report struct {
	Files       int64 // of these submissions, with the contents that were stored
	Submissions int64
	Checksum    string // of all submissions, see store.Digest
	Sealed      bool   // it carries a digest of its content, which is still right

	digest string // what it should carry
}

// Verify checks one snapshot of the store in directory dir. A server may write to
// it meanwhile.
func Verify(ctx context.Context, dir string, progress Progress) (Report, error) {
	if err := errors.Join(Exists(dir), refuseReadOnly(dir)); err != nil {
		return Report{}, err
	}
	file := filepath.Join(dir, FileName)
	conn, err := openShared(ctx, file)
	if err != nil {
		return Report{}, fmt.Errorf("open %s: %w", file, classify(err))
	}
	defer func() { _ = conn.Close() }()
	return checkConn(ctx, conn, file, progress)
}

// VerifyBackup checks a backup.
func VerifyBackup(ctx context.Context, file string, progress Progress) (Report, error) {
	if err := checkBackupFile(file); err != nil {
		return Report{}, err
	}
	return checkFile(ctx, file, file, progress)
}

// openShared opens the database of a store that a server may have open, too.
func openShared(ctx context.Context, file string) (*sqlite3.Conn, error) {
	if err := checkWAL(file); err != nil {
		return nil, err
	}
	unclosed := size(file+"-wal") > 0 // a server has it open, or was killed
	conn, err := sqlite3.OpenContext(ctx, fileURI(file, filesName)+"&mode=rw")
	if err != nil {
		return nil, err
	}
	err = conn.BusyTimeout(busyTimeout)
	if err == nil && unclosed { // looking at it must not change it
		err = keepWAL(conn)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// checkFile checks a file that no process writes to. Errors call it name. SQLite
// creates no file beside it.
func checkFile(ctx context.Context, file, name string, progress Progress) (Report, error) {
	conn, err := sqlite3.OpenContext(ctx, fileURI(file, filesName)+"&mode=ro&immutable=1")
	if err != nil {
		return Report{}, fmt.Errorf("open %s: %w", name, classify(err))
	}
	defer func() { _ = conn.Close() }()
	return checkConn(ctx, conn, name, progress)
}

// checkConn checks what a connection sees in one read transaction.
func checkConn(ctx context.Context, conn *sqlite3.Conn, name string, progress Progress) (Report, error) {
	c := checker{conn: conn, progress: progress}
	err := conn.Exec(`BEGIN`)
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil && len(c.faults) > 0 {
		err = fmt.Errorf("it is damaged: %w", errors.Join(c.faults...))
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", name, classify(err))
	}
	return c.report, nil
}

// maxFaults bounds how many faults of a kind are reported.
const maxFaults = 10

// checker collects what is wrong with a database.
type checker struct {
	conn     *sqlite3.Conn
	progress Progress
	report   Report
	faults   []error
}

// run returns an error for a file that is no store or can't be read at all.
func (c *checker) run(ctx context.Context) error {
	if err := requireSchema(c.conn); err != nil {
		return err
	}
	if copyOf, err := setting(c.conn, store.SettingCopyOf); err != nil || copyOf != "" {
		return errors.Join(err, errors.New("it is a copy that was not finished: finish it first"))
	}
	c.checkPages()
	if len(c.faults) > 0 {
		return nil
	}
	c.checkContent()
	return c.checkSubmissions(ctx)
}

// checkPages runs SQLite's integrity check.
func (c *checker) checkPages() {
	err := queryRows(c.conn, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFaults), func(row *sqlite3.Stmt) {
		if found := row.ColumnText(0); found != "ok" {
			c.faults = append(c.faults, errors.New(found))
		}
	})
	if err != nil {
		c.faults = append(c.faults, err)
	}
}

// checkContent checks the rules of this schema, which SQLite does not know. Only
// damage or an edit by hand can break them; submissions would be lost, or ids
// assigned twice.
func (c *checker) checkContent() {
	// The result of each query is 0 when all is well.
	for _, rule := range []struct{ query, fault string }{
		{`SELECT count(*) <> 1 FROM sequence`, "it does not tell the last id"},
		{`SELECT ifnull(max(place & 0xffffffffff), 0) > (SELECT last FROM sequence) FROM submissions`, "a submission has an id that was not given yet"},
		{`SELECT count(*) FROM forms WHERE page_id < 1`, "a form is on no page"},
		{`SELECT count(*) FROM submissions WHERE form <> place >> 40 OR form NOT IN (SELECT number FROM forms)`, "a submission belongs to no form"},
		{`SELECT count(*) FROM submissions WHERE NOT json_valid(fields)`, "the answers of a submission can't be read"},
		{`SELECT count(*) <> 1 FROM settings WHERE name = '` + store.SettingStoreID + `'`, "the id of the store is missing"},
		{`SELECT count(*) FROM settings WHERE name NOT IN ('` + store.SettingStoreID + `', '` + store.SettingCopyOf + `', '` +
			store.SettingOnceKey + `', '` + store.SettingDigest + `')`, "it has a setting that this formulary does not know"},
		{`SELECT count(*) FROM submissions WHERE files IS NOT NULL AND NOT json_valid(files)`, "the files of a submission can't be read"},
		{
			`WITH named AS (SELECT file.value ->> 'id' AS id FROM submissions, json_each(files) AS file WHERE files IS NOT NULL AND json_valid(files))
			SELECT count(*) FROM (SELECT DISTINCT file FROM file_chunks) WHERE file NOT IN (SELECT id FROM named) AND file NOT IN (SELECT id FROM loose_files)`,
			"the content of a file belongs to no submission",
		},
	} {
		switch found, err := queryInt(c.conn, rule.query); {
		case err != nil:
			c.faults = append(c.faults, err)
		case found != 0:
			c.faults = append(c.faults, errors.New(rule.fault))
		}
	}
}

// checkSubmissions reads every submission, and compares all that there is with
// the digest, where there is one.
func (c *checker) checkSubmissions(ctx context.Context) error {
	total, err := queryInt(c.conn, `SELECT count(*) FROM submissions`)
	if err != nil {
		return err
	}
	stmt, err := prepareDump(c.conn, store.Key{})
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	digest, unread := store.NewDigest(), 0
	err = dumpRows(ctx, c.conn, stmt, func(r store.Record) error {
		if digest.Add(r); digest.Count%1000 == 0 {
			c.progress("checking", "submissions", digest.Count, int64(total))
		}
		_, err := r.Entries.Decode()
		if err = cmp.Or(err, r.Entries.CheckIDs(r.ID)); err != nil {
			if unread++; unread <= maxFaults {
				c.faults = append(c.faults, fmt.Errorf("submission %d: %w", r.ID, err))
			}
		}
		c.checkFiles(r)
		return nil
	})
	if err != nil {
		return err
	}
	c.progress("checking", "submissions", digest.Count, int64(total))
	if digest.Count != int64(total) {
		c.faults = append(c.faults, fmt.Errorf("%d of %d submissions can't be found", int64(total)-digest.Count, total))
	}
	c.report.Submissions, c.report.Checksum = digest.Count, digest.Sum()
	return c.checkDigest()
}

// checkFiles reads the contents of a submission's files.
func (c *checker) checkFiles(r store.Record) {
	for _, f := range r.Files {
		file := r.Open(f)
		if err := engine.CheckFile(f, file); err != nil && len(c.faults) < 3*maxFaults {
			c.faults = append(c.faults, fmt.Errorf("submission %d: %w", r.ID, err))
		}
		_ = file.Close() // it has been read
		c.report.Files++
	}
}

func (c *checker) checkDigest() (err error) {
	if c.report.digest, err = c.computeDigest(); err != nil {
		return err
	}
	carried, err := setting(c.conn, store.SettingDigest)
	if err != nil {
		return err
	}
	c.report.Sealed = carried != ""
	if c.report.Sealed && carried != c.report.digest {
		c.faults = append(c.faults, errors.New("its content is not what it was when the backup was made: take another backup"))
	}
	return nil
}

// computeDigest is a digest of all that a backup holds: the submissions by
// their checksum, and everything else row by row.
func (c *checker) computeDigest() (string, error) {
	all := sha256.New()
	_, _ = fmt.Fprintln(all, c.report.Checksum)
	for _, query := range []string{
		`SELECT json_array(type, name, tbl_name, sql) FROM sqlite_schema ORDER BY type, name`,
		`SELECT json_array(number, page_id, form_id) FROM forms ORDER BY number`,
		`SELECT last FROM sequence`,
		`SELECT json_array(name, value) FROM settings WHERE name <> '` + store.SettingDigest + `' ORDER BY name`,
	} {
		err := queryRows(c.conn, query, func(row *sqlite3.Stmt) { _, _ = fmt.Fprintln(all, row.ColumnText(0)) })
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

func queryRows(conn *sqlite3.Conn, sql string, visit func(row *sqlite3.Stmt)) error {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for stmt.Step() {
		visit(stmt)
	}
	return stmt.Err()
}
