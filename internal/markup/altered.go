package markup

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// warnOfAltered warns of a text that differs from what its author sees: YAML
// takes a part of it for a comment, an anchor or a tag, or curly quotes, which
// mean nothing to YAML, are part of it.
func (d *decoder) warnOfAltered(n *yaml.Node, what string) {
	n = resolveAlias(n)
	const hint = "put it into straight quotes"
	switch {
	case n.Kind != yaml.ScalarNode:
	case n.Anchor != "":
		d.warnf(spotOf(n), hint, "%s is not part of the %s: YAML takes it for an anchor", quote("&"+n.Anchor), what)
	case n.Style&yaml.TaggedStyle != 0:
		d.warnf(spotOf(n), hint, "%s is not part of the %s: YAML takes it for a tag", quote(n.Tag), what)
	case n.Style&quotedStyles == 0 && n.LineComment != "":
		d.warnf(spotOf(n), hint+", or the comment on a line of its own", "%s is not part of the %s: YAML takes it for a comment", quote(n.LineComment), what)
	case n.Style&quotedStyles == 0 && inCurlyQuotes(n.Value):
		d.warnf(spotOf(n), `use straight quotes (" or ')`, "the curly quotes are part of the %s %s", what, quote(n.Value))
	}
}

func inCurlyQuotes(s string) bool {
	const curly = "“”„‟‘’‚‛«»"
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && strings.ContainsRune(curly, first) && strings.ContainsRune(curly, last)
}
