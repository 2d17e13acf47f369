package markup

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

var metaKeys = []string{"id", "title", "lang", "view", "edit", "results"}

// frontMatter reads the text between two lines of three dashes at the
// page's very start. It holds permissions, so an error in it makes the page
// unreadable: it must not open the page to everyone.
func (p *reader) frontMatter() Meta {
	line, _, _ := bytes.Cut(p.src[p.body:], []byte("\n"))
	if !dashes.Match(line) {
		p.refuseMisplacedMeta()
		return Meta{}
	}
	from := min(p.body+len(line)+1, len(p.src))
	if last := dashes.FindIndex(p.src[from:]); last != nil {
		p.body = from + last[1]
		return p.readMeta(from, from+last[0])
	}
	if permissionLine.Match(p.src[from:]) {
		p.refuse(p.body, `close it with a line "---"`, "the front matter is never closed")
		p.body = len(p.src)
	}
	return Meta{} // the dashes are a horizontal rule
}

// dashes matches the lines around the front matter.
var dashes = regexp.MustCompile(`(?m)^---[ \t]*(?:\n|\z)`)

// invisible matches characters that editors don't show.
const invisible = `[\s\x{85}\p{Z}\x{200b}\x{feff}]`

var (
	// permissionLine matches a permission in a text that is not read as YAML.
	permissionLine = regexp.MustCompile(`(?im)^[ \t\x{a0}]*["']?(?:view|edit|results)["']?[ \t\x{a0}]*:`)
	// misplacedMeta matches a front matter after white space, comments and an XML declaration.
	misplacedMeta = regexp.MustCompile(`(?s)^(?:` + invisible + `|<!--.*?-->|<\?xml.*?\?>)*` +
		`(---` + invisible + `*?\n.*?(?:\n` + invisible + `*---` + invisible + `*?\n|$))`)
)

// refuseMisplacedMeta refuses a page with permissions in a front matter that does
// not begin on the first line, or whose dashes have invisible characters beside
// them. It is not read as front matter here, but its author believes that the
// permissions are in force, so the page must not be open to everyone.
func (p *reader) refuseMisplacedMeta() {
	m := misplacedMeta.FindSubmatchIndex(p.src[:min(len(p.src), 2*MaxMetaBytes)])
	if m != nil && permissionLine.Match(p.src[m[2]:m[3]]) {
		p.refuse(m[2], `let the page begin with the line "---"`, "the front matter must begin on the first line")
	}
}

func (p *reader) readMeta(from, to int) (meta Meta) {
	if to-from > MaxMetaBytes {
		p.refuse(from, "", "front matter of more than %d bytes", MaxMetaBytes)
		return meta
	}
	// No-break spaces stay: the names of users and groups are compared byte for byte.
	text := &excerpt{}
	text.add(string(p.src[from:to]), from)
	root := p.parseYAML(text.text(), text)
	hasMeta := root != nil && !isNull(root)
	if hasMeta && p.checkKeys(root, "the front matter", `write "key: value" lines`, metaKeys, p.unknownMetaKey) {
		p.refuseNestedPermissions(root)
		p.readID(root)
		if n := p.text(root, "title"); n != nil {
			meta.Title = strings.ReplaceAll(n.Value, noBreakSpace, " ")
		}
		if n := valueOf(root, "lang"); n != nil && !isNull(n) {
			meta.Lang = p.lang(n)
		}
		meta.View, meta.Edit = p.principals(&meta, root, "view"), p.principals(&meta, root, "edit")
		meta.ResultsForViewers = choice(p, root, "results", "value of results", []string{"viewers", "editors"}) == "viewers"
	}
	p.unreadable = p.unreadable || p.failed
	return meta
}

// lang only warns of a tag that is none: other programs have this key, too, and
// an error would close the page.
func (p *reader) lang(n *yaml.Node) string {
	if tag := strings.TrimSpace(n.Value); n.Kind == yaml.ScalarNode && languageTag.MatchString(tag) {
		return tag
	}
	p.warnf(n.Column, "write a language tag such as en, de or pt-BR",
		"lang %s is not a language tag: it has no effect", quote(n.Value))
	return ""
}

// unknownMetaKey ignores keys of other programs, and warns of keys that look
// misspelled. A misspelled permission is an error: without that key the page
// would be open to everyone.
func (p *reader) unknownMetaKey(key *yaml.Node) {
	permission, word := misspelledPermission(key.Value), nearest(key.Value, metaKeys)
	switch {
	case key.Value == "<<":
		p.errorf(key.Column, "write its keys out", "the front matter can't use merge keys")
	case permission != "":
		p.errorf(key.Column, didYouMean(permission), "unknown key %s", quote(key.Value))
	case word != "":
		p.warnf(key.Column, didYouMean(word), "unknown key %s has no effect", quote(key.Value))
	}
}

// refuseNestedPermissions refuses a permission that is one level too deep, where it has no
// effect: its author believes that it is in force. Other programs have such keys, too, but
// not with a list, nor below these parents.
func (p *reader) refuseNestedPermissions(root *yaml.Node) {
	for i := 1; i < len(root.Content); i += 2 {
		parent := root.Content[i-1].Value
		isKnown := slices.Contains([]string{"access", "formulary", "permissions"}, parent)
		for _, key := range []string{"view", "edit"} {
			n := valueOf(root.Content[i], key)
			if n != nil && parent != "<<" && (isKnown || n.Kind == yaml.SequenceNode) {
				p.errorf(n.Column, "write it at the top level of the front matter",
					"%q has no effect within %s", key, quote(parent))
			}
		}
	}
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

// readID reads the id of the page, which wins over that of the file's name.
func (p *reader) readID(m *yaml.Node) {
	id := int64(p.wholeNumber(m, "id", math.MaxInt))
	if id == 0 {
		return
	}
	if p.pageID != 0 && p.pageID != id {
		p.warnf(valueOf(m, "id").Column, "use the same id in both",
			"the id is %d in the front matter and %d in the file's name; the front matter is used", id, p.pageID)
	}
	p.pageID = id
}

const principalsHint = `write a list such as [alice, "@hr"], or [] for nobody`

// principals reads a name, or a list of names. It returns nil if the key is not
// written.
func (p *reader) principals(meta *Meta, root *yaml.Node, key string) *Principals {
	n := valueOf(root, key)
	if n == nil {
		return nil
	}
	nodes := []*yaml.Node{n}
	inList := n.Kind == yaml.SequenceNode
	if inList {
		nodes = n.Content
	}
	named := &Principals{}
	for _, n := range nodes {
		name, isGroup := strings.CutPrefix(n.Value, "@")
		quoted := inList && n.Style&quotedStyles != 0
		switch {
		case !p.isText(n, key):
		case strings.TrimSpace(name) != name, name == "", checkText(name) != "":
			p.errorf(n.Column, principalsHint, "%s names nobody: %s", key, quote(n.Value))
		case strings.Contains(name, ":"), strings.Contains(name, ",") && (isGroup || !quoted): // probably two
			p.errorf(n.Column, principalsHint+"; a name with a comma stands in quotes in the list",
				"%s is not the name of a user or group", quote(n.Value))
		default:
			list := &named.Users
			if isGroup {
				list = &named.Groups
			}
			*list = append(*list, name)
			line, column := p.position(n.Column)
			meta.Names = append(meta.Names, Name{n.Value, line, column})
		}
	}
	return named
}

// Unknown is the warning of a user or group that the server does not know.
func (n Name) Unknown(hint string) Diagnostic {
	return Diagnostic{n.Line, n.Column, Warning, "this server has no user or group " + quote(n.Text), hint}
}
