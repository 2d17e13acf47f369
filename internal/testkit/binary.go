package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BinaryVariable is the environment variable with the path of the formulary
// binary that end-to-end tests run. The Makefile sets it.
const BinaryVariable = "FORMULARY_BINARY"

// Binary returns the path of the formulary binary that end-to-end tests run, and
// a function that removes it if it was built for them. Without the environment
// variable it is built as `make build` does it.
func Binary() (path string, remove func(), err error) {
	if path = os.Getenv(BinaryVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", nil, fmt.Errorf("%s: %w", BinaryVariable, err)
		}
		return path, func() {}, nil
	}
	root, err := Root()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "formulary-binary-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "formulary")
	//nolint:gosec,noctx // a test waits for it, and chooses the path
	if out, err := exec.Command("make", "-C", root, "build", "BINARY="+path).CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("make build: %w\n%s", err, out)
	}
	return path, remove, nil
}

// Root returns the directory of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "Makefile")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the test does not run within the repository")
		}
		dir = parent
	}
}
