package encode

import (
	"fmt"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/formulary/formulary/internal/forms"
)

// The types below are the shapes of the interface. Their members are in an order
// that people can read.
type (
	formJSON struct {
		FormID        string                  `json:"formId"`
		PageID        int64                   `json:"pageId"`
		MacroID       string                  `json:"macroId"`
		Anonymous     bool                    `json:"anonymous"`
		OneSubmission bool                    `json:"oneSubmission"`
		Fields        members[fieldJSON]      `json:"fields"`
		Conditions    members[*conditionJSON] `json:"conditions"`
	}
	fieldJSON struct {
		Type           forms.FieldType  `json:"type"`
		FieldID        string           `json:"fieldId"`
		Label          string           `json:"label"`
		MacroID        string           `json:"macroId"`
		Required       bool             `json:"required"`
		ValidationType *string          `json:"validationType"`
		Validations    []validationJSON `json:"validations"`
		Condition      *conditionJSON   `json:"condition"`
		Rank           int              `json:"rank"`
	}
	validationJSON struct {
		Value string `json:"value"`
	}
	conditionJSON struct {
		Action string `json:"action"`
		forms.Condition
	}
	invalidJSON struct {
		Valid       bool                      `json:"valid"`
		FieldErrors map[string]*forms.Message `json:"fieldErrors"`
		Errors      []*forms.Message          `json:"errors"`
	}
)

// members are an object whose names have an order. Each value is made when it is written: all of them
// may take much memory.
type members[T any] iter.Seq2[string, T]

// MarshalJSONTo implements json.MarshalerTo.
func (m members[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for name, value := range m {
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, &value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func membersOf[K, V, T any](all iter.Seq2[K, V], member func(K, V) (string, T)) members[T] {
	return func(yield func(string, T) bool) {
		for k, v := range all {
			if !yield(member(k, v)) {
				return
			}
		}
	}
}

var jsonOptions = json.JoinOptions(
	json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// marshal encodes values whose encoding can't fail.
func marshal(value any) []byte {
	text, err := json.Marshal(value, jsonOptions)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return text
}

// Form is the definition of a form.
func Form(f *forms.Form) []byte { return marshal(newForm(f)) }

// Forms is the definitions of several forms.
func Forms(list []*forms.Form) []byte {
	all := make([]formJSON, len(list))
	for i, f := range list {
		all[i] = newForm(f)
	}
	return marshal(all)
}

func newForm(f *forms.Form) formJSON {
	return formJSON{
		f.ID, f.PageID, f.MacroID, f.Anonymous, f.OneSubmission,
		membersOf(slices.All(f.Fields), func(rank int, field *forms.Field) (string, fieldJSON) {
			return field.ID, newField(field, rank)
		}),
		membersOf(f.Conditions(), func(macroID string, c *forms.Condition) (string, *conditionJSON) {
			return macroID, newCondition(c)
		}),
	}
}

func newField(f *forms.Field, rank int) fieldJSON {
	field := fieldJSON{
		Type: f.Type, FieldID: f.ID, Label: f.Label, MacroID: f.MacroID, Required: f.Required,
		Condition: newCondition(f.Condition), Rank: rank,
	}
	if f.Validation != forms.NoValidation {
		name := string(f.Validation)
		field.ValidationType = &name
	}
	values := f.Options
	if f.Type == forms.File {
		values = f.Accept
	}
	for _, v := range values {
		field.Validations = append(field.Validations, validationJSON{v})
	}
	return field
}

func newCondition(c *forms.Condition) *conditionJSON {
	if c == nil {
		return nil
	}
	return &conditionJSON{"show", *c}
}

// Invalid is a validation result.
func Invalid(invalid *forms.Invalid) []byte {
	return marshal(invalidJSON{FieldErrors: invalid.Fields, Errors: invalid.Errors})
}
