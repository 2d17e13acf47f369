package encode

import (
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// The limit on a form's definition is one on what is answered with.
func TestDefinitionSizeIsAboutThatOfTheAnswer(t *testing.T) {
	text := strings.Repeat("text ", 20)
	section := &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{
		{FieldID: "0", Operator: forms.InList, Value: text}, {FieldID: "0", Operator: forms.NotEmpty},
	}}
	for name, field := range map[string]forms.Field{
		"bare":    {Type: forms.Textfield},
		"label":   {Type: forms.Textfield, Label: text},
		"options": {Type: forms.Radio, Validation: forms.OneOf, Options: []string{"a", "b", text}},
		"accept":  {Type: forms.File, Validation: forms.FileName, Accept: []string{".pdf", "image/*", text}},
		"section": {Type: forms.Textfield, Condition: section},
	} {
		form := &forms.Form{ID: name, PageID: 1, MacroID: forms.MacroID(1, name)}
		for i := range 100 {
			field := field
			field.ID = strconv.Itoa(i)
			field.MacroID = forms.MacroID(1, name, "field", field.ID)
			form.Fields = append(form.Fields, &field)
		}
		if field.Condition != nil {
			form.Sections = []forms.Section{{MacroID: form.MacroID, Count: len(form.Fields), Condition: field.Condition}}
		}
		size, answered := markup.DefinitionSize(form), len(Form(form))
		if size < answered*9/10 || size > answered*12/10 {
			t.Errorf("%s: the size is given as %d, and %d bytes are answered", name, size, answered)
		}
	}
}
