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

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/store"
)

// A backup is a SQLite database with Formulary's schema, in one file. That is
// what the embedded store is, too, so most of a restore is to put it in place.

// Progress is called with how much of a stage is done, and the total. It may be
// called from another goroutine, but never concurrently.
type Progress func(stage, unit string, done, total int64)

// Backup writes one snapshot of the store in directory dir to a new file. A
// server may write to the store meanwhile.
func Backup(ctx context.Context, dir, file string, progress Progress) error {
	if err := errors.Join(Exists(dir), refuseReadOnly(dir)); err != nil {
		return err
	}
	source := filepath.Join(dir, FileName)
	total := size(source) + size(source+"-wal")
	return writeBackup(ctx, file, progress, func(tempDir string) error {
		target := filepath.Join(tempDir, FileName)
		stop := watchSize(target, total, progress)
		err := vacuumInto(ctx, source, target)
		stop()
		if err == nil {
			err = dropTransient(target)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", source, classify(err))
		}
		progress("writing", "bytes", total, total)
		return nil
	})
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// vacuumInto copies one snapshot: VACUUM is one read transaction.
func vacuumInto(ctx context.Context, source, file string) error {
	conn, err := openShared(ctx, source)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	err = requireSchema(conn)
	if err == nil {
		err = requestChecksums(conn)
	}
	if err != nil {
		return err
	}
	// SQLite would create the file with mode 0644.
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if err := execOnce(conn, `VACUUM INTO ?`, fileURI(file, filesName)+"&vacuum=on"); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// dropTransient removes what does not belong into a backup: sessions, unfinished
// uploads, and files that were deleted a moment ago. A file without any is not
// written to.
func dropTransient(file string) error {
	conn, err := sqlite3.Open(fileURI(file, filesName) + "&mode=rw")
	if err != nil {
		return err
	}
	some, err := queryInt(conn, `SELECT EXISTS (SELECT 1 FROM sessions) OR EXISTS (SELECT 1 FROM loose_files)`)
	if err == nil && some != 0 {
		err = conn.Exec(`
			PRAGMA journal_mode = DELETE;
			DELETE FROM sessions;
			DELETE FROM file_chunks WHERE file IN (SELECT id FROM loose_files);
			DELETE FROM loose_files;
			VACUUM`)
	}
	return errors.Join(err, conn.Close())
}

// WriteBackup creates a new store, lets fill load it, and keeps it as a backup in a new file.
func WriteBackup(ctx context.Context, file string, progress Progress, fill func(*Store) error) error {
	return writeBackup(ctx, file, progress, func(tempDir string) error {
		s, err := Open(ctx, tempDir, Options{})
		if err != nil {
			return err
		}
		if err := errors.Join(fill(s), s.Close()); err != nil {
			return err
		}
		// SQLite reports no error when it could not empty the WAL on close.
		if size(filepath.Join(tempDir, FileName+"-wal")) > 0 {
			return errors.New("the copy could not be completed: is the disk full?")
		}
		return nil
	})
}

// writeBackup lets write put a store into a temporary directory beside the file,
// checks and syncs the store, and renames it to the file. An existing file is
// not replaced. A run that is killed leaves the temporary directory only.
func writeBackup(ctx context.Context, file string, progress Progress, write func(tempDir string) error) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is there already: choose a name that is free", file))
	}
	tempDir := file + ".partial"
	err := os.Mkdir(tempDir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, from a run that did not finish or is still going on: remove it if it is not", tempDir)
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tempDir) }()
	if err := write(tempDir); err != nil {
		return err
	}
	whole := filepath.Join(tempDir, FileName)
	report, err := checkFile(ctx, whole, file, progress)
	if err != nil {
		return err
	}
	if report.digest != "" {
		if err := seal(whole, report.digest); err != nil {
			return fmt.Errorf("write the digest: %w", err)
		}
	}
	if err := durable.Sync(whole); err != nil {
		return err
	}
	if err := durable.Name(whole, file); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(file))
}

// seal writes the digest of a backup's content into it. The journal mode is
// that of one file, without a WAL.
func seal(file, digest string) error {
	conn, err := sqlite3.Open(fileURI(file, filesName) + "&mode=rw")
	if err != nil {
		return err
	}
	err = conn.Exec(`PRAGMA journal_mode = DELETE`)
	if err == nil {
		err = execOnce(conn, `INSERT OR REPLACE INTO settings VALUES (?, ?)`, store.SettingDigest, digest)
	}
	return errors.Join(err, conn.Close())
}

// Restore puts a backup in place as the store of directory dir, which must not
// have one.
func Restore(ctx context.Context, file, dir string, progress Progress) (_ Report, err error) {
	if err := checkBackupFile(file); err != nil { // before anything is made
		return Report{}, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = lock.Close() }()
	target := filepath.Join(dir, FileName)
	for _, suffix := range []string{"", "-wal", "-journal"} { // a journal of another database would be applied to this one
		info, err := os.Lstat(target + suffix)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			continue
		}
		return Report{}, errors.Join(err, fmt.Errorf("%s %w", target+suffix, ErrOccupied))
	}
	// The directory is locked: the file is left over from an earlier run.
	partial := filepath.Join(dir, partialName)
	if err := os.RemoveAll(partial); err != nil {
		return Report{}, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial)
		}
	}()
	if err := copyFile(ctx, file, partial, progress); err != nil {
		return Report{}, err
	}
	report, err := checkFile(ctx, partial, file, progress)
	if err != nil {
		return Report{}, err
	}
	// A copy of a database that was made without 'formulary backup' may have them.
	if err := dropTransient(partial); err != nil {
		return Report{}, fmt.Errorf("remove sessions and unfinished uploads: %w", err)
	}
	if err := durable.Sync(partial); err != nil {
		return Report{}, err
	}
	if err := os.Rename(partial, target); err != nil {
		return Report{}, err
	}
	return report, durable.Sync(dir)
}

// checkBackupFile refuses what can't be a backup, without reading it.
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

func copyFile(ctx context.Context, from, to string, progress Progress) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
		progress("reading", "bytes", done, info.Size())
	}
	return nil
}

// watchSize tells how much of a file is there while it is being written.
func watchSize(file string, total int64, progress Progress) (stop func()) {
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
					progress("writing", "bytes", min(info.Size(), total), total)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}
