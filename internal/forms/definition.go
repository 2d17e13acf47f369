package forms

// What the JSON of a definition holds beside the texts of a form: the names of
// its members, quotes and commas, and macro ids, which are UUIDs. About is
// enough: the size is held against a limit far above what people write.
const (
	formOverhead      = 200
	fieldOverhead     = 200
	optionOverhead    = 13 // {"value":""},
	conditionOverhead = 60
	ruleOverhead      = 45
)

// DefinitionSize is about the number of bytes that the form's definition takes
// in an answer. It is not bounded by the size of the page: the condition of a
// section is repeated for each of its fields, and so is what a page's author
// wrote once and referred to with an alias. Help texts count, too: the pages
// in the browser show them.
func (f *Form) DefinitionSize() int {
	size := formOverhead + len(f.ID)
	var last *Condition
	conditionSize := 0
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Condition != last { // the fields of a section follow one another
			last, conditionSize = field.Condition, field.Condition.size()
			size += conditionSize // once more in the list of conditions
		}
		size += field.size() + conditionSize
	}
	return size
}

// size leaves out the condition.
func (f *Field) size() int {
	size := fieldOverhead + 2*len(f.ID) + len(f.Label) + len(f.Help)
	for _, o := range f.Options {
		size += optionOverhead + len(o)
	}
	for _, a := range f.Accept {
		size += optionOverhead + len(a)
	}
	return size
}

// What the HTML of a form holds beside its texts and ids, about.
const (
	fieldHTML   = 400
	sectionHTML = 120
	choiceHTML  = 130 // of a radio button or a checkbox
	optionHTML  = 28  // of a dropdown
)

// HTMLSize is about the number of bytes that the form takes in a browser while
// it is empty. DefinitionSize does not bound it: each radio button and each
// checkbox repeats the id of its field, and HTML writes a quote in five bytes.
func (f *Form) HTMLSize() int {
	size, conditional := 0, false
	for i := range f.Fields {
		size += f.Fields[i].htmlSize()
		conditional = conditional || f.Fields[i].Condition != nil
	}
	for _, s := range f.Sections {
		size += sectionHTML + 2*escapedSize(s.Name)
	}
	if conditional { // browsers get the definition, too
		size += f.DefinitionSize()
	}
	return size
}

func (f *Field) htmlSize() int {
	id := escapedSize(f.ID)
	size := fieldHTML + 3*id + escapedSize(f.Label) + escapedSize(f.Help)
	choice := choiceHTML + id
	if f.Type == Dropdown {
		choice = optionHTML
	}
	for _, o := range f.Options {
		size += choice + 2*escapedSize(o)
	}
	for _, a := range f.Accept {
		size += 2 * escapedSize(a)
	}
	return size
}

// escapedSize is the number of bytes that a text takes in HTML.
func escapedSize(s string) int {
	size := len(s)
	for i := range len(s) {
		switch s[i] {
		case '"', '\'', '&', '+':
			size += len("&#34;") - 1
		case '<', '>':
			size += len("&lt;") - 1
		}
	}
	return size
}

// size of no condition is 0.
func (c *Condition) size() int {
	if c == nil {
		return 0
	}
	size := conditionOverhead
	for _, r := range c.Rules {
		size += ruleOverhead + len(r.FieldID) + len(r.Operator) + len(r.Value)
	}
	return size
}
