//go:build !linux

package watch

import (
	"errors"
	"io/fs"
)

// Events needs inotify. Elsewhere NewEvents fails, and files are polled.
type Events struct{}

// NewEvents fails.
func NewEvents() (*Events, error) { return nil, errors.New("file events are used on Linux only") }

// Close does nothing.
func (e *Events) Close() error { return nil }

// Add fails.
func (e *Events) Add(string) error { return errors.ErrUnsupported }

// Sweep does nothing.
func (e *Events) Sweep() {}

// Covers returns false.
func (e *Events) Covers(string, fs.FileInfo) bool { return false }

// Changed returns true.
func (e *Events) Changed() bool { return true }
