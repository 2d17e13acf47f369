package server

import "fmt"

// ListenError is returned by [New] if the address can't be listened on. Err is
// a [syscall.Errno] below its wrappers where the system refused it.
type ListenError struct {
	Address string
	Err     error
}

func (e *ListenError) Error() string { return fmt.Sprintf("listen on %q: %v", e.Address, e.Err) }

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// CertificateError is returned by [New] if the certificate or its key can't be
// used. Err names the files.
type CertificateError struct{ Err error }

func (e *CertificateError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CertificateError) Unwrap() error { return e.Err }
