package markup

// Key is a key that authors write, and its row in the reference.
type Key struct {
	Place   Place
	Name    string
	Value   string // what is written after it, as in "true"
	Meaning string
}

// Place is where a key is written.
type Place string

// The places of keys.
const (
	InForm    Place = "form"
	InField   Place = "field"
	InSection Place = "section"
	InPage    Place = "page" // in its front matter
)

// Keys are all keys, in the order of the documentation. The parser knows no others.
var Keys = []Key{
	{InForm, "form", "ID", "the form's id: letters, digits, - _ and . ; part of web addresses"},
	{InForm, "title", "TEXT", "what people read in place of the id"},
	{InForm, "anonymous", "true", "no name is stored"},
	{InForm, "oneSubmission", "true", "each person can submit once"},
	{InForm, "opens", "2026-03-01", "nobody submits before this day, or this time as in 2026-03-01T09:00:00+01:00"},
	{InForm, "closes", "2026-03-31", "nobody submits after this day or time, and only editors change submissions"},
	{InForm, "limit", "50", "at most so many submissions, up to 10000"},
	{InForm, "thanks", "TEXT", "shown after sending; may have lines and links"},
	{InForm, "fields", "LIST", "the fields and sections"},

	{InField, "id", "ID", "unique in the form; stored answers belong to it"},
	{InField, "type", "TYPE", "textfield, textbox, dropdown, radio, checkbox, date, status or file"},
	{InField, "label", "TEXT", "the question that people read; default: the id"},
	{InField, "help", "TEXT", "shown below the label"},
	{InField, "required", "true", "an empty answer is refused"},
	{InField, "options", "[A, B, C]", "the values to choose from"},
	{InField, "validate", "RULE", "numeric, alpha, email, date or file, for a field without options"},
	{InField, "min", "1", "the least number or the first day; for dates also today; or {field: ID}: the answer to another field"},
	{InField, "max", "10", "the greatest number or the last day, written like min"},
	{InField, "maxLength", "200", "the most characters of a textfield or textbox"},
	{InField, "default", "TEXT", "filled in at first, and stored if nothing is sent; for dates also today, for a checkbox also a list"},
	{InField, "by", "editors", "only editors of the page set or change it"},
	{InField, "accept", "[.pdf, image/*]", "the files that a field of type file takes"},
	{InField, "maxSize", "5MB", "how large each file may be"},
	{
		InField, "showIf", "{field: ID, equals: A}",
		"when the field is shown: equals, not-equals, one-of, contains, empty, not-empty, greater-than or less-than; several such rules as a list below all: or any:",
	},

	{InSection, "section", "ID", "the section's name; unique in the form"},
	{InSection, "title", "TEXT", "shown above its fields"},
	{InSection, "showIf", "{field: ID, equals: A}", "when the section is shown, written as for a field"},
	{InSection, "fields", "LIST", "its fields"},

	{InPage, "id", "101", "the page's id; default: the number that the file's name begins with"},
	{InPage, "title", "TEXT", "the page's title; default: made from the file's name"},
	{InPage, "lang", "de", "the language of the page's text and labels, for screen readers and hyphenation"},
	{InPage, "view", `[alice, "@staff"]`, "who may read the forms and submit; default: every user"},
	{InPage, "edit", `["@hr"]`, "who may read, change and delete all submissions; default: all who may view"},
	{InPage, "results", "viewers", "viewers may read all submissions, too"},
}

// KeysOf returns the keys of a place.
func KeysOf(place Place) (keys []Key) {
	for _, key := range Keys {
		if key.Place == place {
			keys = append(keys, key)
		}
	}
	return keys
}

// namesOf returns the names of the keys of a place.
func namesOf(place Place) (names []string) {
	for _, key := range KeysOf(place) {
		names = append(names, key.Name)
	}
	return names
}
