package forms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Entries is the field entries of a submission as they are stored: the text of
// the nested model's "fields" member, written by EncodeEntries alone. Lists
// copy it out as it stands, which is what makes them fast, and a person can
// read it in the database's own shell.
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
func (e Entries) Decode() ([]Entry, error) {
	var entries []Entry
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

// Check tells whether the entries can be told apart: what the disk or an edit
// by hand has changed must not be sent as if it were an answer. It does not
// look into values.
func (e Entries) Check() error {
	s := e.Scan()
	for s.Next() {
	}
	return s.Err()
}

// HighestID is the highest id of an entry; 0 if there is none.
func (e Entries) HighestID() (highest int64, err error) {
	s := e.Scan()
	for s.Next() {
		id, err := strconv.ParseInt(string(s.ID), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("decode stored entries: id %q: %w", s.ID, err)
		}
		highest = max(highest, id)
	}
	return highest, s.Err()
}

// EntryScanner walks Entries without allocating. ID, FieldID and Value are the
// JSON tokens of the current entry, strings with their quotes.
type EntryScanner struct {
	ID, FieldID, Value []byte

	rest []byte
	bad  bool
}

// Scan begins a walk over the entries.
func (e Entries) Scan() EntryScanner {
	s := EntryScanner{rest: e}
	s.literal("{")
	return s
}

// Next moves to the next entry.
func (s *EntryScanner) Next() bool {
	if s.bad || (len(s.rest) == 1 && s.rest[0] == '}') {
		return false
	}
	if s.FieldID != nil {
		s.literal(",")
	}
	s.FieldID = s.str()
	s.literal(`:{"id":`)
	s.ID = s.digits()
	s.literal(`,"fieldId":`)
	s.again(s.FieldID)
	s.literal(`,"value":`)
	s.Value = s.str()
	s.literal("}")
	return !s.bad
}

// Err tells whether the walk ended early because the text is not what
// EncodeEntries writes.
func (s *EntryScanner) Err() error {
	if s.bad {
		return fmt.Errorf("decode stored entries: not in the stored form, %d bytes before the end", len(s.rest))
	}
	return nil
}

func (s *EntryScanner) literal(want string) {
	if len(s.rest) < len(want) || string(s.rest[:len(want)]) != want {
		s.bad = true
		return
	}
	s.rest = s.rest[len(want):]
}

// again is literal for bytes: to convert them would allocate.
func (s *EntryScanner) again(want []byte) {
	if !bytes.HasPrefix(s.rest, want) {
		s.bad = true
		return
	}
	s.rest = s.rest[len(want):]
}

func (s *EntryScanner) digits() []byte {
	n := 0
	for n < len(s.rest) && '0' <= s.rest[n] && s.rest[n] <= '9' {
		n++
	}
	return s.cut(n)
}

func (s *EntryScanner) str() []byte {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		s.bad = true
		return nil
	}
	for n := 1; ; n++ {
		quote := bytes.IndexByte(s.rest[n:], '"')
		if quote < 0 {
			s.bad = true
			return nil
		}
		n += quote
		if !endsInEscape(s.rest[1:n]) {
			return s.cut(n + 1)
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

func (s *EntryScanner) cut(n int) []byte {
	token := s.rest[:n]
	s.bad = s.bad || n == 0
	s.rest = s.rest[n:]
	return token
}

const hexDigits = "0123456789abcdef"

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
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
