package forms

import (
	"fmt"
	"unicode/utf8"
)

// An Invalid lists at most so many fields and so many general errors, and
// counts the rest. A caller chooses how many faults there are, and a longer
// answer helps no reader.
const maxListed = 100

// maxNamed is how much of a name that a caller chose is repeated to them, in
// bytes. No field id is longer; see markup.MaxIDBytes.
const maxNamed = 200

// Invalid is what is wrong with a submission that was sent in. It is an error.
// Err completes it.
type Invalid struct {
	Fields map[string]*Message // field id to a message a person can act on
	Errors []*Message          // what is wrong with the submission as a whole

	moreFields map[string]struct{} // at fault, too, but not listed
	moreErrors int
}

func (e *Invalid) Error() string {
	return fmt.Sprintf("invalid submission: %d fields at fault, %d general errors", len(e.Fields), len(e.Errors))
}

// InvalidField is the error of one field.
func InvalidField(fieldID string, message *Message) error {
	var invalid Invalid
	invalid.Add(fieldID, message)
	return invalid.Err()
}

// InvalidRequest is the error of a request as a whole.
func InvalidRequest(message *Message) error { return &Invalid{Errors: []*Message{message}} }

// Add records the first message for a field; later ones would only repeat it.
// A name that is too long for a field id becomes a general error.
func (e *Invalid) Add(fieldID string, message *Message) {
	if len(fieldID) > maxNamed {
		e.AddError(Named(Clip(fieldID), message))
		return
	}
	if _, listed := e.Fields[fieldID]; listed {
		return
	}
	if len(e.Fields) == maxListed {
		if e.moreFields == nil {
			e.moreFields = map[string]struct{}{}
		}
		e.moreFields[fieldID] = struct{}{}
		return
	}
	if e.Fields == nil {
		e.Fields = map[string]*Message{}
	}
	e.Fields[fieldID] = message
}

// AddError records a general error.
func (e *Invalid) AddError(message *Message) {
	if len(e.Errors) == maxListed {
		e.moreErrors++
		return
	}
	e.Errors = append(e.Errors, message)
}

// Err returns e if it has any errors, else nil. It adds how many are not listed.
func (e *Invalid) Err() error {
	if len(e.Fields) == 0 && len(e.Errors) == 0 {
		return nil
	}
	if n := e.moreErrors; n > 0 {
		e.Errors = append(e.Errors, SayN("and {0} more error", "and {0} more errors", n))
	}
	if n := len(e.moreFields); n > 0 {
		e.Errors = append(e.Errors, SayN("and {0} more field is at fault", "and {0} more fields are at fault", n))
	}
	e.moreErrors, e.moreFields = 0, nil
	return e
}

// Counted writes a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Clip cuts a name that a caller chose to what is repeated in messages.
func Clip(name string) string { return Truncate(name, maxNamed) }

// Truncate cuts a text that is longer than so many bytes, and marks the cut.
func Truncate(text string, limit int) string {
	if len(text) > limit {
		return CutText(text, limit) + "…"
	}
	return text
}

// CutText returns at most so many bytes of a text, and no part of a character.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
