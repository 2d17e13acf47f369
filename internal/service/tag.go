package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/formulary/formulary/internal/forms"
)

// tagBytes is how much of the hash a tag holds. 144 bits are enough to make
// collisions infeasible, even for a caller who chooses the answers.
const tagBytes = 18

// Tag names the state of a submission: it changes when what is stored changes,
// and when the page gets other fields or another order of them, which shows in
// the flat model. It is the same on every replica and after a restart. It stands
// between quotes, as in the header ETag.
func (a *Access) Tag(sub forms.Submission) string {
	// One buffer, on the stack unless the submission is large.
	b := make([]byte, 0, 2<<10)
	b = binary.BigEndian.AppendUint64(b, uint64(sub.ID)) //nolint:gosec // a bijection is all that is needed
	for _, field := range a.Form.Fields {
		b = append(append(b, field.ID...), 0) // no id holds a NUL
	}
	b = append(b, 0) // no id is empty: this ends the list
	b = append(b, sub.Entries...)
	for i := range sub.Files { // the entries have their names, but not their contents
		f := &sub.Files[i]
		b = append(b, f.FieldID+"\x00"+f.Name+"\x00"+f.SHA256+"\x00"...) // none holds a NUL
	}
	hash := sha256.Sum256(b)
	return string(append(base64.RawURLEncoding.AppendEncode(append(b[:0], '"'), hash[:tagBytes]), '"'))
}

// Precondition decides by the tag of a submission whether a caller's request
// goes ahead. It is asked once it is known that the caller may do it. A write
// asks within the transaction that changes the submission, maybe more than
// once, and returns the error as it is. Nil lets everything go ahead.
type Precondition func(tag string) error

// check asks the precondition, if there is one, about a submission.
func (a *Access) check(pre Precondition, sub forms.Submission) error {
	if pre == nil {
		return nil
	}
	return pre(a.Tag(sub))
}
