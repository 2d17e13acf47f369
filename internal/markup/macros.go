package markup

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

var (
	formParameters  = []string{"formId", "oneSubmission", "anonymous"}
	fieldParameters = []string{"id", "type", "label", "required", "options", "validate", "help", "accept", "maxSize"}
)

// hostParameter is a parameter that Confluence's editor adds to every macro.
const hostParameter = "atlassian-macro-output-type"

// rawBlocks turns the page's macros into raw blocks.
func (s *storageReader) rawBlocks() []rawBlock {
	s.macros = slices.DeleteFunc(s.macros, func(m *macro) bool {
		return m.name == codeMacro && !isFormText(plainSpaces.Replace(m.body.text.String()))
	})
	for _, m := range s.macros {
		if m.form != nil {
			s.report(m.at, Error, "close the other form first", "a form inside a form")
			m.failed, m.form.failed = true, true
		}
	}
	var blocks []rawBlock
	for _, m := range s.macros {
		if m.name == formMacro {
			raw := s.rawForm(m)
			blocks = append(blocks, rawBlock{at: m.at, macros: raw, hostID: m.hostID, failed: m.failed})
		} else {
			blocks = append(blocks, rawBlock{at: m.at, text: m.body.excerpt(), hostID: m.hostID, failed: m.failed})
		}
	}
	return blocks
}

// isFormText reports whether the text of a code macro is a form: it begins with
// "form:", not counting comments and "---", or it looks like a form.
func isFormText(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line != "---" {
			return strings.HasPrefix(line, "form:") || looksLikeForm(text)
		}
	}
	return false
}

func (s *storageReader) rawForm(m *macro) *rawForm {
	p := s.parameters(m, formParameters)
	f := &rawForm{at: at(m.at), id: p["formId"], anonymous: p["anonymous"], oneSubmission: p["oneSubmission"], what: "the form macro", idKey: "formId", strayHostIDs: m.strays}
	if len(m.fields) == 0 {
		m.failed = true
		s.report(m.at, Error, "put form-field macros into its body", "the form has no fields")
	}
	read := min(len(m.fields), MaxFields+1) // builder reports one too many
	for _, fm := range m.fields[read:] {
		f.strayHostIDs = append(f.strayHostIDs, fm.hostID)
	}
	for _, fm := range m.fields[:read] {
		f.items = append(f.items, rawItem{field: s.rawField(fm)})
		m.failed = m.failed || fm.failed
	}
	return f
}

func (s *storageReader) rawField(m *macro) rawField {
	p := s.parameters(m, fieldParameters)
	f := rawField{
		at: at(m.at), hostID: m.hostID,
		id: p["id"], typ: p["type"], label: p["label"], required: p["required"], validate: p["validate"],
		help: p["help"], maxSize: p["maxSize"],
	}
	if accept := p["accept"]; accept.present() {
		f.accept = splitAccept(accept)
	}
	f.options = splitOptions(p["options"])
	if o := p["options"]; strings.Contains(o.text, ",") && !strings.Contains(o.text, forms.Separator) {
		s.report(o.at.col, Warning, `separate options by ";"`, "options %s is one option", quote(o.text))
	}
	return f
}

func splitOptions(v value) *rawList {
	list := &rawList{at: v.at}
	for part := range strings.SplitSeq(v.text, forms.Separator) {
		if part = strings.TrimSpace(part); part != "" {
			list.values = append(list.values, value{text: part, at: v.at})
		}
	}
	if len(list.values) == 0 {
		return nil
	}
	return list
}

// at returns the spot of an offset on the page. Its line is 1, since the zero
// spot means "not written".
func at(offset int) spot { return spot{1, offset} }

// parameters reads a macro's parameters by name. An empty one counts as not
// written.
func (s *storageReader) parameters(m *macro, known []string) map[string]value {
	values := map[string]value{}
	seen := map[string]bool{}
	for _, p := range m.params {
		e := p.text.excerpt()
		text := trimmed(e.text)
		dup := seen[p.name]
		switch {
		case p.name == hostParameter:
		case !slices.Contains(known, p.name):
			s.wrong(m, p.at, wordHint(p.name, known), "unknown parameter "+quote(p.name)+" of a "+m.name+" macro")
		case dup:
			s.wrong(m, p.at, "", "parameter "+quote(p.name)+" appears twice")
		case p.nested:
			s.wrong(m, p.at, "", "parameter "+quote(p.name)+" must be a plain text")
			values[p.name] = value{at: at(p.at), invalid: true}
		case p.text.full():
			s.wrong(m, p.at, "", "parameter "+quote(p.name)+" is too long")
			values[p.name] = value{at: at(p.at), invalid: true}
		case text != "":
			lead := len(e.text) - len(strings.TrimLeft(e.text, " \t\n"+noBreakSpace))
			values[p.name] = value{text: text, at: at(e.pageOffset(lead))}
		}
		seen[p.name] = true
	}
	return values
}

func (s *storageReader) wrong(m *macro, at int, hint, message string) {
	m.failed = true
	s.report(at, Error, hint, "%s", message)
}
