package forms

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// leave is a form with every rule that is not part of the interface.
func leave() *Form {
	granted := shownIf(MatchAll, Rule{FieldID: "granted", Operator: Equals, Value: "yes"})
	return &Form{ID: "leave", PageID: 7, Fields: []*Field{
		{ID: "first", Type: Date, Label: "First day", Validation: DateOnly, Min: &Bound{Value: Today}, Default: Today},
		{ID: "last", Type: Date, Label: "Last day", Validation: DateOnly, Min: &Bound{FieldID: "first"}, Max: &Bound{Value: "2026-12-31"}},
		{ID: "days", Type: Textfield, Label: "Days", Validation: Numeric, Min: &Bound{Value: "1"}, Max: &Bound{FieldID: "most"}},
		{ID: "most", Type: Textfield, Label: "Most", Validation: Numeric, Condition: shownIf(MatchAll, Rule{FieldID: "kind", Operator: Equals, Value: "paid"})},
		{ID: "kind", Type: Dropdown, Validation: OneOf, Options: []string{"paid", "unpaid"}, Default: "unpaid"},
		{ID: "note", Type: Textbox, MaxLength: 3},
		{ID: "granted", Type: Status, Validation: OneOf, Options: []string{"open", "yes", "no"}, Default: "open", ByEditors: true},
		{ID: "remark", Type: Textbox, ByEditors: true},
		{ID: "scan", Type: File, Validation: FileName, ByEditors: true},
		{ID: "room", Type: Textfield, Default: "1A", Condition: granted},
		{ID: "key", Type: Textfield, Default: "k", Condition: shownIf(MatchAll, Rule{FieldID: "room", Operator: NotEmpty})},
	}}
}

var (
	leaveTime = time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("west", -3600))
	anEditor  = Writer{Now: leaveTime, Editor: true}
)

func TestRulesOfACreate(t *testing.T) {
	const defaults = "first=2026-03-02 | kind=unpaid | granted=open"
	for _, c := range []sent{
		{name: "defaults are stored for what is not named; hidden fields get none", want: defaults},
		{
			name:    "an explicit empty value stays empty",
			answers: "first= | kind=", want: "first= | kind= | granted=open",
		},
		{
			name: "conditions see defaults, and those of fields that they show", writer: anEditor, answers: "granted=yes",
			want: "first=2026-03-02 | kind=unpaid | granted=yes | room=1A | key=k",
		},
		{
			name:    "the default of an editors' field may be sent, and nothing where there is none",
			answers: "granted=open | remark=", want: defaults,
		},
		{
			name:    "another value may not, nor may empty in place of a default",
			answers: "granted= | remark=x | scan@=1:a.pdf",
			faults: "granted: is set by editors of this page only | remark: is set by editors of this page only | " +
				"scan: is set by editors of this page only",
		},
		{
			name: "nor may what does not fit, with the text of the default", answers: "granted?=open",
			faults: "granted: is set by editors of this page only",
		},
		{
			name: "editors may", writer: anEditor, answers: "granted= | remark=x",
			want: "first=2026-03-02 | kind=unpaid | granted= | remark=x",
		},
		{
			name:    "bounds are inclusive",
			answers: "last=2026-03-02 | days=1.0 | kind=paid | most=1",
			want:    "first=2026-03-02 | last=2026-03-02 | days=1.0 | most=1 | kind=paid | granted=open",
		},
		{
			name:    "below the least",
			answers: "first=2026-03-01 | last=2026-02-28 | days=0.99",
			faults: "first: must not be before today (2026-03-02) | last: must not be before First day (2026-03-01) | " +
				"days: must be at least 1",
		},
		{
			name:    "above the greatest",
			answers: "last=2027-01-01 | days=10 | kind=paid | most=9",
			faults:  "last: must not be after 2026-12-31 | days: must be at most Most (9)",
		},
		{
			name:    "the value of a hidden field, and none, is no bound",
			answers: "first= | last=2020-01-01 | days=10 | most=9",
			want:    "first= | last=2020-01-01 | days=10 | kind=unpaid | granted=open",
		},
		{
			name:    "what is no value of the other field is no bound",
			answers: "last=2026-05-01 | first=soon", faults: "first: must be a date such as 2026-01-31 (yyyy-MM-dd)",
		},
		{
			name:    "a long value is named in part",
			answers: "days=2 | kind=paid | most=1." + strings.Repeat("0", 1000),
			faults:  "days: must be at most Most (1." + strings.Repeat("0", 198) + "…)",
		},
		{
			name:    "characters are counted, not bytes",
			answers: "note=äöü", want: "first=2026-03-02 | kind=unpaid | note=äöü | granted=open",
		},
		{name: "too long", answers: "note=äöüß", faults: "note: must have at most 3 characters"},
	} {
		c.writer.Now = leaveTime
		c.run(t, leave())
	}
}

