package forms

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Definition is a form as it was when answers to it were checked: what the API's Form says, and
// the labels of options. The zero value means that it is not known.
type Definition struct {
	Text string   // see definitionJSON
	Hash [16]byte // of the text; submissions refer to a definition of their form by it
}

// definitionJSON is the format of definitions: the members that the types have tags for. What is stored must stay
// readable: members may be added, not renamed.
type definitionJSON struct {
	*Form
	Languages []*Form `json:"languages,omitempty"` // the other ones of a form in several
}

// NewDefinition returns the definition with a text.
func NewDefinition(text string) Definition {
	sum := sha256.Sum256([]byte(text))
	return Definition{text, [16]byte(sum[:])}
}

// Definition returns the definition of the form in all its languages. It is made once: the form must not
// be changed afterwards.
func (f *Form) Definition() Definition {
	f = f.In("")
	if made := f.definition.Load(); made != nil {
		return *made
	}
	text, _ := json.Marshal(definitionJSON{f, f.Languages()[1:]}) // texts and numbers are always encoded
	d := NewDefinition(string(text))
	f.definition.Store(&d)
	return d
}

// Form returns the form as it was, without what a definition does not have.
func (stored Definition) Form() (*Form, error) {
	d := definitionJSON{Form: &Form{}}
	if err := json.Unmarshal([]byte(stored.Text), &d); err != nil {
		return nil, fmt.Errorf("read a stored definition: %w", err)
	}
	return JoinLanguages(append([]*Form{d.Form}, d.Languages...)), nil
}

// AskedAs returns the label that the field had in a form as it was, and what people read there for an
// answer; "" where it is what they read now.
func (f *Field) AskedAs(then *Form, value string) (label, answer string) {
	old := f.in(then)
	if old == nil {
		return "", ""
	}
	if old.Label != f.Label {
		label = old.Label
	}
	words := Field{Labels: map[string]string{}}
	maps.Copy(words.Labels, f.Labels)
	for _, option := range slices.Backward(old.Options) {
		words.Labels[f.CurrentValue(option)] = old.LabelOf(option)
	}
	if answer = words.LabelOf(value); answer == f.LabelOf(value) {
		answer = ""
	}
	return label, answer
}

// in returns the field in a form as it was, or nil.
func (f *Field) in(then *Form) *Field {
	for _, id := range f.IDs() {
		if old := then.Field(id); old != nil {
			return old
		}
	}
	return nil
}
