package markup

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var metaKeys = []string{"id", "title", "view", "edit", "results"}

// metaSynonyms are words for known keys that are no mere slips of the hand.
var metaSynonyms = map[string]string{"pageid": "id", "page_id": "id"}

// permissionWords are the keys that keep people out, and what else people
// write for them.
var permissionWords = []struct{ word, key string }{
	{"view", "view"},
	{"views", "view"},
	{"viewer", "view"},
	{"viewers", "view"},
	{"edit", "edit"},
	{"edits", "edit"},
	{"editor", "edit"},
	{"editors", "edit"},
	{"results", "results"},
	{"result", "results"},
}

// frontMatter reads what stands between two lines of three dashes at the
// page's very start. Permissions stand there, so that whatever can't be
// understood makes the page unreadable: it must not open a page to everyone.
func (p *reader) frontMatter(nameID int64) (id int64, meta Meta) {
	start := 0
	if bytes.HasPrefix(p.src, []byte(byteOrderMark)) {
		start = len(byteOrderMark)
	}
	p.body = start
	first, next := p.lineAt(start)
	if !isDashes(first) {
		return p.misplacedMeta(start, nameID), Meta{}
	}
	for at := next; at < len(p.src); {
		line, after := p.lineAt(at)
		if isDashes(line) {
			p.body = after
			return p.readMeta(next, at, nameID)
		}
		at = after
	}
	p.body = len(p.src)
	p.refuse(start, `close it with a line "---"`, "the front matter is never closed")
	return p.guessID(next, len(p.src), nameID), Meta{}
}

// lineAt returns the line that begins at the offset, and where the next one begins.
func (p *reader) lineAt(at int) (line []byte, next int) {
	end := bytes.IndexByte(p.src[at:], '\n')
	if end < 0 {
		return p.src[at:], len(p.src)
	}
	return p.src[at : at+end], at + end + 1
}

func isDashes(line []byte) bool { return string(bytes.TrimRight(line, " \t")) == "---" }

func (p *reader) readMeta(from, to int, nameID int64) (int64, Meta) {
	if to-from > MaxMetaBytes {
		p.refuse(from, "", "front matter of more than %d bytes", MaxMetaBytes)
		return p.guessID(from, to, nameID), Meta{}
	}
	e, text := quoteGroups(string(p.src[from:to]), from)
	m := &metaReader{decoder: decoder{block: &block{reader: p, place: e.place}, budget: nodeBudget}}
	m.read(text)
	if m.failed {
		p.unreadable = true
	}
	switch {
	case m.id == 0 && m.failed:
		return p.guessID(from, to, nameID), m.meta
	case m.id == 0:
		return nameID, m.meta
	case nameID != 0 && nameID != m.id:
		m.warnf(m.idAt, "let them agree", "the front matter says id %d, the file's name says %d; the front matter counts", m.id, nameID)
	}
	return m.id, m.meta
}

// metaReader reads the YAML of a front matter.
type metaReader struct {
	decoder
	id   int64
	idAt spot
	meta Meta
}

func (m *metaReader) read(text string) {
	if at, r, found := firstUnprintable(text); found {
		m.errorf(at, "delete it", "the front matter contains %s", nameRune(r))
		return
	}
	root, err := parseYAML(text)
	switch {
	case err != nil:
		m.reportYAML(text, err)
		return
	case root == nil || isNull(root):
		return
	case root.Kind != yaml.MappingNode:
		m.errorf(spotOf(root), `write "key: value" lines`, "the front matter must be a mapping, not %s", kindOf(root))
		return
	}
	seen := map[string]spot{}
	for i := 0; i+1 < len(root.Content) && !m.spent(); i += 2 {
		key, val := m.follow(root.Content[i]), m.follow(root.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			continue // not one of ours
		}
		first, dup := seen[key.Value]
		switch {
		case !slices.Contains(metaKeys, key.Value):
			m.unknownKey(key, val)
		case dup:
			m.errorf(spotOf(key), "", "key %q stands twice, first on line %d", key.Value, m.lineOf(first))
		default:
			seen[key.Value] = spotOf(key)
			m.entry(key.Value, val)
		}
	}
}

// unknownKey passes over what other programs read, and warns of what looks
// like a slip. A slip of a permission is an error: without that key the page
// would be open to everyone.
func (m *metaReader) unknownKey(key, val *yaml.Node) {
	if key.Value == "<<" {
		m.errorf(spotOf(key), "write its keys out", "the front matter can't take keys from elsewhere")
		return
	}
	if m.nestedPermission(key, val) {
		return
	}
	if meant := permissionMeant(key.Value); meant != "" {
		m.errorf(spotOf(key), fmt.Sprintf("did you mean %q?", meant), "unknown key %s", quote(key.Value))
		return
	}
	word := nearest(key.Value, metaKeys)
	if s, ok := metaSynonyms[strings.ToLower(key.Value)]; ok {
		word = s
	}
	if word != "" {
		m.warnf(spotOf(key), fmt.Sprintf("did you mean %q?", word), "unknown key %s has no effect", quote(key.Value))
	}
}

