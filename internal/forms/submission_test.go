package forms

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// feedback is a form with every kind of field that the rules tell apart.
func feedback() *Form {
	bad := shownIf(MatchAll, Rule{FieldID: "rating", Operator: InList, Value: "1;2"})
	return &Form{ID: "feedback", PageID: 7, Fields: []Field{
		{ID: "comment", Type: Textbox, Required: true},
		{ID: "rating", Type: Dropdown, Validation: OneOf, Options: []string{"1", "2", "3"}},
		{ID: "reason", Type: Textbox, Required: true, Condition: bad},
		{ID: "amount", Type: Textfield, Validation: Numeric, Condition: bad},
		{ID: "topics", Type: Checkbox, Validation: AnyOf, Options: []string{"x", "y", "z"}},
		{ID: "mail", Type: Textfield, Validation: Email, Condition: shownIf(MatchAll, Rule{FieldID: "reason", Operator: NotEmpty})},
	}}
}

func text(id, value string) Answer { return Answer{FieldID: id, Value: value} }

func list(id string, values ...string) Answer { return Answer{FieldID: id, IsList: true, List: values} }

func entry(id int64, fieldID, value string) Entry {
	return Entry{ID: id, FieldID: fieldID, Value: value}
}

const (
	msgSingle  = "must be a single text, not a list"
	msgInList  = `must not contain ";" within a value of the list`
	msgText    = "must be valid text without NUL characters"
	msgRating  = "must be one of 1, 2, 3"
	msgTopics  = "must be any of x, y, z"
	msgNumeric = "must be a number such as 12 or -3.5"
	msgEmail   = "must be an e-mail address such as name@example.org"
)

