//go:build !release

package testkit

// Release says that the tests run before a release, by `make check-release`. They
// try more then, and take longer.
const Release = false
