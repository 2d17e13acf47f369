package markup

// rawForm is a form as its author wrote it, in YAML or in macros. Its structure
// is right, but its values are not checked: builder does that.
type rawForm struct {
	at            spot
	id            value
	anonymous     value
	oneSubmission value
	items         []rawItem
	strayHostIDs  []string // host ids of form-field macros that could not become fields
	what, idKey   string   // names of the form and its id in messages, which differ by format
}

// rawItem is an entry in a list of fields: a field, or a section when it has one.
type rawItem struct {
	field   rawField
	section *rawSection
}

type rawField struct {
	at       spot
	hostID   string // the host's macro id, or ""
	id       value
	typ      value
	label    value
	required value
	validate value
	options  *rawList
	help     value
	accept   *rawList
	maxSize  value
	showIf   *rawCondition
}

type rawSection struct {
	at     spot
	name   value
	showIf *rawCondition
	fields []rawField
}

// rawCondition is a showIf whose structure is right.
type rawCondition struct {
	at    spot
	any   bool // one rule that holds is enough
	rules []rawRule
}

type rawRule struct {
	at       spot
	field    value
	operator value
	one      value    // the operator's value,
	list     *rawList // or its list of values
}

type rawList struct {
	at     spot
	values []value
}

// value is a text and its spot. A value that is not written has the zero spot.
type value struct {
	text    string
	at      spot
	null    bool // written, but without a value
	invalid bool // written, but not as a text: the decoder has reported it
}

func (v value) written() bool { return v.at != spot{} }

// present reports whether there is a text.
func (v value) present() bool { return v.written() && !v.null && !v.invalid }
