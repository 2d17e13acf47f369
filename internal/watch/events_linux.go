package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Events reports by inotify whether anything has changed in some directories.
// It does not report which file: the caller looks at all files. So an event
// can't be misread, and events that the kernel dropped or merged are no loss.
// It is not safe for concurrent use.
type Events struct {
	fd      int
	buf     []byte
	watched map[string]watchedDir // by path, as of the last Sweep
	added   map[string]watchedDir // since the last Sweep
}

type watchedDir struct {
	wd     int    // the watch descriptor
	device uint64 // that the directory is on
}

// NewEvents returns Events without any directory. Close must be called.
func NewEvents() (*Events, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w (see fs.inotify.max_user_instances)", err)
	}
	return &Events{fd: fd, buf: make([]byte, 16<<10), added: map[string]watchedDir{}}, nil
}

// Close ends all watches. A second call does nothing.
func (e *Events) Close() error {
	if e.fd < 0 {
		return nil
	}
	fd := e.fd
	e.fd = -1
	return unix.Close(fd)
}

// reported is what changes a directory of pages. Reading is not among it, or
// every look would be a change.
const reported = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// localFileSystems send an event for each change, because no other machine
// changes them. All others are taken to send none.
var localFileSystems = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1, // ZFS
}

// Add watches a directory, but not what is below its subdirectories. Whatever
// changes after Add began is reported. Adding a directory again is cheap; it is
// how a directory that has taken the place of another becomes known.
func (e *Events) Add(dir string) error {
	var fsInfo unix.Statfs_t
	if err := unix.Statfs(dir, &fsInfo); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if !slices.Contains(localFileSystems, int64(fsInfo.Type)) { //nolint:unconvert // it is an int32 on some systems
		return fmt.Errorf("%s is on a file system that may send no events (type %#x)", dir, fsInfo.Type)
	}
	wd, err := unix.InotifyAddWatch(e.fd, dir, reported)
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("watch %s: too many directories are watched (see fs.inotify.max_user_watches)", dir)
	}
	if err != nil {
		return &fs.PathError{Op: "watch", Path: dir, Err: err}
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	e.added[filepath.Clean(dir)] = watchedDir{wd, stat.Dev}
	return nil
}

// Sweep ends the watches of directories that were not added since the last
// Sweep.
func (e *Events) Sweep() {
	used := make(map[int]bool, len(e.added))
	for _, dir := range e.added {
		used[dir.wd] = true
	}
	for _, dir := range e.watched {
		if !used[dir.wd] {
			// It fails where the kernel ended the watch with its directory.
			_, _ = unix.InotifyRmWatch(e.fd, uint32(dir.wd)) //nolint:gosec // descriptors are not negative
		}
	}
	e.watched, e.added = e.added, make(map[string]watchedDir, len(e.added))
}

// Covers reports whether edits of a file are reported, in a directory that was
// watched at the last Sweep. An edit by another name of the file is not
// reported, and neither is one of a file that is mounted into the directory.
// info is of the file itself, which is no symbolic link.
func (e *Events) Covers(path string, info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	dir, watched := e.watched[filepath.Dir(path)]
	return ok && watched && stat.Nlink == 1 && stat.Dev == dir.device
}

// maxReads bounds how much of the queue one call of Changed takes, so that it
// ends while others keep writing.
const maxReads = 100

// Changed reports whether there was an event since it was last called. It does
// not wait for one. What an error hides counts as a change.
func (e *Events) Changed() (changed bool) {
	for range maxReads {
		n, err := unix.Read(e.fd, e.buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return changed
		case err != nil || n == 0:
			return true
		default:
			changed = true
		}
	}
	return changed
}
