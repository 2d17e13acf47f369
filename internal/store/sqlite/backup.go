package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/store"
)

// A backup is a SQLite database with Formulary's schema, in one file. That is
// what the embedded store is, too, so most of a restore is to put it in place.

// Backup writes what the store in directory dir holds at this moment to a new
// file, whether or not a server is writing to it. progress is told about how
// many bytes of how many are written.
func Backup(ctx context.Context, dir, file string, progress func(done, total int64)) error {
	source := filepath.Join(dir, FileName)
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("no store to back up: %w", err)
	}
	return writeWhole(file, func(partial string) error {
		stop := watchSize(partial, info.Size(), progress)
		err := vacuumInto(ctx, source, partial)
		stop()
		if err != nil {
			return fmt.Errorf("copy %s: %w", source, err)
		}
		progress(info.Size(), info.Size())
		return checkFile(ctx, partial, file)
	})
}

// vacuumInto is one read transaction, and so one moment of the store.
func vacuumInto(ctx context.Context, source, file string) error {
	vfs.Register(filesName, osFiles())
	conn, err := sqlite3.OpenContext(ctx, fileURI(source, filesName)+"&mode=rw")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := errors.Join(conn.BusyTimeout(busyTimeout), checkSchema(conn)); err != nil {
		return err
	}
	stmt, _, err := conn.Prepare(`VACUUM INTO ?`)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	if err := stmt.BindText(1, fileURI(file, filesName)); err != nil {
		return err
	}
	if err := stmt.Exec(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// WriteBackup has a new store filled, and keeps it as a backup in a new file.
func WriteBackup(ctx context.Context, file string, fill func(*Store) error) error {
	return writeWhole(file, func(partial string) error {
		dir, err := os.MkdirTemp(filepath.Dir(file), ".formulary-backup-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			return err
		}
		if err := errors.Join(fill(s), s.Close()); err != nil {
			return err
		}
		// SQLite does not tell when it could not empty the WAL at the end.
		if info, err := os.Stat(filepath.Join(dir, FileName+"-wal")); err == nil && info.Size() > 0 {
			return errors.New("the copy could not be completed: is the disk full?")
		}
		if err := os.Rename(filepath.Join(dir, FileName), partial); err != nil {
			return err
		}
		return checkFile(ctx, partial, file)
	})
}

// Restore puts a backup in place as the store of directory dir, which must not
// have one.
func Restore(ctx context.Context, file, dir string, progress func(done, total int64)) error {
	if err := checkBackupFile(file); err != nil { // before anything is made
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	target := filepath.Join(dir, FileName)
	for _, suffix := range []string{"", "-wal"} {
		if _, err := os.Stat(target + suffix); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%s is there already: nothing is restored over a store. Move it away, or choose another --data", target+suffix))
		}
	}
	return writeWhole(target, func(partial string) error {
		if err := copyFile(ctx, file, partial, progress); err != nil {
			return err
		}
		return checkFile(ctx, partial, file)
	})
}

// checkBackupFile refuses what can't be a backup by the look of it.
func checkBackupFile(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: a backup is read more than once", file)
	}
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s is a store and no backup: what was written last is in %[1]s-wal. Run 'formulary backup' on its directory, and restore what that writes", file)
	}
	return nil
}

func copyFile(ctx context.Context, from, to string, progress func(done, total int64)) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	for done := int64(0); done < info.Size(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(target, source, min(1<<20, info.Size()-done))
		done += n
		if err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		progress(done, info.Size())
	}
	return nil
}

// checkFile tells whether a file is a whole store of Formulary's; people know
// it by that name. Nobody else may have it open: it is opened for writing.
func checkFile(ctx context.Context, file, name string) error {
	vfs.Register(filesName, osFiles())
	conn, err := sqlite3.OpenContext(ctx, fileURI(file, filesName)+"&mode=rw")
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = conn.Close() }()
	if err := checkSchema(conn); err != nil {
		return fmt.Errorf("check %s: %w", name, err)
	}
	version, err := queryInt(conn, "PRAGMA user_version")
	if err != nil || version == 0 {
		return errors.Join(err, fmt.Errorf("check %s: it is empty", name))
	}
	if version > 1 {
		if copyOf, err := setting(conn, store.SettingCopyOf); err != nil || copyOf != "" {
			return errors.Join(err, fmt.Errorf("check %s: it is a copy that was not finished: finish it first", name))
		}
	}
	found := ""
	err = queryRow(conn, `PRAGMA integrity_check(1)`, func(row *sqlite3.Stmt) { found = row.ColumnText(0) })
	if err == nil && found != "ok" {
		err = errors.New(found)
	}
	if err == nil && version > 1 {
		err = checkContent(conn)
	}
	if err != nil {
		return fmt.Errorf("check %s: it is damaged: %w", name, err)
	}
	return nil
}

// checkContent looks for what SQLite has no notion of. Nothing but an edit by
// hand can cause it, and submissions would be lost, or ids given again.
func checkContent(conn *sqlite3.Conn) error {
	for _, c := range []struct{ query, fault string }{
		{`SELECT count(*) <> 1 FROM sequences`, "it does not tell the last ids"},
		{`SELECT ifnull(max(place & 0xffffffffff), 0) > (SELECT submission FROM sequences) FROM submissions`, "a submission has an id that was not given yet"},
		{`SELECT count(*) FROM forms WHERE page_id < 1`, "a form is on no page"},
		{`SELECT count(*) FROM submissions WHERE form <> place >> 40 OR form NOT IN (SELECT number FROM forms)`, "a submission belongs to no form"},
		{`SELECT count(*) FROM submissions WHERE NOT json_valid(fields)`, "the answers of a submission can't be read"},
		{`SELECT ifnull(max(answer.value ->> 'id'), 0) > (SELECT entry FROM sequences) FROM submissions, json_each(fields) AS answer`, "an answer has an id that was not given yet"},
	} {
		switch found, err := queryInt(conn, c.query); {
		case err != nil:
			return err
		case found > 0:
			return errors.New(c.fault)
		}
	}
	return nil
}

// writeWhole has a file written under another name beside it, and gives it its
// name when it is whole and on the disk. A file that is there is not replaced.
func writeWhole(file string, write func(partial string) error) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is there already: choose a name that is free", file))
	}
	partial := file + ".partial"
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, from a run that did not finish or is still going on: remove it if it is not", partial)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial)
		}
	}()
	if err := errors.Join(f.Close(), write(partial)); err != nil {
		return err
	}
	if err := durable.Sync(partial); err != nil {
		return err
	}
	if err := durable.Name(partial, file); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(file))
}

// watchSize tells how much of a file is there while it is being written.
func watchSize(file string, total int64, progress func(done, total int64)) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if info, err := os.Stat(file); err == nil {
					progress(min(info.Size(), total), total)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}
