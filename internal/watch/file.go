// Package watch reads files that other programs write while the server runs:
// pages, users, groups and certificates. Whatever is put in their place, a
// pipe, a leased file or a disk that stopped answering, holds up neither the
// other files nor the end of the server.
package watch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a regular file for reading, without blocking. Anything else is
// refused: a pipe would be waited for, and a device may never end. The file is
// checked after it was opened, because its name may lead elsewhere by then.
//
// A file that another process holds a lease on is an error that errors.Is
// syscall.EAGAIN: the next try finds the lease broken.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadFile returns the content of a regular file of at most limit bytes, and
// what was known of the file before it was read: a write in between makes
// the file differ from that, so that the next look reads it again.
func ReadFile(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(content)) > limit {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return content, info, nil
}
