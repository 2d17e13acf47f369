package lang

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// scriptCalls are those of t and tn in scripts: one or two texts.
var scriptCalls = regexp.MustCompile(`\bt(?:n\(\s*` + scriptText + `,|\()\s*` + scriptText)

const scriptText = `("(?:[^"\\]|\\.)*")`

// ScriptMessages is a module of JavaScript with the messages that scripts say by t and tn, and how times are written.
func (l *Language) ScriptMessages(scripts []byte) []byte {
	texts := map[string]translation{}
	for _, call := range scriptCalls.FindAllSubmatch(scripts, -1) {
		var text string
		must(json.Unmarshal(call[2], &text))
		texts[text] = l.messages()[text]
	}
	module, err := json.Marshal(texts)
	must(err)
	const text = "export const lang = %q;\nexport const timeLayout = %q;\nexport const months = %q;\n" +
		"export const messages = %s;\n"
	return fmt.Appendf(nil, text, l.Tag, l.TimeLayout, strings.Join(l.Months[:], " "), module)
}
