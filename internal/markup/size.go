package markup

import "github.com/formulary/formulary/internal/forms"

// What a field, an option and a rule take in an answer beside their texts, about:
// the names of members, and macro ids.
const (
	fieldBytes  = 200
	optionBytes = 13
	ruleBytes   = 45
)

// DefinitionSize is about the number of bytes that a form's definition takes in
// an answer. It is not bounded by the size of the page: the condition of a
// section is repeated for each of its fields, and so is what a page's author
// wrote once and referred to with an alias. Texts that only the pages in the
// browser show count, too.
func DefinitionSize(f *forms.Form) (size int) {
	for _, translated := range f.Languages() {
		size += languageSize(translated)
	}
	return size
}

func languageSize(f *forms.Form) int {
	size := fieldBytes + len(f.ID) + len(f.Title) + len(f.Intro) + len(f.Thanks)
	for _, address := range f.Notify {
		size += optionBytes + len(address)
	}
	for i := range f.Sections {
		size += len(f.Sections[i].Title)
	}
	for _, c := range f.Conditions() {
		size += conditionSize(c) // once more in the list of conditions
	}
	for _, field := range f.Fields {
		size += conditionSize(field.Condition) + boundSize(field.Min) + boundSize(field.Max) +
			fieldBytes + 2*len(field.ID) + len(field.Label) + len(field.Help) + len(field.Default)
		for _, label := range field.Labels {
			size += optionBytes + len(label)
		}
		for _, texts := range [][]string{field.Options, field.Accept, field.Scale} {
			for _, text := range texts {
				size += optionBytes + len(text)
			}
		}
	}
	return size
}

func boundSize(b *forms.Bound) int {
	if b == nil {
		return 0
	}
	return ruleBytes + len(b.Value) + len(b.FieldID)
}

func conditionSize(c *forms.Condition) int {
	if c == nil {
		return 0
	}
	size := ruleBytes
	for _, r := range c.Rules {
		size += ruleBytes + len(r.FieldID) + len(r.Operator) + len(r.Value)
	}
	return size
}
