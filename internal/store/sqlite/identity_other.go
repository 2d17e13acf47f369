//go:build !linux

package sqlite

// statFile returns the identity and the size of a file.
func statFile(name string) (id fileID, size int64, err error) { return statPortable(name) }
