package markup

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

var metaKeys = []string{"id", "title", "lang", "view", "edit", "results"}

// frontMatter reads the text between two lines of three dashes at the
// page's very start. It holds permissions, so an error in it makes the page
// unreadable: it must not open the page to everyone.
func (p *reader) frontMatter(format Format, nameID int64) (id int64, meta Meta) {
	if bytes.HasPrefix(p.src, []byte(byteOrderMark)) {
		p.body = len(byteOrderMark)
	}
	if format == formText {
		return nameID, Meta{}
	}
	line, _, _ := bytes.Cut(p.src[p.body:], []byte("\n"))
	if !dashes.Match(line) {
		p.refuseMisplacedMeta()
		return nameID, Meta{}
	}
	from := min(p.body+len(line)+1, len(p.src))
	if last := dashes.FindIndex(p.src[from:]); last != nil {
		p.body = from + last[1]
		return p.readMeta(from, from+last[0], nameID)
	}
	if permissionLine.Match(p.src[from:]) {
		p.refuse(p.body, `close it with a line "---"`, "the front matter is never closed")
		p.body = len(p.src)
	}
	return nameID, Meta{} // the dashes are a horizontal rule
}

// dashes matches the lines around the front matter.
var dashes = regexp.MustCompile(`(?m)^---[ \t]*(?:\n|\z)`)

// invisible matches characters that editors don't show.
const invisible = `[\s\x{85}\p{Z}\x{200b}\x{feff}]`

var (
	// permissionLine matches a permission in a text that is not read as YAML.
	permissionLine = regexp.MustCompile(`(?im)^[ \t\x{a0}]*["']?(?:view|edit|results)["']?[ \t\x{a0}]*:`)
	// misplacedMeta matches a front matter after white space, comments and an XML declaration.
	misplacedMeta = regexp.MustCompile(`(?s)^(?:` + invisible + `|<!--.*?-->|<\?xml.*?\?>)*(---` + invisible + `*?\n.*?(?:\n` + invisible + `*---` + invisible + `*?\n|$))`)
)

// refuseMisplacedMeta refuses a page with permissions in a front matter that does
// not begin on the first line, or whose dashes have invisible characters beside
// them. It is not read as front matter here, but its author believes that the
// permissions are in force, so the page must not be open to everyone.
func (p *reader) refuseMisplacedMeta() {
	if m := misplacedMeta.FindSubmatchIndex(p.src[:min(len(p.src), 2*MaxMetaBytes)]); m != nil && permissionLine.Match(p.src[m[2]:m[3]]) {
		p.refuse(m[2], `let the page begin with the line "---"`, "the front matter must begin on the first line")
	}
}

func (p *reader) readMeta(from, to int, nameID int64) (int64, Meta) {
	if to-from > MaxMetaBytes {
		p.refuse(from, "", "front matter of more than %d bytes", MaxMetaBytes)
		return nameID, Meta{}
	}
	// No-break spaces stay: the names of users and groups are compared byte for byte.
	text := &excerpt{}
	text.add(string(p.src[from:to]), from)
	m := &metaReader{decoder: &decoder{reader: p}, id: nameID}
	if root, ok := m.parseYAML(text.text(), text); ok && root != nil && !isNull(root) {
		m.read(root)
	}
	if m.failed {
		p.unreadable = true
	}
	return m.id, m.meta
}

// metaReader reads the YAML of a front matter.
type metaReader struct {
	*decoder
	id   int64
	meta Meta
}

func (m *metaReader) read(root *yaml.Node) {
	entries := m.readMap(root, "the front matter", `write "key: value" lines`, metaKeys, m.unknownKey)
	if entries == nil {
		return
	}
	m.readID(m.text(entries, "id"))
	if v := m.text(entries, "title"); v.present() {
		m.meta.Title = v.text
	}
	if n := entries.values["lang"]; n != nil && !isNull(n) {
		m.readLang(n)
	}
	m.meta.View = m.principals(entries, "view")
	m.meta.Edit = m.principals(entries, "edit")
	switch v := m.text(entries, "results"); {
	case !v.written, v.invalid, v.text == "editors":
	case v.text == "viewers":
		m.meta.ResultsForViewers = true
	default:
		m.errorf(v.at, "use viewers or editors", "unknown value %s of results", quote(v.text))
	}
}

// languageTag matches tags of BCP 47 that name a language first. Whether a part is
// registered is not checked.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,5}$`)

