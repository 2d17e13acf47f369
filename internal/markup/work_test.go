package markup

import (
	"strings"
	"testing"
	"time"
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

// ordinaryText is a form as people write them, about as long as a block may be.
func ordinaryText() string {
	const field = "  - {id: f%d, type: radio, label: How was it?, options: [good, bad]}\n"
	return "form: a\nfields:\n" + numbers((MaxBlockBytes-100)/(len(field)+2), field)
}

// Whatever a text nests or repeats, it is read or refused in about the time of
// an ordinary form of the same length. The two are compared within one run.
func TestHostileTextsTakeNoLonger(t *testing.T) {
	const factor = 5
	ordinary := min(timeOf(ordinaryText()), timeOf(ordinaryText()))
	for name, unit := range hostileTexts {
		for _, head := range []string{"", "form: a\nfields:\n  - id: "} {
			text := head + repeated(unit)
			took := timeOf(text)
			for range 3 { // other programs may have disturbed one of the two
				if took > factor*ordinary {
					took, ordinary = timeOf(text), timeOf(ordinaryText())
				}
			}
			if took > factor*ordinary {
				t.Errorf("%s after %q: %v, an ordinary form takes %v", name, head, took, ordinary)
			}
		}
	}
}

// What is nested too deeply is refused long before its end is read.
func TestDeepNestingIsRefusedWhileScanning(t *testing.T) {
	ordinary := min(timeOf(ordinaryText()), timeOf(ordinaryText()))
	for _, unit := range []string{"[", "{", "{a: ", "- ", "? ", "&a [", "!a ["} {
		text := repeated(unit)
		_, diagnostics := ParseForm(1, []byte(text))
		if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, "nested more than 20 deep") && !strings.Contains(diagnostics[0].Message, "commas and brackets") {
			t.Errorf("%q: %v", unit, diagnostics)
		}
		if took := min(timeOf(text), timeOf(text), timeOf(text)); 5*took > ordinary {
			t.Errorf("%q: %v, an ordinary form takes %v", unit, took, ordinary)
		}
	}
	deepest := "form: a\nfields: " + strings.Repeat("[", maxYAMLNesting) + strings.Repeat("]", maxYAMLNesting)
	if _, diagnostics := ParseForm(1, []byte(deepest)); len(diagnostics) != 1 || strings.Contains(diagnostics[0].Message, "nested") {
		t.Errorf("at the limit: %v", diagnostics)
	}
}

func timeOf(text string) time.Duration {
	start := time.Now()
	ParseForm(1, []byte(text))
	return time.Since(start)
}
