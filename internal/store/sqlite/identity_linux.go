package sqlite

import "golang.org/x/sys/unix"

// statFile returns the identity and the size of a file. It does not read the
// times of the file: after such a read Linux records the next write with a finer
// time stamp, and so would write the inode of the WAL with each commit.
func statFile(name string) (id fileID, size int64, err error) {
	var found unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_INO|unix.STATX_SIZE, &found) != nil {
		return statPortable(name) // which says what is wrong, or works where statx is not allowed
	}
	//nolint:gosec // no file is larger
	return fileID{unix.Mkdev(found.Dev_major, found.Dev_minor), found.Ino}, int64(found.Size), nil
}
