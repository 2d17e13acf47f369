// Package panics turns panics into errors, for work in goroutines: a panic that nothing
// recovers there ends the process.
package panics

import (
	"fmt"
	"runtime/debug"
)

// ToError runs work. A panic becomes an error with its stack.
func ToError(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

// Guarded is work for a singleflight.Group, with ToError around it.
func Guarded(work func() (any, error)) func() (any, error) {
	return func() (value any, err error) {
		err = ToError(func() error {
			value, err = work()
			return err
		})
		return value, err
	}
}
