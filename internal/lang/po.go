package lang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// entry is a message in a file of gettext: texts by keyword, such as msgid, and "#," with its flags.
type entry map[string]string

// parse reads a file of gettext. An empty line ends an entry, and the first one is the head of the file.
// Tests check the files, so nothing is refused.
func parse(file string) (all []entry) {
	for block := range strings.SplitSeq(strings.ReplaceAll(file, "\"\n\"", ""), "\n\n") {
		e := entry{}
		for line := range strings.Lines(block) {
			keyword, literal, _ := strings.Cut(strings.TrimSpace(line), " ")
			text, err := strconv.Unquote(literal)
			if err != nil { // a comment
				text = literal
			}
			e[keyword] = text
		}
		all = append(all, e)
	}
	return all
}

// key is the English text of a message in the program.
func (e entry) key() string {
	return strings.TrimPrefix(e["msgctxt"]+"|"+cmp.Or(e["msgid_plural"], e["msgid"]), "|")
}

// translations are the messages of a file. An entry without a text, or with a fuzzy one, stays English.
func translations(file string, plurals []string) map[string]translation {
	all := map[string]translation{}
	for _, e := range parse(file)[1:] {
		t := translation{}
		for i, form := range plurals {
			t[form] = e[fmt.Sprintf("msgstr[%d]", i)]
		}
		if e["msgid_plural"] == "" {
			t = translation{other: e["msgstr"]}
		}
		if !strings.Contains(e["#,"], "fuzzy") && !slices.Contains(slices.Collect(maps.Values(t)), "") {
			all[e.key()] = t
		}
	}
	return all
}