// permissionHomes are where people would look for permissions first.
var permissionHomes = []string{"access", "acl", "auth", "form", "forms", "formulary", "permission", "permissions", "restrictions", "rights", "security"}

// nestedPermission finds a permission one level too deep, where it has no
// effect. It is an error where there is no doubt that a permission is meant,
// by the name of what it stands in or because it is a list; other programs have
// a "view" of theirs.
func (m *metaReader) nestedPermission(key, val *yaml.Node) bool {
	if val.Kind != yaml.MappingNode {
		return false
	}
	home := slices.Contains(permissionHomes, strings.ToLower(key.Value))
	for i := 0; i+1 < len(val.Content) && !m.spent(); i += 2 {
		inner, of := m.follow(val.Content[i]), m.follow(val.Content[i+1])
		meant := ""
		if inner.Kind == yaml.ScalarNode {
			meant = permissionMeant(inner.Value)
		}
		switch hint := fmt.Sprintf("write %q at the top level of the front matter", meant); {
		case meant == "":
		case home, of.Kind == yaml.SequenceNode:
			m.errorf(spotOf(inner), hint, "%s has no effect within %s", quote(inner.Value), quote(key.Value))
			return true
		default:
			m.warnf(spotOf(inner), hint+", if it is meant for this page's forms", "%s has no effect within %s", quote(inner.Value), quote(key.Value))
			return true
		}
	}
	return false
}

// permissionMeant returns the permission of which the key is a slip, or "".
// It takes one wrong letter at most: video and credit are two away from view
// and edit, and belong to other programs.
func permissionMeant(key string) string {
	const longestSlip = 20
	if len(key) > longestSlip {
		return ""
	}
	for _, w := range permissionWords {
		if distance(strings.ToLower(key), w.word) <= 1 {
			return w.key
		}
	}
	return ""
}

func (m *metaReader) entry(key string, n *yaml.Node) {
	switch key {
	case "id":
		m.readID(m.scalar(n, key))
	case "title":
		if v := m.scalar(n, key); v.present() {
			m.meta.Title = v.text
		}
	case "view":
		m.meta.View = m.principals(n, key)
	case "edit":
		m.meta.Edit = m.principals(n, key)
	case "results":
		m.results(m.scalar(n, key))
	}
}

func (m *metaReader) readID(v value) {
	id, err := strconv.ParseInt(v.text, 10, 64)
	switch {
	case v.odd:
	case err != nil || id < 1 || v.text[0] == '+' || v.text[0] == '0':
		m.errorf(v.at, "use digits alone, without sign or leading zero, up to 9223372036854775807", "id must be a whole number from 1, not %s", quote(v.text))
	default:
		m.id, m.idAt = id, v.at
	}
}

func (m *metaReader) results(v value) {
	switch {
	case v.odd:
	case v.text == "viewers":
		m.meta.ResultsForViewers = true
	case v.text != "editors":
		m.errorf(v.at, "use viewers or editors", "unknown value %s of results", quote(v.text))
	}
}

func isQuoted(n *yaml.Node) bool { return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 }

const principalsHint = "write a list such as [alice, @hr], or [] for nobody"

func (m *metaReader) principals(n *yaml.Node, key string) *Principals {
	nodes := []*yaml.Node{n}
	inList := n.Kind == yaml.SequenceNode
	if inList {
		nodes = n.Content
	}
	p := &Principals{}
	for _, n := range nodes {
		if m.spent() {
			break
		}
		v := m.exact(n, key)
		name, isGroup := strings.CutPrefix(v.text, "@")
		switch {
		case v.odd:
		case v.null, strings.TrimSpace(name) != name, name == "", textProblem(name) != "":
			m.errorf(v.at, principalsHint, "%s names nobody: %s", key, quote(v.text))
		case strings.Contains(name, ":"):
			m.errorf(v.at, principalsHint, "%s is no name of a user or group", quote(v.text))
		case strings.Contains(name, ",") && (isGroup || !inList || !isQuoted(n)): // probably two
			m.errorf(v.at, principalsHint+"; a name with a comma stands in quotes in the list", "%s is no name of a user or group", quote(v.text))
		case isGroup:
			p.Groups = append(p.Groups, name)
		default:
			p.Users = append(p.Users, name)
		}
	}
	return p
}
