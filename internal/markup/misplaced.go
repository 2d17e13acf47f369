package markup

import (
	"bytes"
	"regexp"
)

// permissionLine matches a permission in a text that is not read as YAML.
var permissionLine = regexp.MustCompile(`(?im)^[ \t\x{a0}]*["']?(?:view|edit|results)["']?[ \t\x{a0}]*:`)

// invisibleSpace lists characters that editors don't show at the start or end of a line.
const invisibleSpace = " \t\n\u0085\u00a0\u2028\u2029\u200b" + byteOrderMark

// refuseMisplacedMeta refuses a page with permissions in a front matter that does
// not begin on the first line, or whose dashes have invisible characters beside
// them. It is not read as front matter here, but its author believes that the
// permissions are in force, so the page must not be open to everyone.
func (p *reader) refuseMisplacedMeta(start int) {
	at := p.skipPreamble(start)
	first, next := p.lineAt(at)
	if !looksLikeDashes(first) {
		return
	}
	end := next
	for end < len(p.src) {
		line, after := p.lineAt(end)
		if looksLikeDashes(line) {
			break
		}
		end = after
	}
	if permissionLine.Match(p.src[next:end]) {
		p.refuse(at, `let the page begin with the line "---"`, "the front matter must begin on the first line")
	}
}

func looksLikeDashes(line []byte) bool { return string(bytes.Trim(line, invisibleSpace)) == "---" }

// skipPreamble returns the offset of the first text that is neither white space,
// nor a comment, nor an XML declaration.
func (p *reader) skipPreamble(at int) int {
	for {
		rest := bytes.TrimLeft(p.src[at:], invisibleSpace)
		at = len(p.src) - len(rest)
		var closing string
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			closing = "-->"
		case bytes.HasPrefix(rest, []byte("<?xml")):
			closing = "?>"
		default:
			return at
		}
		end := bytes.Index(rest, []byte(closing))
		if end < 0 {
			return len(p.src)
		}
		at += end + len(closing)
	}
}
