package markup

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

var (
	formParameters  = append([]string{"formId"}, parametersOf(formKeys, "form", "lockIf", "fields")...)
	fieldParameters = parametersOf(fieldKeys, "showIf")
)

// parametersOf returns the keys that macros have as parameters of the same name.
func parametersOf(keys []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(others, key) })
}

// hostParameter is a parameter that Confluence's editor adds to every macro.
const hostParameter = "atlassian-macro-output-type"

// rawBlocks turns the page's macros into raw blocks.
func (s *storageReader) rawBlocks() []rawBlock {
	s.macros = slices.DeleteFunc(s.macros, func(m *macro) bool {
		if m.name != codeMacro {
			return false
		}
		text := plainSpaces.Replace(m.body.text())
		isForm := isFormText(text)
		if !isForm && isFormText(strings.ToLower(text)) {
			s.warnf(m.at, `begin with "form:" in lower case`,
				"this code macro looks like a form, but begins with other letters: it is not served")
		}
		return !isForm
	})
	for _, m := range s.macros {
		if m.form != nil {
			s.wrong(m, m.at, "close the other form first", "a form inside a form")
			m.form.failed = true
		}
	}
	var blocks []rawBlock
	for _, m := range s.macros {
		block := rawBlock{at: m.at, end: m.end, hostID: m.hostID}
		if m.name == formMacro {
			block.macros, block.hostIDs = s.formNode(m)
		} else {
			block.text = &m.body
		}
		block.failed = m.failed
		blocks = append(blocks, block)
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

// formNode returns a form macro as a YAML mapping, and the macro ids of its fields.
func (s *storageReader) formNode(m *macro) (form *yaml.Node, hostIDs map[*yaml.Node]string) {
	form = s.parameters(m, formParameters)
	if len(m.fields) == 0 {
		s.wrong(m, m.at, "put form-field macros into its body", "the form has no fields")
		return form, nil
	}
	list := newNode(yaml.SequenceNode, "", m.at)
	form.Content = append(form.Content, newNode(yaml.ScalarNode, "fields", m.at), list)
	hostIDs = map[*yaml.Node]string{}
	for _, fm := range m.fields[:min(len(m.fields), MaxFields+1)] { // formReader reports one too many
		field := s.parameters(fm, fieldParameters)
		hostIDs[field] = fm.hostID
		list.Content = append(list.Content, field)
		m.failed = m.failed || fm.failed
	}
	return form, hostIDs
}

// newNode makes a node as parseYAML does: its column is an offset on the page.
func newNode(kind yaml.Kind, text string, at int) *yaml.Node {
	return &yaml.Node{Kind: kind, Value: text, Style: yaml.DoubleQuotedStyle, Column: at}
}

var (
	// optionMapping matches options that are written as those in YAML.
	optionMapping = regexp.MustCompile(`(^|;)[\s\[-]*\{[^;]*\bvalue\s*:`)
	// languageMapping matches texts in several languages that are written as those in YAML.
	languageMapping = regexp.MustCompile(`^\{\s*[A-Za-z]{2,3}(-\w+)*\s*:`)
)

const codeMacroHint = "write the form as YAML in a code macro"

// parameters reads a macro's parameters into a mapping. An empty one counts as
// not written.
func (s *storageReader) parameters(m *macro, known []string) *yaml.Node {
	node := newNode(yaml.MappingNode, "", m.at)
	seen := map[string]bool{}
	for _, p := range m.params {
		switch {
		case p.name == hostParameter:
		case !slices.Contains(known, p.name):
			s.wrong(m, p.at, wordHint(s.reader, "a field", p.name, known),
				"unknown parameter "+quote(p.name)+" of a "+m.name+" macro")
		case seen[p.name]:
			s.wrong(m, p.at, "", "parameter "+quote(p.name)+" appears twice")
		case p.text.full():
			s.wrong(m, p.at, "", "parameter "+quote(p.name)+" is too long")
		case p.name == "options" && optionMapping.MatchString(p.text.text()):
			s.wrong(m, p.at, codeMacroHint,
				"options of a form-field macro are texts, without label and color")
		default:
			key := p.name
			if key == "formId" {
				key = "form"
			}
			if val := s.valueNode(p); val != nil {
				node.Content = append(node.Content, newNode(yaml.ScalarNode, key, p.at), val)
			}
		}
		seen[p.name] = true
	}
	return node
}

// valueNode returns the value of a parameter, or nil if it is empty. Options, addresses,
// earlier ids and the ends of a scale are a list. A bound that is the answer to another field is
// written field:ID.
func (s *storageReader) valueNode(p *parameter) *yaml.Node {
	if p.nested {
		return newNode(yaml.MappingNode, "", p.at) // formReader refuses it
	}
	raw := p.text.text()
	text := trimmed(raw)
	at := p.text.pageOffset(leadingSpace(raw))
	if text == "" {
		return nil
	}
	if languageMapping.MatchString(text) {
		s.warnf(at, codeMacroHint, "%s of a macro is one text: it is shown as it is written, in all languages", p.name)
	}
	if id, found := strings.CutPrefix(text, "field:"); found && (p.name == "min" || p.name == "max") {
		reference := newNode(yaml.MappingNode, "", at)
		reference.Content = []*yaml.Node{newNode(yaml.ScalarNode, "field", at), newNode(yaml.ScalarNode, trimmed(id), at)}
		return reference
	}
	switch {
	case p.name == "notify":
		raw = strings.ReplaceAll(raw, ",", forms.Separator)
	case p.name == "scale", p.name == "was":
	case p.name != "options":
		return newNode(yaml.ScalarNode, text, at)
	case strings.Contains(text, ",") && !strings.Contains(text, forms.Separator):
		s.warnf(at, `separate options by ";"`, "options %s is one option", quote(text))
	}
	list := newNode(yaml.SequenceNode, "", at)
	start := 0
	for part := range strings.SplitSeq(raw, forms.Separator) {
		if value := trimmed(part); value != "" || p.name == "scale" {
			at := p.text.pageOffset(start + leadingSpace(part))
			list.Content = append(list.Content, newNode(yaml.ScalarNode, value, at))
		}
		start += len(part) + len(forms.Separator)
	}
	if len(list.Content) == 0 {
		return nil
	}
	return list
}

// leadingSpace counts the bytes of white space that a text begins with.
func leadingSpace(text string) int {
	return len(text) - len(strings.TrimLeft(text, " \t\n"+noBreakSpace))
}

func (s *storageReader) wrong(m *macro, at int, hint, message string) {
	m.failed = true
	s.errorf(at, hint, "%s", message)
}
