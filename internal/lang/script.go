package lang

import (
	"encoding/json"
	"fmt"
	"regexp"

	"golang.org/x/text/feature/plural"
)

// scriptCalls are those of t and tn in scripts: their name, and one or two texts.
var scriptCalls = regexp.MustCompile(`\b(tn?)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?`)

// ScriptMessages is a module of JavaScript with the messages that scripts say by t and tn.
func (l *Language) ScriptMessages(scripts []byte) []byte {
	texts := map[string]translation{}
	for _, call := range scriptCalls.FindAllSubmatch(scripts, -1) {
		var one, text string
		if string(call[1]) == "tn" {
			must(json.Unmarshal(call[2], &one))
			call = call[1:]
		}
		must(json.Unmarshal(call[2], &text))
		texts[text] = l.find(one, text)
	}
	module, err := json.Marshal(texts)
	must(err)
	return fmt.Appendf(nil, "export const lang = %q;\nexport const messages = %s;\n", l.Tag, module)
}

// MarshalJSON is a text, or an object of texts by plural form.
func (t translation) MarshalJSON() ([]byte, error) {
	texts := map[string]string{}
	for form, category := range categories {
		if t[form] != "" {
			texts[category] = t[form]
		}
	}
	if len(texts) == 1 && t[plural.One] == "" {
		return json.Marshal(t[plural.Other])
	}
	return json.Marshal(texts)
}
