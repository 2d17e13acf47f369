package markup

import (
	"bytes"
	"regexp"
)

// permissionLine finds a permission in a text that can't be read as YAML.
var permissionLine = regexp.MustCompile(`(?im)^[ \t\x{a0}]*["']?(?:view|edit|results)["']?[ \t\x{a0}]*:`)

// unseen is what editors don't show at the start or the end of a line.
const unseen = " \t\n\u0085\u00a0\u2028\u2029\u200b" + byteOrderMark

// refuseMisplacedMeta refuses a page whose permissions stand in what is a front
// matter to its author alone: behind blank lines, comments or an XML
// declaration, or between dashes with something invisible beside them. Other
// programs may take it for one, so that the page must not be open to everyone
// here.
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

func looksLikeDashes(line []byte) bool { return string(bytes.Trim(line, unseen)) == "---" }

// skipPreamble returns where something other than blanks, comments and XML
// declarations begins.
func (p *reader) skipPreamble(at int) int {
	for {
		rest := bytes.TrimLeft(p.src[at:], unseen)
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
