package forms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// feedback is a form with every kind of field that the rules tell apart.
func feedback() *Form {
	bad := shownIf(MatchAll, Rule{FieldID: "rating", Operator: InList, Value: "1;2"})
	return &Form{ID: "feedback", PageID: 7, Fields: []*Field{
		{ID: "comment", Type: Textbox, Required: true},
		{ID: "rating", Type: Dropdown, Validation: OneOf, Options: []string{"1", "2", "3"}},
		{ID: "reason", Type: Textbox, Required: true, Condition: bad},
		{ID: "amount", Type: Textfield, Validation: Numeric, Condition: bad},
		{ID: "topics", Type: Checkbox, Validation: AnyOf, Options: []string{"x", "y", "z"}},
		{ID: "mail", Type: Textfield, Validation: Email, Condition: shownIf(MatchAll, Rule{FieldID: "reason", Operator: NotEmpty})},
	}}
}

// pairs splits "a=1 | b=2" into names and values.
func pairs(s, sign string, visit func(name, value string)) {
	for pair := range strings.SplitSeq(s, " | ") {
		if name, value, ok := strings.Cut(pair, sign); ok {
			visit(name, value)
		}
	}
}

// answersOf reads answers: "a=text | b[]=list,of,texts | c!=why it is malformed | d?=why it
// does not fit | e@=7:name of a file;name without a file".
func answersOf(s string) (answers []Answer) {
	pairs(s, "=", func(name, value string) {
		a := Answer{FieldID: strings.TrimRight(name, "[]!?@"), Value: value}
		switch {
		case strings.HasSuffix(name, "[]"):
			a.IsList, a.List = true, slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
		case strings.HasSuffix(name, "!"):
			a.Malformed = Say("{0}", value)
		case strings.HasSuffix(name, "?"):
			a.Misfit = Say("{0}", value)
		case strings.HasSuffix(name, "@"):
			a.Value = ""
			for _, f := range entriesOf(strings.ReplaceAll(value, ";", "= | ") + "=") {
				if f.ID > 0 {
					a.Files = append(a.Files, StoredFile{ID: f.ID, Name: f.FieldID, FieldID: a.FieldID})
				}
				a.Value = strings.TrimPrefix(a.Value+";"+f.FieldID, ";")
			}
		}
		answers = append(answers, a)
	})
	return answers
}

// entriesOf reads entries: "11:a=text | b=text". Without a number, the entry has no id.
func entriesOf(s string) (entries []Entry) {
	pairs(s, "=", func(name, value string) {
		id, fieldID, numbered := strings.Cut(name, ":")
		if !numbered {
			fieldID = name
		}
		number, _ := strconv.ParseInt(id, 10, 64)
		entries = append(entries, Entry{ID: number, FieldID: fieldID, Value: value})
	})
	return entries
}

// sent is a create, or a merge if something is stored, and what comes of it.
type sent struct {
	name, stored, answers string
	want                  string // entries
	faults                string // field errors, as in "a: is required | b: takes no files"
	files                 string // the stored ones that stay, and those that were sent, as in "7:field"
	storedFiles           []StoredFile
	writer                Writer
}

func (c sent) run(t *testing.T, form *Form) {
	t.Run(c.name, func(t *testing.T) {
		var got []Entry
		var files []StoredFile
		var err error
		if stored := entriesOf(c.stored); stored != nil {
			got, files, err = form.Merge(stored, c.storedFiles, answersOf(c.answers), c.writer)
			testkit.Diff(t, "the stored entries were changed (-before +after", stored, entriesOf(c.stored))
		} else {
			got, files, err = form.NewEntries(answersOf(c.answers), c.writer)
		}
		var faults map[string]string
		pairs(c.faults, ": ", func(id, message string) {
			if faults == nil {
				faults = map[string]string{}
			}
			faults[id] = message
		})
		testkit.Diff(t, "faults", faultsOf(t, err), faults)
		testkit.Diff(t, "entries", got, entriesOf(c.want), cmpEmptyAsNil)
		var kept []string
		for _, f := range files {
			kept = append(kept, fmt.Sprintf("%d:%s", f.ID, f.FieldID))
		}
		testkit.Same(t, "files", strings.Join(kept, " "), c.files)
	})
}

func TestNewEntries(t *testing.T) {
	for _, c := range []sent{
		{
			name:    "in rank order, whatever order they came in",
			answers: "topics[]=y,x | rating=3 | comment=ok", want: "comment=ok | rating=3 | topics=y;x",
		},
		{
			name:    "values are never trimmed, an explicit empty one is an answer",
			answers: "comment= \tfine\n  | rating=", want: "comment= \tfine\n  | rating=",
		},
		{name: "an empty list is an empty value", answers: "comment=a | topics[]=", want: "comment=a | topics="},
		{
			name:    "answers to hidden fields are neither checked nor kept",
			answers: "comment=a | rating=3 | reason=r | amount=many | mail=no mail", want: "comment=a | rating=3",
		},
		{
			name:    "what shows is checked and kept",
			answers: "comment=a | rating=1 | reason=r | amount=-1.5 | mail=a@b",
			want:    "comment=a | rating=1 | reason=r | amount=-1.5 | mail=a@b",
		},
		{name: "a required field that shows is missed", answers: "comment=a | rating=2", faults: "reason: is required"},
		{
			name:    "every fault at once",
			answers: "rating=1 | amount=1. | topics=x; | reason=why | mail=me | nope=",
			faults: "comment: is required | amount: must be a number such as 12 or -3.5 | topics: must be any of x, y, z | " +
				"mail: must be an e-mail address such as name@example.org | nope: is not a field of this form",
		},
		{
			name:    "field ids are compared exactly, and a field that has left the page is none",
			answers: "comment=a | Rating=1 | rating.=1 | =1 | gone=kept",
			faults: "Rating: is not a field of this form | rating.: is not a field of this form | : is not a field of this form | " +
				"gone: is not a field of this form",
		},
		{
			name:    "a list for a single-value field, even of one",
			answers: "comment[]=a | rating[]=",
			faults:  "comment: must be a single text, not a list | rating: must be a single text, not a list",
		},
		{
			name:    "a list value with the separator in it",
			answers: "comment=a | topics[]=x;y", faults: `topics: must not contain ";" within a value of the list`,
		},
		{
			name:    "NUL and invalid UTF-8",
			answers: "comment=a\x00b | topics[]=x,\xff | rating=\xed\xa0\x80",
			faults: "comment: must be valid text without NUL characters | topics: must be valid text without NUL characters | " +
				"rating: must be valid text without NUL characters",
		},
		{
			name:    "what can't be stored is refused even where it would be dropped, but no list is",
			answers: "comment=a | reason=\x00 | mail[]=a@b", faults: "reason: must be valid text without NUL characters",
		},
		{
			name:    "what is malformed comes before every other, but an unknown field is unknown however it came",
			answers: "comment!=\x00broken | nope!=broken", faults: "comment: \x00broken | nope: is not a field of this form",
		},
	} {
		c.run(t, feedback())
	}
}