// readLang only warns of a tag that is none: other programs have this key, too, and
// an error would close the page.
func (m *metaReader) readLang(n *yaml.Node) {
	if tag := strings.TrimSpace(n.Value); n.Kind == yaml.ScalarNode && languageTag.MatchString(tag) {
		m.meta.Lang = tag
	} else {
		m.warnf(n.Column, "write a language tag such as en, de or pt-BR", "lang %s is not a language tag: it has no effect", quote(n.Value))
	}
}

// unknownKey ignores keys of other programs, and warns of keys that look
// misspelled. A misspelled permission is an error: without that key the page
// would be open to everyone.
func (m *metaReader) unknownKey(key, val *yaml.Node) {
	permission := misspelledPermission(key.Value)
	switch {
	case key.Value == "<<":
		m.errorf(key.Column, "write its keys out", "the front matter can't use merge keys")
	case m.nestedPermission(key, val):
	case permission != "":
		m.errorf(key.Column, didYouMean(permission), "unknown key %s", quote(key.Value))
	default:
		if word := nearest(key.Value, metaKeys); word != "" {
			m.warnf(key.Column, didYouMean(word), "unknown key %s has no effect", quote(key.Value))
		}
	}
}

// permissionParents are keys below which other programs have permissions.
var permissionParents = []string{"access", "formulary", "permissions"}

// nestedPermission reports a permission that is one level too deep, where it has
// no effect: below permissionParents, or if it is a list. Otherwise it belongs to
// another program.
func (m *metaReader) nestedPermission(key, val *yaml.Node) bool {
	if val.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(val.Content); i += 2 {
		inner, names := val.Content[i], val.Content[i+1]
		isPermission := inner.Value == "view" || inner.Value == "edit"
		if isPermission && (names.Kind == yaml.SequenceNode || slices.Contains(permissionParents, key.Value)) {
			m.errorf(inner.Column, fmt.Sprintf("write %q at the top level of the front matter", inner.Value),
				"%q has no effect within %s", inner.Value, quote(key.Value))
			return true
		}
	}
	return false
}

// misspelledPermission returns the permission that the key is a misspelling of,
// or "". It allows one wrong letter: video and credit are two away from view
// and edit, and belong to other programs.
func misspelledPermission(key string) string {
	for _, permission := range []string{"view", "edit", "results"} {
		for _, ending := range []string{"", "s", "er", "ers", "or", "ors"} {
			if distance(strings.ToLower(key), permission+ending) <= 1 {
				return permission
			}
		}
	}
	return ""
}

func (m *metaReader) readID(v value) {
	id, err := strconv.ParseInt(v.text, 10, 64)
	switch {
	case !v.written, v.invalid:
	case err != nil || id < 1 || v.text[0] == '+' || v.text[0] == '0':
		m.errorf(v.at, "use digits only, without sign or leading zero, up to 9223372036854775807", "id must be a whole number from 1, not %s", quote(v.text))
	default:
		if m.id != 0 && m.id != id {
			m.warnf(v.at, "use the same id in both", "the id is %d in the front matter and %d in the file's name; the front matter is used", id, m.id)
		}
		m.id = id
	}
}

const principalsHint = `write a list such as [alice, "@hr"], or [] for nobody`

// principals reads a name, or a list of names. It returns nil if the key is not
// written.
func (m *metaReader) principals(entries *yamlMap, key string) *Principals {
	n := entries.values[key]
	if n == nil {
		return nil
	}
	nodes := []*yaml.Node{n}
	inList := n.Kind == yaml.SequenceNode
	if inList {
		nodes = n.Content
	}
	p := &Principals{}
	for _, n := range nodes {
		v := m.exactScalar(n, key)
		name, isGroup := strings.CutPrefix(v.text, "@")
		quoted := inList && n.Style&quotedStyles != 0
		switch {
		case v.invalid:
		case v.null, strings.TrimSpace(name) != name, name == "", checkText(name) != "":
			m.errorf(v.at, principalsHint, "%s names nobody: %s", key, quote(v.text))
		case strings.Contains(name, ":"):
			m.errorf(v.at, principalsHint, "%s is not the name of a user or group", quote(v.text))
		case strings.Contains(name, ",") && (isGroup || !quoted): // probably two
			m.errorf(v.at, principalsHint+"; a name with a comma stands in quotes in the list", "%s is not the name of a user or group", quote(v.text))
		case isGroup:
			p.Groups = append(p.Groups, name)
		default:
			p.Users = append(p.Users, name)
		}
	}
	return p
}
