package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/formulary/formulary/internal/durable"
)

// Progress is called with how much of a stage is done, and the total.
type Progress func(stage, unit string, done, total int64)

// Backup writes one snapshot of the store in directory dir to a new file: a
// SQLite database with the same schema, but without sessions and unfinished
// uploads. A server may write to the store meanwhile.
//
// The backup is written to a temporary directory beside the file, checked and
// synced, and then renamed. A file that is there before is not replaced. A run that is
// killed leaves the temporary directory only.
func Backup(ctx context.Context, dir, file string, progress Progress) error {
	if err := errors.Join(Exists(dir), refuseReadOnly(dir)); err != nil {
		return err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s is there already: choose a name that is free", file))
	}
	tempDir := file + ".partial"
	err := os.Mkdir(tempDir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, from a run that did not finish or is still going on: "+
			"remove it if it is not", tempDir)
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(tempDir)
	source, copied := filepath.Join(dir, FileName), filepath.Join(tempDir, FileName)
	if err := copySnapshot(ctx, source, copied); err != nil {
		return fmt.Errorf("copy %s: %w", source, classify(err))
	}
	if _, err := checkFile(ctx, copied, file, progress); err != nil {
		return err
	}
	if err := durable.Sync(copied); err != nil {
		return err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) { // the copy may have taken long
		return cmp.Or(err, fmt.Errorf("%s is there now: choose another name", file))
	}
	if err := os.Rename(copied, file); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(file))
}

// copySnapshot copies a database without what does not belong into a backup.
func copySnapshot(ctx context.Context, source, target string) error {
	if err := vacuumInto(ctx, source, target); err != nil {
		return err
	}
	dropped, err := dropTransient(ctx, target)
	if err != nil || !dropped {
		return err
	}
	compact := target + ".compact" // without the room of what was dropped
	if err := vacuumInto(ctx, target, compact); err != nil {
		return err
	}
	return os.Rename(compact, target)
}

// vacuumInto copies one snapshot: VACUUM is one read transaction.
func vacuumInto(ctx context.Context, source, file string) error {
	conn, err := openShared(ctx, source)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := requestChecksums(conn); err != nil {
		return err
	}
	// SQLite would create the file with mode 0644.
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	err = conn.run(`VACUUM INTO ?`, fileURI(file, vfsName)+"&vacuum=on")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// changeCopy calls do with a connection to a copy, which nothing else uses.
func changeCopy(ctx context.Context, file string, do func(*connection) error) error {
	conn, err := connect(context.WithoutCancel(ctx), fileURI(file, vfsName)+"&mode=rw")
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close())
}

// migrateCopy brings the schema of a backup up to date. One that is so is not written to.
func migrateCopy(conn *connection) error {
	version, err := readVersion(conn)
	if err == nil {
		err = migrations.Require(version, true)
	}
	if err != nil || version == 0 || version == migrations.Version() {
		return err
	}
	return cmp.Or(requestChecksums(conn), conn.Exec(`PRAGMA journal_mode = DELETE`), migrate(conn, version))
}

// dropTransient deletes sessions, unfinished uploads, and files that were
// deleted a moment ago. A file without any is not written to.
func dropTransient(ctx context.Context, file string) (dropped bool, err error) {
	err = changeCopy(ctx, file, func(conn *connection) error {
		some, err := conn.queryInt(`SELECT EXISTS (SELECT 1 FROM sessions) OR EXISTS (SELECT 1 FROM staged_files)`)
		if dropped = some != 0; err != nil || !dropped {
			return err
		}
		return conn.Exec(`
			PRAGMA journal_mode = DELETE;
			PRAGMA secure_delete = ON;
			DELETE FROM sessions;
			DELETE FROM file_chunks WHERE file IN (SELECT id FROM staged_files);
			DELETE FROM staged_files`)
	})
	return dropped, err
}

// renewKeeps has all keeps set now, and none before: one that was taken back after the backup was made deletes nothing
// before the page was read.
func renewKeeps(conn *connection) error {
	return conn.Exec(`PRAGMA journal_mode = DELETE; UPDATE keeps SET before = '', since = ` + sqlNow)
}

// Restore makes a backup the store of directory dir, which must not have one. A
// copy of the database of a store that is closed is a backup, too.
func Restore(ctx context.Context, dir, file string, progress Progress) (err error) {
	if err := checkBackupFile(file); err != nil { // before the directory is created
		return err
	}
	lock, err := lockDir(dir, syscall.Flock)
	if err != nil {
		return err
	}
	defer lock.Close()
	target := filepath.Join(dir, FileName)
	// SQLite would apply a journal of another database to this one.
	for _, suffix := range []string{"", "-wal", "-journal"} {
		info, err := os.Lstat(target + suffix)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			continue
		}
		return cmp.Or(err, fmt.Errorf("%s %w", target+suffix, ErrOccupied))
	}
	// The directory is locked: such a file is left over from an earlier run.
	partial := filepath.Join(dir, partialName)
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial)
		}
	}()
	if err := copyFile(ctx, file, partial, progress); err != nil {
		return err
	}
	if err := changeCopy(ctx, partial, migrateCopy); err != nil {
		return fmt.Errorf("check %s: %w", file, classify(err))
	}
	if _, err := checkFile(ctx, partial, file, progress); err != nil {
		return err
	}
	if _, err := dropTransient(ctx, partial); err != nil { // only in copies that were made without Backup
		return fmt.Errorf("remove sessions and unfinished uploads: %w", err)
	}
	if err := changeCopy(ctx, partial, renewKeeps); err != nil {
		return fmt.Errorf("let the keeps wait for a day: %w", err)
	}
	if err := durable.Sync(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, target); err != nil {
		return err
	}
	return durable.Sync(dir)
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
	if size(file+"-wal") > 0 {
		return fmt.Errorf("%s is a store and no backup: what was written last is in %[1]s-wal. "+
			"Run 'formulary backup' on its directory, and restore what that writes", file)
	}
	return nil
}

func copyFile(ctx context.Context, from, to string, progress Progress) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	for done, total := int64(0), size(from); done < total; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(target, source, min(1<<20, total-done))
		if err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		done += n
		progress("reading", "bytes", done, total)
	}
	return nil
}
