package markup

import (
	"bytes"
	"regexp"
	"strconv"
)

var (
	permissionLine = regexp.MustCompile(`(?i)^` + gap + `*["']?(?:view|edit|results)["']?` + gap + `*:`)
	idLine         = regexp.MustCompile(`(?m)^["']?id["']?[ \t]*:[ \t]*["']?([1-9][0-9]*)["']?[ \t]*(?:#.*)?$`)
)

// unseen is what editors don't show at the start or the end of a line.
const unseen = gapRunes + byteOrderMark + "\u200b"

// misplacedMeta refuses a page whose permissions stand in what is a front
// matter to its author alone: behind blank lines, comments or an XML
// declaration, or between dashes with something invisible beside them. Other
// programs may take it for one, so that the page must not be open to everyone
// here. It returns the page's id.
func (p *reader) misplacedMeta(start int, nameID int64) int64 {
	at := p.skipPreamble(start)
	first, next := p.lineAt(at)
	if !looksLikeDashes(first) {
		return nameID
	}
	restricts := false
	end := next
	for end < len(p.src) {
		line, after := p.lineAt(end)
		if looksLikeDashes(line) {
			break
		}
		restricts = restricts || permissionLine.Match(line)
		end = after
	}
	if !restricts {
		return nameID
	}
	p.refuse(at, `let the page begin with the line "---"`, "the front matter must begin on the first line")
	return p.guessID(next, end, nameID)
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

// guessID looks for the page's id in a front matter that can't be read, so
// that the last good page can stay. The file's name is the better witness.
func (p *reader) guessID(from, to int, nameID int64) int64 {
	if nameID != 0 {
		return nameID
	}
	m := idLine.FindStringSubmatch(spaced.Replace(string(p.src[from:min(to, from+MaxMetaBytes)])))
	if m == nil {
		return 0
	}
	id, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return id
}
