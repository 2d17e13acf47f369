// Package encode is how forms, submissions and summaries look in the answers of
// the interface: JSON, and the formats that lists can be had in.
package encode

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Submissions are appended to byte slices by hand: lists are the hot path.

// Model is how submissions look: Nested or Flat. The Appender is for one answer: a
// submission by itself, or the rows of a list.
type Model func(*forms.Form) Appender

// Appender appends one submission in one of the two models.
type Appender func(dst []byte, sub forms.Submission) ([]byte, error)

// buffers are reused. One that has grown beyond a list's flush size is dropped.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 4<<10)
	return &b
}}

// GetBuffer returns an empty buffer for an answer.
func GetBuffer() *[]byte { return buffers.Get().(*[]byte) }

// PutBuffer has a buffer used again.
func PutBuffer(b *[]byte) {
	if cap(*b) <= 2*FlushBytes {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// Nested is the model of submissions with their entries. It does not depend on the form.
func Nested(*forms.Form) Appender { return AppendSubmission }

// AppendSubmission appends a submission in the nested model. It copies the
// entries as they are stored. It checks them first: what can't be read must not
// be sent.
func AppendSubmission(dst []byte, s forms.Submission) ([]byte, error) {
	if err := s.Entries.Check(); err != nil {
		return dst, fmt.Errorf("read submission %d: %w", s.ID, err)
	}
	return appendNested(dst, s)
}

// AppendChanged is AppendSubmission, and tells when the submission was changed last.
func AppendChanged(dst []byte, s forms.Submission) ([]byte, error) {
	dst, err := AppendSubmission(dst, s)
	if err != nil {
		return dst, err
	}
	dst = append(dst[:len(dst)-1], `,"changed":"`...)
	return append(appendTimestamp(dst, s.Changed), `"}`...), nil
}

// Created is Nested for a submission that was just stored: its entries need no check.
func Created(*forms.Form) Appender { return appendNested }

func appendNested(dst []byte, s forms.Submission) ([]byte, error) {
	dst = append(dst, `{"formId":`...)
	dst = forms.AppendJSONString(dst, s.FormID)
	dst = append(dst, `,"pageId":`...)
	dst = strconv.AppendInt(dst, s.PageID, 10)
	dst = append(dst, `,"id":`...)
	dst = strconv.AppendInt(dst, s.ID, 10)
	dst = append(dst, `,"fields":`...)
	dst = append(dst, s.Entries...)
	dst = append(dst, `,"timestamp":"`...)
	dst = appendTimestamp(dst, s.Created)
	dst = append(dst, `","username":`...)
	dst = forms.AppendJSONString(dst, s.Username)
	return append(dst, '}'), nil
}

// appendTimestamp writes yyyy-MM-ddTHH:mm:ss.SSS+0000.
func appendTimestamp(dst []byte, t time.Time) []byte {
	return append(forms.AppendTime(dst, t), "+0000"...)
}

// Flat is the model of results: one member for each column, "" where there is
// no answer, then what is stored of fields that have left the page.
func Flat(form *forms.Form) Appender {
	row := form.NewResult()
	return func(dst []byte, s forms.Submission) ([]byte, error) {
		if err := row.Read(s); err != nil {
			return dst, err
		}
		dst = append(dst, `{"`+forms.ColumnID+`":"`...)
		dst = strconv.AppendInt(dst, s.ID, 10)
		dst = append(dst, `","`+forms.ColumnTimestamp+`":"`...)
		dst = strconv.AppendInt(dst, s.Created.UnixMilli(), 10)
		dst = append(dst, `","`+forms.ColumnUsername+`":`...)
		dst = forms.AppendJSONString(dst, s.Username)
		for rank, value := range row.Fields {
			if value == nil {
				value = noAnswer
			}
			dst = appendMember(dst, row.FieldIDs[rank], value)
		}
		for _, v := range row.Retired {
			dst = appendMember(dst, v.FieldID, v.Value)
		}
		return append(dst, '}'), nil
	}
}

var noAnswer = forms.Value(`""`)

func appendMember(dst []byte, name, value forms.Value) []byte {
	dst = append(append(dst, ','), name...)
	return append(append(dst, ':'), value...)
}
