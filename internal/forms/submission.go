package forms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Submission is what one person sent to one form.
type Submission struct {
	ID       int64
	PageID   int64
	FormID   string
	Created  time.Time // to the millisecond
	Username string    // "" on an anonymous form
	Changed  time.Time // when it was changed last, to the millisecond; Created while it never was
	Changer  string    // user who changed it last; Username while it never was
	Entries  Entries
	Files    []StoredFile // nil without files, as nearly always
}

// IsChanged reports whether the submission was changed since it was created.
func (s *Submission) IsChanged() bool {
	return !s.Changed.IsZero() && (!s.Changed.Equal(s.Created) || s.Changer != s.Username)
}

// Entry is the stored value of one field. ID is 0 until NumberEntries assigns it.
type Entry struct {
	ID      int64
	FieldID string
	Value   string
}

// The id of an entry is submissionID<<entryBits | n, where n counts the entries of
// the submission from 1. Ids are unique and below 2^53, which JavaScript reads exactly.
const (
	entryBits = 13
	// MaxEntries is how many entries a submission can have.
	MaxEntries = 1<<entryBits - 1
	// MaxSubmissionID is the highest id of a submission.
	MaxSubmissionID = 1<<(53-entryBits) - 1
)

// NumberEntries returns a copy of a submission's entries in which those without
// an id have one. Numbers begin with 1, and go on after the highest that an
// entry has.
func NumberEntries(submissionID int64, entries []Entry) ([]Entry, error) {
	number := int64(0)
	for _, e := range entries {
		number = max(number, e.ID&MaxEntries)
	}
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].ID == 0 {
			if number++; number > MaxEntries {
				return nil, fmt.Errorf("submission %d would have more than %d entries", submissionID, MaxEntries)
			}
			entries[i].ID = submissionID<<entryBits | number
		}
	}
	return entries, nil
}

// Answer is what a caller sends for one field: a text, a list of texts, or files.
// The decoder of the request notes in Malformed and Misfit what it finds wrong.
type Answer struct {
	FieldID   string
	Value     string
	IsList    bool
	List      []string     // what was sent as a list; Value is unused then
	Files     []StoredFile // sent for the field, their contents staged; Value is their names
	Misfit    *Message     // why it can't be a value of its field; ignored while the field is hidden
	Malformed *Message     // what was wrong with the way it was sent; nil when nothing was
	SentAs    string       // id of another answer to the same field, which counts instead; see CurrentAnswers
	Sent      *Answer      // it with the names that were sent, if they may be earlier ones; see CurrentAnswers
	Whole     bool         // Malformed is about the request as a whole, not one field
}

// Text is the value as it is stored.
func (a Answer) Text() string {
	if a.IsList {
		return strings.Join(a.List, Separator)
	}
	return a.Value
}

// malformed returns what is wrong with the answer whatever field it is for, or nil.
func (a Answer) malformed() *Message {
	if a.Malformed == nil && !Storable(a.Text()) {
		return MsgNotText
	}
	return a.Malformed
}

// misfit returns why the answer can't be a value of field f, or nil.
func (a Answer) misfit(f *Field) *Message {
	switch {
	case a.Misfit != nil:
		return a.Misfit
	case len(a.Files) > 0 && f.Type != File:
		return MsgNoFileField
	case a.IsList && !f.MultiValue():
		return Say("must be a single text, not a list")
	case a.IsList && slices.ContainsFunc(a.List, func(s string) bool { return strings.Contains(s, Separator) }):
		return Say(`must not contain ";" within a value of the list`)
	default:
		return nil
	}
}

// CheckAnswer returns what is wrong with an answer to the field, provided that the
// field is visible, or nil.
func (f *Field) CheckAnswer(a Answer) *Message {
	return cmp.Or(a.malformed(), a.misfit(f), f.check(a.Text()))
}

// checked is a submission while it is checked: its values by rank.
type checked struct {
	Index
	values  []string           // merged: stored, overlaid with sent
	sent    []*Answer          // nil where none was sent, or none that fits
	shown   []bool             // with these values
	misfit  map[int]*Message   // what keeps the sent answer from being a value; nil as nearly always
	bounds  map[int]boundValue // of the fields that bounds refer to
	retired map[string]string  // stored values of fields that have left the page, by id
	writer  Writer
	invalid Invalid
}

func (f *Form) newChecked(w Writer, values []string) *checked {
	return &checked{Index: f.Index(), values: values, sent: make([]*Answer, len(values)), writer: w}
}

// take writes the answers into it.
func (c *checked) take(answers []Answer) {
	for i := range answers {
		a := &answers[i]
		rank := c.Rank(a.FieldID)
		value, hasLeft := c.retired[a.FieldID]
		switch {
		case a.Whole:
			c.invalid.AddError(a.Malformed)
		case hasLeft && a.Malformed == nil && a.Text() == value:
			// What was read may be sent back: an unchanged value of a field that has
			// left the page is no write.
		case a.SentAs != "":
			c.invalid.Add(a.FieldID, Say(`is another id of the field "{0}": send one of them`, a.SentAs))
		case rank < 0:
			c.invalid.Add(a.FieldID, MsgUnknownField)
		case a.malformed() != nil:
			c.invalid.Add(a.FieldID, a.malformed())
		case c.fields[rank].ByEditors && !c.writer.Editor:
			// The value that is there already is no write. For a field that turns out to be
			// hidden, no other value is a fault either.
			if len(a.Files) > 0 || a.Misfit != nil || a.Text() != c.values[rank] {
				c.addMisfit(rank, MsgByEditors)
			}
		case a.misfit(c.fields[rank]) != nil:
			c.addMisfit(rank, a.misfit(c.fields[rank]))
		default:
			c.values[rank], c.sent[rank] = a.Text(), a
		}
	}
}

