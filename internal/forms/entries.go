package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Entries is the field entries of a submission as they are stored: the text of
// the nested model's "fields" member, which EncodeEntries writes. Lists copy it
// unchanged, which makes them fast, and people can read it in the database's own
// shell.
type Entries []byte

// EncodeEntries appends the encoding of entries to dst.
func EncodeEntries(dst []byte, entries []Entry) Entries {
	dst = append(dst, '{')
	for i, e := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(dst, e.FieldID)
		dst = append(dst, `:{"id":`...)
		dst = strconv.AppendInt(dst, e.ID, 10)
		dst = append(dst, `,"fieldId":`...)
		dst = AppendJSONString(dst, e.FieldID)
		dst = append(dst, `,"value":`...)
		dst = AppendJSONString(dst, e.Value)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// Decode returns the entries in their stored order.
func (e Entries) Decode() ([]Entry, error) { return e.appendTo(nil) }

// appendTo is Decode for a caller that has room for the entries.
func (e Entries) appendTo(entries []Entry) ([]Entry, error) {
	s := e.Scan()
	for s.Next() {
		id, err := strconv.ParseInt(string(s.ID), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("decode stored entries: id %q: %w", s.ID, err)
		}
		fieldID, err := unquote(s.FieldID)
		if err != nil {
			return nil, err
		}
		value, err := unquote(s.Value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{ID: id, FieldID: fieldID, Value: value})
	}
	return entries, s.Err()
}

func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("decode stored entries: %w", err)
	}
	return s, nil
}

// Check returns an error if the entries are damaged, by the disk or by an edit by
// hand: they must not be sent as if they were answers. It does not look into
// values.
func (e Entries) Check() error {
	s := e.Scan()
	for s.Next() {
	}
	return s.Err()
}

// CheckIDs is Check, and refuses entries with an id of another submission.
func (e Entries) CheckIDs(submission int64) error {
	s := e.Scan()
	for s.Next() {
		id, err := strconv.ParseInt(string(s.ID), 10, 64)
		if err != nil || id>>entryBits != submission || id&MaxEntries == 0 {
			return fmt.Errorf("an entry has the id %s, which is not one of submission %d", s.ID, submission)
		}
	}
	return s.Err()
}

// EntryScanner walks Entries without allocating. ID, FieldID and Value are the
// JSON tokens of the current entry, strings with their quotes.
type EntryScanner struct {
	ID, FieldID, Value []byte

	text []byte
	at   int // where the next entry begins, or -1 if the text is not what EncodeEntries writes
}

// Scan begins a walk over the entries.
func (e Entries) Scan() EntryScanner {
	if len(e) < len("{}") || e[0] != '{' {
		return EntryScanner{text: e, at: -1}
	}
	return EntryScanner{text: e, at: 1}
}

// The texts between the tokens of an entry.
const (
	beforeID      = `:{"id":`
	beforeFieldID = `,"fieldId":`
	beforeValue   = `,"value":`
)

// Next moves to the next entry. It is most of what a row of a list costs, so it
// works on one index instead of cutting the text into pieces.
func (s *EntryScanner) Next() bool {
	text, i := s.text, s.at
	if i < 0 || i == len(text) || (text[i] == '}' && i == len(text)-1 && s.FieldID == nil) {
		return false
	}
	s.at = -1 // unless the entry turns out to be whole
	key := i
	if i = endOfString(text, i); i < 0 || len(text)-i < len(beforeID) || string(text[i:i+len(beforeID)]) != beforeID {
		return false
	}
	fieldID := text[key:i]
	i += len(beforeID)
	id := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	s.ID = text[id:i]
	shortest := len(beforeFieldID) + len(fieldID) + len(beforeValue)
	if i == id || len(text)-i < shortest || string(text[i:i+len(beforeFieldID)]) != beforeFieldID {
		return false
	}
	i += len(beforeFieldID)
	again := i
	if i += len(fieldID); !bytes.Equal(text[again:i], fieldID) || string(text[i:i+len(beforeValue)]) != beforeValue {
		return false
	}
	s.FieldID = fieldID
	value := i + len(beforeValue)
	if i = endOfString(text, value); i < 0 || len(text)-i < len("}}") || text[i] != '}' {
		return false
	}
	s.Value = text[value:i]
	switch i++; {
	case text[i] == ',' && i < len(text)-1:
		s.at = i + 1
	case text[i] == '}' && i == len(text)-1:
		s.at = len(text)
	}
	return s.at > 0
}

// Err tells whether the walk ended early because the text is not what
// EncodeEntries writes.
func (s *EntryScanner) Err() error {
	if s.at < 0 {
		return errors.New("decode stored entries: not in the stored form")
	}
	return nil
}

// endOfString returns the index after the JSON string that begins at start, or
// -1 if none does.
func endOfString(text []byte, start int) int {
	if start >= len(text) || text[start] != '"' {
		return -1
	}
	for i := start + 1; ; i++ {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return -1
		}
		i += quote
		if text[i-1] != '\\' || !endsInEscape(text[start+1:i]) {
			return i + 1
		}
	}
}

// endsInEscape reports whether an odd number of backslashes ends b.
func endsInEscape(b []byte) bool {
	odd := false
	for i := len(b) - 1; i >= 0 && b[i] == '\\'; i-- {
		odd = !odd
	}
	return odd
}

// AppendJSONString appends s as a JSON string. s must be valid UTF-8.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = fmt.Appendf(dst, `\u%04x`, b)
		}
	}
	return append(append(dst, s[start:]...), '"')
}

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
