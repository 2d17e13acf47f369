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

// The format of definitions. What is stored must stay readable: members may be added, not renamed.
type (
	definitionJSON struct {
		FormID        string        `json:"formId"`
		PageID        int64         `json:"pageId"`
		MacroID       string        `json:"macroId"`
		Anonymous     bool          `json:"anonymous"`
		OneSubmission bool          `json:"oneSubmission"`
		Fields        []fieldJSON   `json:"fields"`
		Sections      []sectionJSON `json:"sections,omitempty"`

		Lang      string           `json:"lang,omitempty"`
		Languages []definitionJSON `json:"languages,omitempty"` // the other ones of a form in several
	}
	fieldJSON struct {
		ID         string            `json:"fieldId"`
		Type       FieldType         `json:"type"`
		Label      string            `json:"label"`
		MacroID    string            `json:"macroId"`
		Required   bool              `json:"required,omitempty"`
		Validation Validation        `json:"validation,omitempty"`
		Options    []string          `json:"options,omitempty"`
		Labels     map[string]string `json:"labels,omitempty"`
		Accept     []string          `json:"accept,omitempty"`
		Condition  *Condition        `json:"condition,omitempty"`
	}
	sectionJSON struct {
		MacroID   string     `json:"macroId"`
		First     int        `json:"first"`
		Count     int        `json:"count"`
		Condition *Condition `json:"condition,omitempty"`
	}
)

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
	form := f.encode()
	for _, translated := range f.Languages()[1:] {
		form.Languages = append(form.Languages, translated.encode())
	}
	text, _ := json.Marshal(form) // texts and numbers are always encoded
	d := NewDefinition(string(text))
	f.definition.Store(&d)
	return d
}

// encode returns the form in its own language.
func (f *Form) encode() definitionJSON {
	form := definitionJSON{
		FormID: f.ID, PageID: f.PageID, MacroID: f.MacroID, Anonymous: f.Anonymous, OneSubmission: f.OneSubmission,
		Lang: f.Lang,
	}
	for _, field := range f.Fields {
		form.Fields = append(form.Fields, fieldJSON{
			field.ID, field.Type, field.Label, field.MacroID, field.Required, field.Validation,
			field.Options, field.Labels, field.Accept, field.Condition,
		})
	}
	for _, s := range f.Sections {
		form.Sections = append(form.Sections, sectionJSON{s.MacroID, s.First, s.Count, s.Condition})
	}
	return form
}

// Form returns the form as it was, without what a definition does not have.
func (d Definition) Form() (*Form, error) {
	var form definitionJSON
	if err := json.Unmarshal([]byte(d.Text), &form); err != nil {
		return nil, fmt.Errorf("read a stored definition: %w", err)
	}
	languages := []*Form{form.decode()}
	for i := range form.Languages {
		languages = append(languages, form.Languages[i].decode())
	}
	return JoinLanguages(languages), nil
}

// decode returns the form in its own language.
func (form *definitionJSON) decode() *Form {
	f := &Form{
		ID: form.FormID, PageID: form.PageID, MacroID: form.MacroID,
		Anonymous: form.Anonymous, OneSubmission: form.OneSubmission, Lang: form.Lang,
	}
	for _, field := range form.Fields {
		f.Fields = append(f.Fields, &Field{
			ID: field.ID, Type: field.Type, Label: field.Label, MacroID: field.MacroID, Required: field.Required,
			Validation: field.Validation, Options: field.Options, Labels: field.Labels, Accept: field.Accept,
			Condition: field.Condition,
		})
	}
	for _, s := range form.Sections {
		f.Sections = append(f.Sections, Section{MacroID: s.MacroID, First: s.First, Count: s.Count, Condition: s.Condition})
	}
	return f
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