func (c *checked) addMisfit(rank int, message *Message) {
	if c.misfit == nil {
		c.misfit = map[int]*Message{}
	}
	c.misfit[rank] = message
}

// check looks at the value of a field that shows.
func (c *checked) check(rank int) {
	field := c.fields[rank]
	msg := c.misfit[rank]
	if msg == nil {
		msg = field.check(c.values[rank])
	}
	if msg == msgRequired && field.ByEditors && !c.writer.Editor {
		msg = msgRequiredOfEditors
	}
	if msg == nil {
		msg = c.outOfBounds(rank, nil)
	}
	c.report(rank, msg)
}

// report records what is wrong with a field, unless that is nil.
func (c *checked) report(rank int, message *Message) {
	if message != nil {
		c.invalid.Add(c.fields[rank].ID, message)
	}
}

// NewEntries checks the answers of a new submission and returns its entries in
// rank order, and its files. Every field at fault is reported at once, as an
// *Invalid. Answers to hidden fields are dropped. A field that is not named gets its
// default, unless it is hidden.
func (f *Form) NewEntries(answers []Answer, w Writer) ([]Entry, []StoredFile, error) {
	c := f.newChecked(w, f.Defaults(w.Now))
	c.take(answers)
	entries := make([]Entry, 0, len(answers))
	c.shown = c.visible(c.values)
	for rank, field := range f.Fields {
		if !c.shown[rank] {
			continue
		}
		c.check(rank)
		if c.sent[rank] != nil || c.values[rank] != "" {
			entries = append(entries, Entry{FieldID: field.ID, Value: c.values[rank]})
		}
	}
	if err := c.invalid.Err(); err != nil {
		return nil, nil, err
	}
	return entries, c.mergedFiles(nil, nil), nil
}

// Merge lays answers over stored entries: fields that are not sent keep their
// values and entry ids. The merged submission decides what shows; answers to
// hidden fields are dropped and what is stored for them stays. A field that is
// neither sent nor newly shown by this merge is not checked, so that old
// submissions can still be changed after the form has become stricter. A bound
// that refers to another field is checked when either of them is sent.
//
// The value that is sent for a file field is a list of file names: stored files that it
// names stay, unless a file of that name is sent, and the others go. So files replace
// those that the field had, if the value names no others.
func (f *Form) Merge(stored []Entry, files []StoredFile, answers []Answer, w Writer) ([]Entry, []StoredFile, error) {
	c := f.newChecked(w, make([]string, len(f.Fields)))
	current, retired := c.takeStored(stored, f.currentEntries(stored))
	shownBefore := c.visible(c.values)
	c.take(answers)
	c.shown = c.visible(c.values)
	touched := func(rank int) bool { return c.sent[rank] != nil || c.misfit[rank] != nil || !shownBefore[rank] }
	affected := func(b *Bound) bool {
		rank := c.Rank(b.FieldID)
		return rank >= 0 && touched(rank)
	}
	for rank := range f.Fields {
		switch {
		case !c.shown[rank]:
		case touched(rank):
			c.check(rank)
		default:
			c.report(rank, c.outOfBounds(rank, affected))
		}
	}
	if err := c.invalid.Err(); err != nil {
		return nil, nil, err
	}
	return c.mergedEntries(current, retired), c.mergedFiles(files, f.currentFiles(stored, files)), nil
}

// takeStored writes stored entries into it, with their current ids and values. It returns
// those of the form's fields by rank, nil where nothing is stored, and those of fields that
// have left the page.
func (c *checked) takeStored(stored, named []Entry) (current []*Entry, retired []Entry) {
	current, c.retired = make([]*Entry, len(c.fields)), map[string]string{}
	for i, e := range named {
		if rank := c.Rank(e.FieldID); rank >= 0 {
			current[rank], c.values[rank] = &stored[i], e.Value
		} else {
			retired, c.retired[e.FieldID] = append(retired, e), e.Value
		}
	}
	return current, retired
}

// mergedEntries returns the stored entries with the sent, visible values written in:
// the form's fields in rank order, then those that have left the page.
func (c *checked) mergedEntries(current []*Entry, retired []Entry) []Entry {
	merged := make([]Entry, 0, len(current)+len(retired))
	for rank, e := range current {
		entry := Entry{FieldID: c.fields[rank].ID}
		if e != nil {
			entry = *e
		}
		if c.sent[rank] != nil && c.shown[rank] {
			entry.FieldID, entry.Value = c.fields[rank].ID, c.values[rank]
		} else if e == nil {
			continue
		}
		merged = append(merged, entry)
	}
	return append(merged, retired...)
}

// mergedFiles returns the stored files that remain, then those that are sent for
// visible fields. A new submission has no stored ones. named are the stored ones with the
// current ids of their fields.
func (c *checked) mergedFiles(stored, named []StoredFile) []StoredFile {
	var merged []StoredFile
	for i, file := range stored {
		rank := c.Rank(named[i].FieldID)
		written := rank >= 0 && c.sent[rank] != nil && c.shown[rank]
		sameName := func(f StoredFile) bool { return f.Name == file.Name }
		if !written || hasPart(c.values[rank], file.Name) && !slices.ContainsFunc(c.sent[rank].Files, sameName) {
			merged = append(merged, file)
		}
	}
	for rank, answer := range c.sent {
		if answer != nil && c.shown[rank] {
			merged = append(merged, answer.Files...)
		}
	}
	return merged
}
