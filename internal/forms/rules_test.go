package forms

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leave is a form with every rule that is not part of the interface.
func leave() *Form {
	granted := shownIf(MatchAll, Rule{FieldID: "granted", Operator: Equals, Value: "yes"})
	return &Form{ID: "leave", PageID: 7, Fields: []Field{
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

const leaveDay = "2026-03-02"

var (
	leaveTime = time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("west", -3600))
	somebody  = Writer{Now: leaveTime}
	anEditor  = Writer{Now: leaveTime, Editor: true}
)

func TestRulesOfACreate(t *testing.T) {
	defaults := []Entry{entry(0, "first", leaveDay), entry(0, "kind", "unpaid"), entry(0, "granted", "open")}
	for _, tt := range []struct {
		name    string
		writer  Writer
		answers []Answer
		want    []Entry
		faults  map[string]string
	}{
		{name: "defaults are stored for what is not named; hidden fields get none", want: defaults},
		{
			name:    "an explicit empty value stays empty",
			answers: []Answer{text("first", ""), text("kind", "")},
			want:    []Entry{entry(0, "first", ""), entry(0, "kind", ""), entry(0, "granted", "open")},
		},
		{
			name: "conditions see defaults, and those of fields that they show", writer: anEditor, answers: []Answer{text("granted", "yes")},
			want: []Entry{
				entry(0, "first", leaveDay), entry(0, "kind", "unpaid"), entry(0, "granted", "yes"), entry(0, "room", "1A"), entry(0, "key", "k"),
			},
		},
		{name: "the default of an editors' field may be sent, and nothing where there is none", answers: []Answer{text("granted", "open"), text("remark", "")}, want: defaults},
		{
			name:    "another value may not, nor may empty in place of a default",
			answers: []Answer{text("granted", ""), text("remark", "x"), {FieldID: "scan", Value: "a.pdf", Files: []StoredFile{{Name: "a.pdf"}}}},
			faults:  map[string]string{"granted": MsgByEditors, "remark": MsgByEditors, "scan": MsgByEditors},
		},
		{
			name: "editors may", writer: anEditor, answers: []Answer{text("granted", ""), text("remark", "x")},
			want: []Entry{entry(0, "first", leaveDay), entry(0, "kind", "unpaid"), entry(0, "granted", ""), entry(0, "remark", "x")},
		},
		{
			name:    "bounds are inclusive",
			answers: []Answer{text("last", leaveDay), text("days", "1.0"), text("kind", "paid"), text("most", "1")},
			want: []Entry{
				entry(0, "first", leaveDay), entry(0, "last", leaveDay), entry(0, "days", "1.0"), entry(0, "most", "1"),
				entry(0, "kind", "paid"), entry(0, "granted", "open"),
			},
		},
		{
			name:    "below the least",
			answers: []Answer{text("first", "2026-03-01"), text("last", "2026-02-28"), text("days", "0.99")},
			faults: map[string]string{
				"first": "must not be before today (2026-03-02)", "last": "must not be before First day (2026-03-01)", "days": "must be at least 1",
			},
		},
		{
			name:    "above the greatest",
			answers: []Answer{text("last", "2027-01-01"), text("days", "10"), text("kind", "paid"), text("most", "9")},
			faults:  map[string]string{"last": "must not be after 2026-12-31", "days": "must be at most Most (9)"},
		},
		{
			name:    "the value of a hidden field, and none, is no bound",
			answers: []Answer{text("first", ""), text("last", "2020-01-01"), text("days", "10"), text("most", "9")},
			want: []Entry{
				entry(0, "first", ""), entry(0, "last", "2020-01-01"), entry(0, "days", "10"), entry(0, "kind", "unpaid"), entry(0, "granted", "open"),
			},
		},
		{
			name:    "what is no value of the other field is no bound",
			answers: []Answer{text("last", "2026-05-01"), text("first", "soon")},
			faults:  map[string]string{"first": "must be a date such as 2026-01-31 (yyyy-MM-dd)"},
		},
		{
			name:    "a long value is named in part",
			answers: []Answer{text("days", "2"), text("kind", "paid"), text("most", "1."+strings.Repeat("0", 1000))},
			faults:  map[string]string{"days": "must be at most Most (1." + strings.Repeat("0", 198) + "…)"},
		},
		{name: "characters are counted, not bytes", answers: []Answer{text("note", "äöü")}, want: append(append([]Entry{}, defaults[:2]...), entry(0, "note", "äöü"), defaults[2])},
		{name: "too long", answers: []Answer{text("note", "äöüß")}, faults: map[string]string{"note": "must have at most 3 characters"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.writer == (Writer{}) {
				tt.writer = somebody
			}
			got, _, err := leave().NewEntries(tt.answers, tt.writer)
			if diff := cmp.Diff(tt.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got, cmpEmptyAsNil); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesOfAMerge(t *testing.T) {
	stored := []Entry{
		entry(1, "first", "2026-02-02"), entry(2, "last", "2026-02-04"), entry(3, "days", "3"), entry(4, "most", "2"), entry(5, "kind", "unpaid"),
		entry(6, "granted", "maybe"), entry(7, "scan", "a.pdf"),
	}
	for _, tt := range []struct {
		name    string
		writer  Writer
		answers []Answer
		want    map[string]string // what differs from stored
		faults  map[string]string
	}{
		{name: "what is not sent is not held to rules, and gets no default", answers: []Answer{text("note", "ok")}, want: map[string]string{"note": "ok"}},
		{name: "what is sent is", answers: []Answer{text("first", "2026-02-01")}, faults: map[string]string{"first": "must not be before today (2026-03-02)"}},
		{
			name: "a bound is checked when the field is sent that it refers to", answers: []Answer{text("first", "2026-03-03")},
			faults: map[string]string{"last": "must not be before First day (2026-03-03)"},
		},
		{
			name: "and when that field is shown", answers: []Answer{text("kind", "paid")},
			faults: map[string]string{"days": "must be at most Most (2)"},
		},
		{name: "not when it is emptied", answers: []Answer{text("first", "")}, want: map[string]string{"first": ""}},
		{
			name:    "stored values of editors' fields may be sent, even if they are not valid any more, and empty where none is stored",
			answers: []Answer{text("granted", "maybe"), text("remark", ""), text("scan", "a.pdf"), text("note", "x")}, want: map[string]string{"note": "x"},
		},
		{
			name:    "others may not",
			answers: []Answer{text("granted", "open"), text("remark", "x"), {FieldID: "scan", Value: "a.pdf", Files: []StoredFile{{Name: "a.pdf"}}}},
			faults:  map[string]string{"granted": MsgByEditors, "remark": MsgByEditors, "scan": MsgByEditors},
		},
		{name: "empty is another value", answers: []Answer{text("granted", "")}, faults: map[string]string{"granted": MsgByEditors}},
		{
			name: "editors may", writer: anEditor, answers: []Answer{text("granted", "no"), text("remark", "x")},
			want: map[string]string{"granted": "no", "remark": "x"},
		},
		{name: "a hidden field is dropped", answers: []Answer{text("room", "2B")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.writer == (Writer{}) {
				tt.writer = somebody
			}
			merged, _, err := leave().Merge(stored, nil, tt.answers, tt.writer)
			if diff := cmp.Diff(tt.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			was, changed := map[string]string{}, map[string]string{}
			for _, e := range stored {
				was[e.FieldID] = e.Value
			}
			for _, e := range merged {
				if value, ok := was[e.FieldID]; !ok || value != e.Value {
					changed[e.FieldID] = e.Value
				}
			}
			if len(merged) < len(stored) || !cmp.Equal(changed, tt.want) && len(changed)+len(tt.want) > 0 {
				t.Errorf("changed %v, want %v", changed, tt.want)
			}
		})
	}
}

// Required looks at the merged record, also if an editor sends it.
func TestRequiredEditorsField(t *testing.T) {
	form := &Form{ID: "form", PageID: 1, Fields: []Field{{ID: "state", Type: Textfield, Required: true, ByEditors: true}}}
	_, _, err := form.NewEntries(nil, somebody)
	if diff := cmp.Diff(map[string]string{"state": msgRequiredOfEditors}, faultsOf(t, err)); diff != "" {
		t.Error(diff)
	}
	_, _, err = form.NewEntries(nil, anEditor)
	if diff := cmp.Diff(map[string]string{"state": msgRequired}, faultsOf(t, err)); diff != "" {
		t.Error(diff)
	}
	form.Fields[0].Default = "new"
	if _, _, err = form.NewEntries(nil, somebody); err != nil {
		t.Errorf("with a default: %v", err)
	}
}