func TestNewEntries(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []Answer
		want    []Entry
		faults  map[string]string
	}{
		{
			name:    "in rank order, whatever order they came in",
			answers: []Answer{list("topics", "y", "x"), text("rating", "3"), text("comment", "ok")},
			want:    []Entry{entry(0, "comment", "ok"), entry(0, "rating", "3"), entry(0, "topics", "y;x")},
		},
		{
			name:    "values are never trimmed, an explicit empty one is an answer",
			answers: []Answer{text("comment", " \tfine\n "), text("rating", "")},
			want:    []Entry{entry(0, "comment", " \tfine\n "), entry(0, "rating", "")},
		},
		{
			name:    "an empty list is an empty value",
			answers: []Answer{text("comment", "a"), list("topics")},
			want:    []Entry{entry(0, "comment", "a"), entry(0, "topics", "")},
		},
		{
			name:    "answers to hidden fields are neither checked nor kept",
			answers: []Answer{text("comment", "a"), text("rating", "3"), text("reason", "r"), text("amount", "many"), text("mail", "no mail")},
			want:    []Entry{entry(0, "comment", "a"), entry(0, "rating", "3")},
		},
		{
			name:    "what shows is checked and kept",
			answers: []Answer{text("comment", "a"), text("rating", "1"), text("reason", "r"), text("amount", "-1.5"), text("mail", "a@b")},
			want: []Entry{
				entry(0, "comment", "a"), entry(0, "rating", "1"), entry(0, "reason", "r"),
				entry(0, "amount", "-1.5"), entry(0, "mail", "a@b"),
			},
		},
		{
			name:    "a required field that shows is missed",
			answers: []Answer{text("comment", "a"), text("rating", "2")},
			faults:  map[string]string{"reason": msgRequired},
		},
		{
			name:    "every fault at once",
			answers: []Answer{text("rating", "1"), text("amount", "1."), text("topics", "x;"), text("reason", "why"), text("mail", "me"), text("nope", "")},
			faults: map[string]string{
				"comment": msgRequired, "amount": msgNumeric, "topics": msgTopics, "mail": msgEmail, "nope": MsgUnknownField,
			},
		},
		{
			name:    "field ids are compared exactly",
			answers: []Answer{text("comment", "a"), text("Rating", "1"), text("rating.", "1"), text("", "1")},
			faults:  map[string]string{"Rating": MsgUnknownField, "rating.": MsgUnknownField, "": MsgUnknownField},
		},
		{
			name:    "a list for a single-value field, even of one",
			answers: []Answer{list("comment", "a"), list("rating")},
			faults:  map[string]string{"comment": msgSingle, "rating": msgSingle},
		},
		{
			name:    "a list value with the separator in it",
			answers: []Answer{text("comment", "a"), list("topics", "x;y")},
			faults:  map[string]string{"topics": msgInList},
		},
		{
			name:    "NUL and invalid UTF-8",
			answers: []Answer{text("comment", "a\x00b"), list("topics", "x", "\xff"), text("rating", "\xed\xa0\x80")},
			faults:  map[string]string{"comment": msgText, "topics": msgText, "rating": msgText},
		},
		{
			name:    "what can't be stored is refused even where it would be dropped, but no list is",
			answers: []Answer{text("comment", "a"), text("reason", "\x00"), list("mail", "a@b")},
			faults:  map[string]string{"reason": msgText},
		},
		{
			name: "what is malformed comes before every other",
			answers: []Answer{
				{FieldID: "comment", Malformed: "came broken"},
				{FieldID: "rating", IsList: true, List: []string{"\x00;"}, Malformed: "came broken, too"},
			},
			faults: map[string]string{"comment": "came broken", "rating": "came broken, too"},
		},
		{
			name:    "but an unknown field is unknown however it came",
			answers: []Answer{text("comment", "a"), {FieldID: "nope", Malformed: "came broken"}},
			faults:  map[string]string{"nope": MsgUnknownField},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := feedback().NewEntries(tt.answers, Writer{})
			if diff := cmp.Diff(tt.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	stored := []Entry{entry(11, "comment", "old"), entry(12, "rating", "1"), entry(13, "reason", "slow"), entry(14, "amount", "5")}
	quiet := []Entry{entry(21, "comment", "old"), entry(22, "rating", "3")}
	for _, tt := range []struct {
		name    string
		stored  []Entry
		answers []Answer
		want    []Entry
		faults  map[string]string
	}{
		{
			name: "nothing sent changes nothing", stored: stored,
			want: stored,
		},
		{
			name: "only what is sent changes, and keeps its entry id", stored: stored,
			answers: []Answer{text("reason", " new ")},
			want:    []Entry{entry(11, "comment", "old"), entry(12, "rating", "1"), entry(13, "reason", " new "), entry(14, "amount", "5")},
		},
		{
			name: "a new entry has no id yet and stands at its rank", stored: quiet,
			answers: []Answer{list("topics", "z", "x"), text("rating", "")},
			want:    []Entry{entry(21, "comment", "old"), entry(22, "rating", ""), entry(0, "topics", "z;x")},
		},
		{
			name: "entries come back in rank order, however they were stored", stored: []Entry{stored[3], stored[2], stored[1], stored[0]},
			want: stored,
		},
		{
			name: "an explicit empty value for a required field", stored: stored,
			answers: []Answer{text("comment", ""), text("reason", "\u3000")},
			faults:  map[string]string{"comment": msgRequired, "reason": msgRequired},
		},
		{
			name: "an explicit empty value for an optional one", stored: stored,
			answers: []Answer{text("amount", "")},
			want:    []Entry{entry(11, "comment", "old"), entry(12, "rating", "1"), entry(13, "reason", "slow"), entry(14, "amount", "")},
		},
		{
			name: "an answer to a hidden field is dropped unchecked", stored: quiet,
			answers: []Answer{text("reason", "r"), text("amount", "many"), text("mail", "")},
			want:    quiet,
		},
		{
			name: "a field that this merge hides keeps what is stored", stored: stored,
			answers: []Answer{text("rating", "3"), text("reason", "dropped"), text("amount", "many")},
			want:    []Entry{entry(11, "comment", "old"), entry(12, "rating", "3"), entry(13, "reason", "slow"), entry(14, "amount", "5")},
		},
		{
			name: "a required field that this merge reveals must be sent along", stored: quiet,
			answers: []Answer{text("rating", "1")},
			faults:  map[string]string{"reason": msgRequired},
		},
		{
			name: "or was answered before it was hidden", stored: []Entry{entry(21, "comment", "old"), entry(22, "rating", "3"), entry(23, "reason", "r")},
			answers: []Answer{text("rating", "1")},
			want:    []Entry{entry(21, "comment", "old"), entry(22, "rating", "1"), entry(23, "reason", "r")},
		},
		{
			name: "what comes to light must be valid", stored: append([]Entry{entry(23, "reason", "r"), entry(24, "amount", "many")}, quiet...),
			answers: []Answer{text("rating", "1")},
			faults:  map[string]string{"amount": msgNumeric},
		},
		{
			name: "what shows already and is not sent is not looked at", stored: []Entry{entry(31, "rating", "1"), entry(32, "amount", "many")},
			answers: []Answer{text("topics", "x")},
			want:    []Entry{entry(31, "rating", "1"), entry(32, "amount", "many"), entry(0, "topics", "x")},
		},
		{
			name: "every fault at once", stored: stored,
			answers: []Answer{text("rating", "4"), text("topics", ";"), text("nope", "1"), {FieldID: "comment", Malformed: "came broken"}},
			faults:  map[string]string{"rating": msgRating, "topics": msgTopics, "nope": MsgUnknownField, "comment": "came broken"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := append([]Entry(nil), tt.stored...)
			got, _, err := feedback().Merge(tt.stored, nil, tt.answers, Writer{})
			if diff := cmp.Diff(tt.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.stored); diff != "" {
				t.Errorf("the stored entries were changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A retired field has left the page, but submissions still hold values of it.
func TestMergeAndRetiredFields(t *testing.T) {
	stored := []Entry{entry(1, "gone", "kept"), entry(2, "comment", "old"), entry(3, "left;too", "a;b")}
	kept := []Entry{entry(2, "comment", "new"), entry(1, "gone", "kept"), entry(3, "left;too", "a;b")}
	for _, tt := range []struct {
		name    string
		answers []Answer
		want    []Entry
		faults  map[string]string
	}{
		{"not sent: kept, after the form's own fields", []Answer{text("comment", "new")}, kept, nil},
		{"sent back unchanged", []Answer{text("comment", "new"), text("gone", "kept"), text("left;too", "a;b")}, kept, nil},
		{"sent back unchanged as a list", []Answer{text("comment", "new"), list("left;too", "a", "b")}, kept, nil},
		{"changed", []Answer{text("comment", "new"), text("gone", "written")}, nil, map[string]string{"gone": MsgUnknownField}},
		{"emptied", []Answer{text("gone", "")}, nil, map[string]string{"gone": MsgUnknownField}},
		{"unchanged, but broken on the wire", []Answer{{FieldID: "gone", Value: "kept", Malformed: "came broken"}}, nil, map[string]string{"gone": MsgUnknownField}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := feedback().Merge(stored, nil, tt.answers, Writer{})
			if diff := cmp.Diff(tt.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
	_, _, err := feedback().NewEntries([]Answer{text("comment", "a"), text("gone", "kept")}, Writer{})
	if diff := cmp.Diff(map[string]string{"gone": MsgUnknownField}, faultsOf(t, err)); diff != "" {
		t.Errorf("a retired field on create (-want +got):\n%s", diff)
	}
}

func TestFieldIsFoundByItsExactID(t *testing.T) {
	few, many := feedback(), feedback()
	for i := range 2 * fewFields {
		many.Fields = append(many.Fields, Field{ID: fmt.Sprint("more", i)})
	}
	for _, form := range []*Form{few, many} {
		for _, id := range []string{"", "Reason", "reason "} {
			if got := form.Index().Rank(id); got != -1 {
				t.Errorf("rank of %q among %d fields: %d, want none", id, len(form.Fields), got)
			}
		}
		if got := form.Index().Rank("reason"); got != 2 {
			t.Errorf("rank among %d fields: %d, want 2", len(form.Fields), got)
		}
	}
}
