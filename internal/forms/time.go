package forms

import "time"

// AppendTime appends a time as 2006-01-02T15:04:05.000 in UTC, without a zone.
// Package time has a fast path for RFC 3339, which counts for long lists.
func AppendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	dst[len(dst)-1] = '.' // in place of Z
	const digits = "0123456789"
	milli := t.Nanosecond() / int(time.Millisecond)
	return append(dst, digits[milli/100], digits[milli/10%10], digits[milli%10])
}