func TestMerge(t *testing.T) {
	const stored = "11:comment=old | 12:rating=1 | 13:reason=slow | 14:amount=5"
	const quiet = "21:comment=old | 22:rating=3"
	const retired = "1:gone=kept | 2:comment=old | 3:left;too=a;b"
	const kept = "2:comment=new | 1:gone=kept | 3:left;too=a;b"
	for _, c := range []sent{
		{name: "nothing sent changes nothing", stored: stored, want: stored},
		{
			name: "only what is sent changes, and keeps its entry id", stored: stored, answers: "reason= new ",
			want: "11:comment=old | 12:rating=1 | 13:reason= new  | 14:amount=5",
		},
		{
			name: "a new entry has no id yet and stands at its rank", stored: quiet, answers: "topics[]=z,x | rating=",
			want: "21:comment=old | 22:rating= | topics=z;x",
		},
		{
			name:   "entries come back in rank order, however they were stored",
			stored: "14:amount=5 | 13:reason=slow | 12:rating=1 | 11:comment=old", want: stored,
		},
		{
			name: "an explicit empty value for a required field", stored: stored, answers: "comment= | reason=\u3000",
			faults: "comment: is required | reason: is required",
		},
		{
			name: "an explicit empty value for an optional one", stored: stored, answers: "amount=",
			want: "11:comment=old | 12:rating=1 | 13:reason=slow | 14:amount=",
		},
		{
			name: "an answer to a hidden field is dropped unchecked", stored: quiet,
			answers: "reason=r | amount=many | mail=", want: quiet,
		},
		{
			name: "a field that this merge hides keeps what is stored", stored: stored,
			answers: "rating=3 | reason=dropped | amount=many",
			want:    "11:comment=old | 12:rating=3 | 13:reason=slow | 14:amount=5",
		},
		{
			name: "a required field that this merge reveals must be sent along", stored: quiet,
			answers: "rating=1", faults: "reason: is required",
		},
		{
			name: "or was answered before it was hidden", stored: "21:comment=old | 22:rating=3 | 23:reason=r",
			answers: "rating=1", want: "21:comment=old | 22:rating=1 | 23:reason=r",
		},
		{
			name: "what comes to light must be valid", stored: "23:reason=r | 24:amount=many | " + quiet,
			answers: "rating=1", faults: "amount: must be a number such as 12 or -3.5",
		},
		{
			name: "what shows already and is not sent is not looked at", stored: "31:rating=1 | 32:amount=many",
			answers: "topics=x", want: "31:rating=1 | 32:amount=many | topics=x",
		},
		{
			name: "every fault at once", stored: stored, answers: "rating=4 | topics=; | nope=1 | comment!=came broken",
			faults: "rating: must be one of 1, 2, 3 | topics: must be any of x, y, z | " +
				"nope: is not a field of this form | comment: came broken",
		},
		// A retired field has left the page, but submissions still hold values of it.
		{name: "retired: kept, after the form's own fields", stored: retired, answers: "comment=new", want: kept},
		{name: "retired: sent back unchanged", stored: retired, answers: "comment=new | gone=kept | left;too=a;b", want: kept},
		{name: "retired: unchanged as a list", stored: retired, answers: "comment=new | left;too[]=a,b", want: kept},
		{
			name: "retired: changed", stored: retired, answers: "comment=new | gone=written",
			faults: "gone: is not a field of this form",
		},
		{name: "retired: emptied", stored: retired, answers: "gone=", faults: "gone: is not a field of this form"},
		{
			name: "retired: broken on the wire", stored: "1:gone=kept", answers: "gone!=kept",
			faults: "gone: is not a field of this form",
		},
	} {
		c.run(t, feedback())
	}
}

func TestFieldIsFoundByItsExactID(t *testing.T) {
	few, many := feedback(), feedback()
	for i := range 2 * fewFields {
		many.Fields = append(many.Fields, &Field{ID: fmt.Sprint("more", i)})
	}
	for _, form := range []*Form{few, many} {
		for id, want := range map[string]int{"": -1, "Reason": -1, "reason\t": -1, "reason": 2} {
			if got := form.Index().Rank(id); got != want {
				t.Errorf("rank of %q among %d fields: %d, want %d", id, len(form.Fields), got, want)
			}
		}
	}
}
