// Package httpx is what every HTTP surface of the service shares: who sends a
// request, whether its origin may write, ids in paths, statuses of errors,
// notes for the access log, and compression. It decides nothing about how an
// answer looks.
package httpx
