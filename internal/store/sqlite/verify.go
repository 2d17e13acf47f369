package sqlite

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Report is what a store or a backup without faults holds.
type Report struct{ Submissions, Files int64 }

// Verify checks one snapshot of the store in directory dir. A server may write to
// it meanwhile.
func Verify(ctx context.Context, dir string, progress Progress) (report Report, err error) {
	if err := errors.Join(Exists(dir), refuseReadOnly(dir)); err != nil {
		return report, err
	}
	file := filepath.Join(dir, FileName)
	conn, err := openShared(ctx, file)
	if err == nil {
		defer conn.Close()
		report, err = checkContent(ctx, conn, progress)
	}
	return report, checkError(ctx, file, err)
}

// VerifyBackup checks a backup.
func VerifyBackup(ctx context.Context, file string, progress Progress) (Report, error) {
	if err := checkBackupFile(file); err != nil {
		return Report{}, err
	}
	return checkFile(ctx, file, file, progress)
}

// openShared opens a store that a server may have open, too.
func openShared(ctx context.Context, file string) (*connection, error) {
	unclosed := size(file+"-wal") > 0 // a server has it open, or was killed
	conn, err := connect(ctx, fileURI(file, vfsName)+"&mode=rw")
	if err != nil {
		return nil, err
	}
	err = conn.BusyTimeout(busyTimeout)
	if err == nil && unclosed { // a check must not change the store
		err = keepWAL(conn)
	}
	if err == nil {
		err = requireStore(conn)
	}
	return conn.orClose(err)
}

// checkFile checks a file that no process writes to, down to the last bit.
// Errors call it name. SQLite creates no file beside it.
func checkFile(ctx context.Context, file, name string, progress Progress) (report Report, err error) {
	conn, err := connect(ctx, fileURI(file, vfsName)+"&mode=ro&immutable=1")
	if err == nil {
		defer conn.Close()
		err = requireStore(conn)
	}
	if err == nil {
		err = checkPages(ctx, file, progress)
	}
	if err == nil {
		report, err = checkContent(ctx, conn, progress)
	}
	return report, checkError(ctx, name, err)
}

// checkError returns nil if there is no error.
func checkError(ctx context.Context, name string, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return engine.Wrap(classify(err), "check %s", name)
}

// requireStore refuses a database that is not a complete store of this version.
func requireStore(conn *connection) error {
	version, err := readVersion(conn)
	if err != nil {
		return err
	}
	if version == 0 {
		return errors.New("it is empty")
	}
	if err := cmp.Or(migrations.Require(version, false), checkSchema(conn)); err != nil {
		return err
	}
	unfinished := errors.New("it is a copy that was not finished: finish it first")
	return conn.refuseIfFound(unfinished, dialect.Replace(engine.SQLSetting), store.SettingUnfinishedCopy)
}

// checkPages compares every page of a file with its checksum, those that are
// not in use included, and their number with the one in the header. SQLite's own
// check reads only pages in use, and does not notice changed values.
func checkPages(ctx context.Context, file string, progress Progress) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, page, pages := bufio.NewReaderSize(f, 1<<20), make([]byte, pageBytes), int64(1)
	for number := int64(1); number <= pages; number++ {
		if _, err := io.ReadFull(r, page); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("it is damaged: it ends in page %d of %d", number, pages)
		} else if err != nil {
			return err
		}
		if !intact(number, page) {
			return fmt.Errorf("it is damaged: page %d does not match its checksum", number)
		}
		if number == 1 {
			pages = int64(binary.BigEndian.Uint32(page[pagesOffset:]))
		}
		if number%256 == 0 || number == pages {
			if err := ctx.Err(); err != nil {
				return err
			}
			progress("checking", "bytes", number*pageBytes, info.Size())
		}
	}
	if info.Size() != pages*pageBytes {
		return fmt.Errorf("it is damaged: it has %d bytes, and %d pages of %d", info.Size(), pages, pageBytes)
	}
	return nil
}

const (
	pagesOffset = 28 // of the number of pages in the header

	// lockPage is the page that SQLite never writes: its bytes in the file are
	// reserved for locks.
	lockPage = 1<<30/pageBytes + 1
)

// intact reports whether a page is what was written, as it is in the file.
func intact(number int64, page []byte) bool {
	content, sum := page[:pageBytes-checksumBytes], page[pageBytes-checksumBytes:]
	return number == lockPage || bytes.Equal(sum, checksum(content))
}

// maxFaults bounds how many faults are reported.
const maxFaults = 10

// faults collects what is wrong with a database.
type faults []error

func (f *faults) add(err error) {
	if err != nil && len(*f) < maxFaults {
		*f = append(*f, err)
	}
}

func (f *faults) err() error {
	if len(*f) == 0 {
		return nil
	}
	return fmt.Errorf("it is damaged: %w", errors.Join(*f...))
}

// checkContent checks what a connection sees in one read transaction: pages and
// indexes, then the rules of the schema, then each submission and file.
func checkContent(ctx context.Context, conn *connection, progress Progress) (report Report, err error) {
	if err := conn.Exec(`BEGIN`); err != nil {
		return report, err
	}
	var found faults
	found.add(integrityCheck(conn, &found))
	if err := found.err(); err != nil {
		return report, err
	}
	checkRules(conn, &found)
	_, err = engine.ReadKeeps(ctx, conn, engine.SQLAllKeeps)
	found.add(err)
	total, err := conn.queryInt(`SELECT count(*) FROM submissions`)
	if err != nil {
		return report, err
	}
	for r, err := range dumpRows(ctx, conn) {
		if err != nil {
			return report, err
		}
		if report.Submissions++; report.Submissions%1000 == 0 {
			progress("checking", "submissions", report.Submissions, total)
		}
		_, err = r.Entries.Decode()
		found.add(engine.Wrap(cmp.Or(err, r.Entries.CheckIDs(r.ID)), "submission %d", r.ID))
		for _, f := range r.Files {
			file := r.Open(f)
			found.add(engine.Wrap(engine.CheckFile(f, file), "submission %d", r.ID))
			_ = file.Close() // it has been read
			report.Files++
		}
	}
	progress("checking", "submissions", report.Submissions, total)
	return report, found.err()
}

func integrityCheck(conn *connection, found *faults) error {
	return conn.query(fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFaults), func(rows *sqlite3.Stmt) error {
		for rows.Step() {
			if text := rows.ColumnText(0); text != "ok" {
				found.add(errors.New(text))
			}
		}
		return nil
	})
}

// checkRules checks rules of the schema that SQLite does not know. Without them
// submissions would be lost, or ids assigned twice.
func checkRules(conn *connection, found *faults) {
	for _, rule := range []struct{ broken, fault string }{
		{`SELECT ifnull(max(row_id & 0xffffffffff), 0) > (SELECT last FROM sequence) FROM submissions`, "a submission has an id that was not given yet"},
		{`SELECT count(*) FROM submissions WHERE form <> row_id >> 40 OR form NOT IN (SELECT number FROM forms)`, "a submission belongs to no form"},
		{`SELECT count(*) <> 1 FROM settings WHERE name = '` + store.SettingStoreID + `'`, "the id of the store is missing"},
	} {
		switch n, err := conn.queryInt(rule.broken); {
		case err != nil:
			found.add(err)
		case n != 0:
			found.add(errors.New(rule.fault))
		}
	}
}
