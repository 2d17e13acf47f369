// Package forms is the domain: what a form is, when a field shows, which
// values it takes, and what a submission holds. It is pure: no I/O, no clock,
// no dependency beyond the standard library.
package forms
