// Package builder shows the text of a form as cards, and turns clicks into changes of that text. It is pure: texts and
// controls in, texts and cards out. Nothing about a form is stored elsewhere.
package builder

import (
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// Context is what the builder knows besides the text.
type Context struct {
	PageID int64
	Lang   string // of the page; "" if it names none
	Author string // the author's language: texts that have it are shown and changed in it
	// Untitled is how a question without a text is called.
	Untitled string
	Options  *markup.Options
	Opened   string                           // the block on the page when it was opened; "" for a new form
	Taken    []string                         // ids of questions in stored definitions of the form
	Words    func(text *forms.Message) string // writes words that become part of the form, in the page's language
	YesNo    [][]string                       // both words in each language that the kind is recognised in
}

// Form is a text as cards.
type Form struct {
	// Settings are title, intro, thanks, opens-day, opens-time, closes-day, closes-time, limit, oneSubmission, anonymous
	// and notify. Days and times are in the zone of Options.
	Settings  map[string]Control
	Cards     []Card    // a section stands before its questions
	Problems  []Problem // that belong to no card
	Broken    bool      // a problem here or at a card keeps the form from being saved
	Languages bool      // some texts are in several languages; the text alone has the others
}

// Card is a question, or the head of a section.
type Card struct {
	Key       string // its place: "3", or "3.1" in a section. Actions name it
	Kind      *Kind
	Label     string // of the question or section; never empty: at worst the id
	Number    int    // of a question, from 1; 0 for sections
	Section   bool
	InSection bool
	Field     *forms.Field   // the question as people see it; nil for sections, and if an error is in the way
	Shown     *forms.Message // when it is shown, such as "Only if Kind of leave is other"; nil for always
	ByEditors bool           // only editors answer it
	IsFirst   bool           // on its level: it can't move up
	IsLast    bool           // on its level: it can't move down
	Next      string         // PLACE of a question that is added after it; of a section, its first place
	After     string         // after the last card of a section: PLACE of a question after the section; else ""
	Problems  []Problem
	Open      *OpenCard // while it is edited; nil for others
}

// Problem is an error or a warning.
type Problem struct {
	Severity markup.Severity
	Say      *forms.Message // nil if only English is known
	English  string         // without line numbers; "" if Say says it all
}

// Kind is a kind of question in people's words.
type Kind struct {
	Name string // in actions and controls
	Say  *forms.Message

	controls []control
	fields   tree // of a new question of this kind
}

// OpenCard has the controls of a card. A control that its kind has not is missing.
type OpenCard struct {
	// Controls have these names: label, kind, help, required, min, max, maxLength, scale-0, scale-1, accept,
	// maxSize, show, by, id, default, section. "choice" is there only with a fault of the choices.
	// Control.Value of a box is "true" or "". show is "", "all" or "any".
	Controls map[string]Control
	Kinds    []*Kind  // that the question may become
	Choices  []Choice // nil if its kind has none; the last one is empty, for the next, but not of "Yes or no"
	Rules    []Rule   // the last one is empty, for the next
	Sections []Choice // that the question may be in, the first one for none; nil if there are none
	Defaults []Choice // if the default is one of the choices; nil if it is a text
}

// Control is a text, a box or a list of an open card or of the settings.
type Control struct {
	Name  string // as it is sent
	Value string
	Fault *forms.Message // why its value was not taken
}

// Choice is an option of a question, or of a list.
type Choice struct {
	Value  string // is sent back as it is; "" for a new choice of a question
	Label  string
	Chosen bool
}

// Rule is a part of a condition.
type Rule struct {
	Field       string   // name of the control with the question
	Operator    string   // name of the control with the comparison
	Value       string   // name of the control with the answer; it may be sent several times
	Fields      []Choice // questions; the first one is for none
	Operators   []Operator
	Answers     []Choice // if the question has choices: one is chosen
	SeveralOf   bool     // several Answers may be chosen
	Text        string   // the answer, if there are no Answers
	NeedsAnswer bool     // the comparison has one
}

// Operator is a comparison in people's words.
type Operator struct {
	Value  string
	Say    *forms.Message
	Chosen bool
	unfit  string
}

// Names of hidden controls that say which controls are sent.
const (
	OpenControl     = "q" // has the key of the open card
	SettingsControl = "f" // has any value
	ChoiceControl   = "q-choice"
	ValueControl    = "q-value"   // hidden, one beside each choice: its Value
	SeveralControl  = "q-several" // lines to add as choices
)

// Result is a text after a click.
type Result struct {
	Text   string
	Notice *forms.Message // tells a change, or why there was none; may be nil
	Undo   *forms.Message // names the change for a button "Undo"; nil if the text is the same
	At     string         // key of the card where the notice stands and the focus goes; "" for the settings
	Focus  string         // name of the control that gets the focus; "" for the card itself
	Open   string         // key of the open card; "" for none

	faults map[string]*forms.Message // by name of control
	wanted *tree                     // the form with controls that could not be applied: Read shows them again
	known  reading                   // of Text; empty if it was not changed
	plain  bool                      // a question with yes and no is open as one choice: it is to get more
}

// Refused reports whether the controls that were sent could not be applied.
func (r Result) Refused() bool { return len(r.faults) > 0 }
