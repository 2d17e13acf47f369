package markup

import (
	"strings"
	"testing"
)

// hostileTexts would take the YAML parser much longer than a form of the same
// length, or need much more memory, if nesting were not bounded. Each is a unit
// that is repeated.
var hostileTexts = map[string]string{
	"brackets": "[", "braces": "{", "mappings": "{a: ", "brackets in lists": "[a, [", "dashes": "- ", "question marks": "? ", "complex keys": "[? ",
	"anchors of lists": "&a [", "tags of lists": "!a [", "anchors": "&a ", "anchored values": "&a ,", "aliases": "*a ", "tags": "!a ",
	"double quotes": `"'`, "single quotes": `'"`, "quoted lists": `["`, "escapes": `\"`, "colons": "a: ", "keys": "a:\n", "commas": "a,", "empty lists": "[],",
	"nested lists": strings.Repeat("[", maxYAMLNesting-1) + strings.Repeat("]", maxYAMLNesting-1) + ",", "directives": "%TAG !a! b\n", "documents": "--- a\n",
	"literals": "- |\n", "comments": "- a # b\n", "tabs": "\t", "indents": " a:\n",
}

func repeated(unit string) string { return strings.Repeat(unit, (MaxBlockBytes-100)/len(unit)) }

// Whatever a text nests or repeats, it is read or refused. One that takes more than
// linear time exceeds the test's timeout.
func TestHostileTexts(t *testing.T) {
	for name, unit := range hostileTexts {
		t.Run(name, func(t *testing.T) { checkPage(t, read(formText, 1, []byte(smallForm+"  - id: "+repeated(unit)))) })
	}
}

// What is nested too deeply is refused while it is scanned: the parser builds nothing
// of it.
func TestDeepNestingIsRefusedWhileScanning(t *testing.T) {
	for _, unit := range []string{"[", "{", "{a: ", "- ", "? ", "&a [", "!a ["} {
		_, diagnostics := ParseForm(1, []byte(repeated(unit)))
		if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, "nested more than 20 deep") && !strings.Contains(diagnostics[0].Message, "commas and brackets") {
			t.Errorf("%q: %v", unit, diagnostics)
		}
	}
	deepest := "form: a\nfields: " + strings.Repeat("[", maxYAMLNesting) + strings.Repeat("]", maxYAMLNesting)
	if _, diagnostics := ParseForm(1, []byte(deepest)); len(diagnostics) != 1 || strings.Contains(diagnostics[0].Message, "nested") {
		t.Errorf("at the limit: %v", diagnostics)
	}
}