func TestRulesOfAMerge(t *testing.T) {
	const stored = "1:first=2026-02-02 | 2:last=2026-02-01 | 3:days=3 | 4:most=2 | 5:kind=unpaid | 6:granted=maybe | 7:scan=a.pdf"
	for _, c := range []sent{
		{
			name: "what is not sent is not held to rules, and gets no default", answers: "note=ok",
			want: strings.Replace(stored, "unpaid |", "unpaid | note=ok |", 1),
		},
		{
			name: "what is sent is", answers: "first=2026-02-01",
			faults: "first: must not be before today (2026-03-02)",
		},
		{
			name: "a bound is checked when the field is sent that it refers to", answers: "first=2026-03-03",
			faults: "last: must not be before First day (2026-03-03)",
		},
		{name: "and when that field is shown", answers: "kind=paid", faults: "days: must be at most Most (2)"},
		{name: "not when it is emptied", answers: "first=", want: strings.Replace(stored, "2026-02-02", "", 1)},
		{
			name:    "stored values of editors' fields may be sent, even if they are not valid any more, and empty where none is stored",
			answers: "granted=maybe | remark= | scan=a.pdf", want: stored,
		},
		{
			name:    "others may not",
			answers: "granted=open | remark=x | scan@=1:a.pdf",
			faults: "granted: is set by editors of this page only | remark: is set by editors of this page only | " +
				"scan: is set by editors of this page only",
		},
		{name: "empty is another value", answers: "granted=", faults: "granted: is set by editors of this page only"},
		{
			name: "editors may", writer: anEditor, answers: "granted=no | remark=x",
			want: strings.Replace(stored, "maybe |", "no | remark=x |", 1),
		},
		{name: "a hidden field is dropped", answers: "room=2B", want: stored},
	} {
		c.stored, c.writer.Now = stored, leaveTime
		c.run(t, leave())
	}
}

// Required looks at the merged record, also if an editor sends it.
func TestRequiredEditorsField(t *testing.T) {
	form := &Form{ID: "form", PageID: 1, Fields: []*Field{{ID: "state", Type: Textfield, Required: true, ByEditors: true}}}
	sent{name: "others", faults: "state: is required, and only editors of this page can set it"}.run(t, form)
	sent{name: "editors", writer: anEditor, faults: "state: is required"}.run(t, form)
	form.Fields[0].Default = "new"
	sent{name: "with a default", want: "state=new"}.run(t, form)
}

// Submissions wait while the first status that editors set is empty, or as it began.
func TestUndecided(t *testing.T) {
	own := &Field{ID: "own", Type: Status}
	note := &Field{ID: "note", Type: Textfield, ByEditors: true}
	state := &Field{ID: "state", Type: Status, ByEditors: true}
	begun := &Field{ID: "begun", Type: Status, ByEditors: true, Default: "new"}
	for _, tt := range []struct {
		fields  []*Field
		waiting []string // values of the field that the rule is about
	}{
		{[]*Field{own, note}, nil},
		{[]*Field{own, state, begun}, []string{""}},
		{[]*Field{note, begun, state}, []string{"", "new"}},
	} {
		rule, ok := (&Form{Fields: tt.fields}).Undecided()
		var waiting []string
		for _, value := range []string{"", "new", "done", "new;"} {
			if ok && rule.Holds(tt.fields[1], value) {
				waiting = append(waiting, value)
			}
		}
		if !slices.Equal(waiting, tt.waiting) || ok && rule.FieldID != tt.fields[1].ID {
			t.Errorf("%+v, %t: these wait: %q, want %q", rule, ok, waiting, tt.waiting)
		}
	}
}
