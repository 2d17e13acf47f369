// Package httpx is what every HTTP surface of the service shares: who sends a
// request, the form that it is about, how much may be under way at one time,
// files, whether its origin may write, ids in paths, statuses of errors, notes
// for the access log, and compression. It decides nothing about how an answer
// looks.
package httpx
