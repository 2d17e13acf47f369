package reload

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"syscall"
)

// File is what is known of a file without reading it.
type File struct {
	Info fs.FileInfo // nil with an error
	Err  error       // of os.Stat
}

// Stat returns what path leads to.
func Stat(path string) File {
	info, err := os.Stat(path)
	return File{info, err}
}

// Same reports whether both are the same version of the same file, or failed with
// the same error. The zero File is not the same as any other.
func (f File) Same(g File) bool {
	if f.Info == nil || g.Info == nil {
		return f.Err != nil && g.Err != nil && f.Err.Error() == g.Err.Error()
	}
	return os.SameFile(f.Info, g.Info) && f.Info.Size() == g.Info.Size() &&
		f.Info.ModTime().Equal(g.Info.ModTime()) && f.Info.Mode() == g.Info.Mode()
}

// State is what a look found, by path.
type State map[string]File

// Stats returns the state of some files.
func Stats(paths ...string) State {
	state := make(State, len(paths))
	for _, path := range paths {
		state[path] = Stat(path)
	}
	return state
}

// same reports whether nothing has changed between two looks. Nil is the state
// before the first look.
func (s State) same(t State) bool {
	return s != nil && t != nil && maps.EqualFunc(s, t, File.Same)
}

// Open opens a regular file for reading, without blocking. Anything else is an
// error: reading a pipe would wait for its writer, and a device may never end. The
// file is checked after it was opened, because it may have been replaced since it
// was listed.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile returns the content of a regular file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return content, nil
}
