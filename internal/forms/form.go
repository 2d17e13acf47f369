package forms

import (
	"crypto/sha1" //nolint:gosec // UUIDv5 is defined over SHA-1; nothing secret depends on it
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// FieldType is how a field is shown and filled in.
type FieldType string

// The field types a page author may write.
const (
	Textfield FieldType = "textfield"
	Textbox   FieldType = "textbox"
	Dropdown  FieldType = "dropdown"
	Radio     FieldType = "radio"
	Checkbox  FieldType = "checkbox"
	Date      FieldType = "date"
	Status    FieldType = "status"
	File      FieldType = "file"
)

// FieldTypes lists every field type in the order the documentation names them.
var FieldTypes = []FieldType{Textfield, Textbox, Dropdown, Radio, Checkbox, Date, Status, File}

// Validation names the rule that a field's value must follow; the zero value is none.
type Validation string

// The validations. OneOf and AnyOf follow from a field's options; the others
// are chosen by the author or by the field's type.
const (
	NoValidation Validation = ""
	OneOf        Validation = "one-of"
	AnyOf        Validation = "any-of"
	Numeric      Validation = "numeric"
	Alpha        Validation = "alpha"
	Email        Validation = "email"
	DateOnly     Validation = "date"
	FileName     Validation = "file"
)

// Validations lists what an author may write after "validate:".
var Validations = []Validation{Numeric, Alpha, Email, DateOnly, FileName}

// Separator joins the values of a multi-value field for storage.
const Separator = ";"

// Form is one form on one page. A Definition has the members with tags.
type Form struct {
	ID            string    `json:"formId"`
	PageID        int64     `json:"pageId"`
	MacroID       string    `json:"macroId"`
	Anonymous     bool      `json:"anonymous"`
	OneSubmission bool      `json:"oneSubmission"`
	Fields        []*Field  `json:"fields"`             // in rank order: a field's rank is its index
	Sections      []Section `json:"sections,omitempty"` // in page order; they don't overlap

	// What follows is not part of the API's Form.

	// Lang is the language tag (BCP 47) of the texts for people, "" if the form does not say it.
	Lang string `json:"lang,omitempty"`

	Title  string `json:"-"` // what people read in place of the id; never empty on a page
	Intro  string `json:"-"` // plain text, shown above the questions
	Thanks string `json:"-"` // the same, shown after sending

	// The form takes submissions from Opens to Closes. The zero values set no limit. A day counts to its end.
	Opens, Closes Moment `json:"-"`

	Limit int    `json:"-"` // at most so many submissions; 0 sets no limit
	Keep  Period `json:"-"` // how long submissions are kept

	LockIf   *Condition `json:"-"` // while it holds for a submission, only editors change or delete it; nil for never
	Withdraw bool       `json:"-"` // whoever sent a submission may delete it

	// Notify are the addresses that get a mail when submissions have come. Their
	// domains are in lower case, and no address is listed twice.
	Notify []string `json:"-"`

	// Names are the fields by all their ids, present and earlier ones. They are nil unless a
	// field or an option was renamed; see NameFields.
	Names map[string]*Field `json:"-"`

	// SubmitterMail is the id of the field with the address that is told when a submission
	// has come, and when editors have changed answers that only they give; "" for none.
	SubmitterMail string `json:"-"`

	languages  []*Form                    // see Languages
	definition atomic.Pointer[Definition] // once it was asked for
}

// ChangesByEditors reports whether a change, by the values before it, is one of answers that
// only editors give.
func (f *Form) ChangesByEditors(before map[string]string) bool {
	return slices.ContainsFunc(f.Fields, func(field *Field) bool {
		_, changed := before[field.ID]
		return changed && field.ByEditors
	})
}

// Moment is a day, or a point in time, as an author writes it. The zero value is none.
type Moment struct {
	Day  string    // as 2006-01-02; "" for a point in time
	Time time.Time // unless it is a day
}

// IsZero reports whether no moment is set.
func (m Moment) IsZero() bool { return m == Moment{} }

// IsOver reports whether the form has closed.
func (f *Form) IsOver(now time.Time, zone *time.Location) bool {
	return !f.Closes.IsZero() && !now.Before(f.Closes.End(zone))
}

// Start returns the point in time in the zone; of a day its beginning.
func (m Moment) Start(zone *time.Location) time.Time { return m.day(zone, 0) }

// End returns the point in time in the zone; of a day the beginning of the next one.
func (m Moment) End(zone *time.Location) time.Time { return m.day(zone, 1) }

// day returns the beginning of the day that comes so many days after it.
func (m Moment) day(zone *time.Location, after int) time.Time {
	if m.Day == "" {
		return m.Time.In(zone)
	}
	day, _ := time.Parse(time.DateOnly, m.Day) // the parser refuses anything else
	return startOfDay(day.AddDate(0, 0, after), zone)
}

// StartOfDay returns when the day of a moment begins in its zone.
func StartOfDay(t time.Time) time.Time {
	return startOfDay(UTCDay(t), t.Location())
}

// UTCDay returns the day of a time, in the zone that it has, as a midnight in UTC.
func UTCDay(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// startOfDay returns when the day of a UTC midnight begins in a zone. Package time does
// not promise to find that: where the clocks are changed at midnight, there is no
// midnight, or there are two.
func startOfDay(day time.Time, zone *time.Location) time.Time {
	const reach = 24 * time.Hour // no zone is further from UTC
	first := day.Add(-reach)
	seconds := sort.Search(int(2*reach/time.Second), func(i int) bool {
		return !UTCDay(first.Add(time.Duration(i) * time.Second).In(zone)).Before(day)
	})
	return first.Add(time.Duration(seconds) * time.Second).In(zone)
}

// Section is a group of fields that follow one another and show or hide
// together.
type Section struct {
	Name      string     `json:"-"`
	Title     string     `json:"-"` // shown above its fields; "" shows none
	MacroID   string     `json:"macroId"`
	First     int        `json:"first"` // its fields are Form.Fields[First : First+Count]
	Count     int        `json:"count"`
	Condition *Condition `json:"condition,omitempty"` // the one that its fields have; nil when it always shows
	Grid      bool       `json:"-"`                   // its fields are radios with the same options, shown as a table
}

// Conditions yields every condition of the form once, in page order, with the
// macro id of the field or section that it belongs to.
func (f *Form) Conditions() iter.Seq2[string, *Condition] {
	return func(yield func(macroID string, c *Condition) bool) {
		sections := f.Sections
		for rank := 0; rank < len(f.Fields); {
			macroID, condition, count := f.Fields[rank].MacroID, f.Fields[rank].Condition, 1
			if len(sections) > 0 && sections[0].First == rank {
				macroID, condition, count = sections[0].MacroID, sections[0].Condition, sections[0].Count
				sections = sections[1:]
			}
			if condition != nil && !yield(macroID, condition) {
				return
			}
			rank += count
		}
	}
}

// Field is one field of a form. A Definition has the members with tags.
type Field struct {
	ID         string     `json:"fieldId"`
	Type       FieldType  `json:"type"`
	Label      string     `json:"label"`
	MacroID    string     `json:"macroId"`
	Required   bool       `json:"required,omitempty"`
	Validation Validation `json:"validation,omitempty"`
	Options    []string   `json:"options,omitempty"` // the values

	// Labels are what people read in place of values of options. They are not part of the API's Form.
	Labels map[string]string `json:"labels,omitempty"`

	Accept    []string   `json:"accept,omitempty"`    // of type File: such as .pdf or image/*, in lower case; nil for all
	Condition *Condition `json:"condition,omitempty"` // its own, or that of its section; nil when it always shows

	// What follows is not part of the API's Form.

	Help    string            `json:"-"` // shown under the label in the browser
	MaxSize int64             `json:"-"` // of type File: the largest file in bytes; 0 sets no limit
	Colors  map[string]string `json:"-"` // of options of a Status, by value: one of Colors

	Scale []string `json:"-"` // of a Radio that is shown in a row: the texts at its two ends; nil for other fields

	Was      []string          `json:"-"` // earlier ids, the newest first
	ValueWas map[string]string `json:"-"` // of options: values by earlier ones

	Min, Max  *Bound `json:"-"` // of a numeric or date field, inclusive; nil without
	MaxLength int    `json:"-"` // characters (code points); 0 sets no limit
	Default   string `json:"-"` // as it is stored; Today for the day of the create; "" for none
	ByEditors bool   `json:"-"` // only editors of the page set it
}

// Today means the current day in the default and the bounds of a date field.
const Today = "today"

// Bound is the least or greatest value of a field: a fixed one, or that of another field.
type Bound struct {
	Value   string // a number, a day, or Today; "" if FieldID is set
	FieldID string // of a field of the same kind; the bound counts while that field has a value
}

// MultiValue reports whether the field takes several values at once.
func (f *Field) MultiValue() bool { return f.Type == Checkbox }

// Field returns the field with the given id, which may be an earlier one, or nil.
func (f *Form) Field(id string) *Field {
	if f.Names != nil {
		return f.Names[id]
	}
	for _, field := range f.Fields {
		if field.ID == id {
			return field
		}
	}
	return nil
}

// Index finds the fields of a form by their ids. Make it once for many
// look-ups: a form with many fields needs a map. For the few fields that
// most forms have, a walk beats a map.
type Index struct {
	fields []*Field
	byID   map[string]int // nil where there are few
}

const fewFields = 16

// Index returns an index of the form's fields.
func (f *Form) Index() Index {
	x := Index{fields: f.Fields}
	if len(f.Fields) > fewFields {
		x.byID = make(map[string]int, len(f.Fields))
		for rank, field := range f.Fields {
			x.byID[field.ID] = rank
		}
	}
	return x
}

// Field returns the field with a rank.
func (x Index) Field(rank int) *Field { return x.fields[rank] }

// Rank returns the rank of the field with the given id, or -1.
func (x Index) Rank(id string) int {
	if x.byID == nil {
		return slices.IndexFunc(x.fields, func(f *Field) bool { return f.ID == id })
	}
	if rank, ok := x.byID[id]; ok {
		return rank
	}
	return -1
}

// macroNamespace is the UUIDv5 namespace of all macro ids that Formulary
// derives. It must never change: integrators keep macro ids.
var macroNamespace = [16]byte{
	0x6f, 0x52, 0x1b, 0x0e, 0x3d, 0x7a, 0x4c, 0x55, 0x9b, 0x2f, 0x84, 0x10, 0xc6, 0xe3, 0x5a, 0x71,
}

// MacroID derives a stable macro id for a form whose host gives it none: the path is the
// form's id. That of a field is the form's id, "field" and its own, that of a section has
// "section" there.
func MacroID(pageID int64, path ...string) string {
	name := strconv.FormatInt(pageID, 10) + "/" + strings.Join(path, "/")
	// This is RFC 9562, section 5.5.
	u := sha1.Sum(append(macroNamespace[:], name...)) //nolint:gosec // see the import
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
