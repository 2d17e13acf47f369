package markup

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"
)

// literalTags are the tags whose content MediaWiki does not interpret. A form
// tag inside of them is an example, not a form.
var literalTags = []string{"pre", "syntaxhighlight", nowikiTag, "source"}

const nowikiTag = "nowiki"

// formClass matches the attributes of a form's tag in which quotes don't match.
var formClass = regexp.MustCompile(`(?is)\bclass\s*=.*\bform\b`)

// findInWikitext reads the page once. As in MediaWiki, a tag ends at the next
// ">", even within quotes. The closing tag of a name is searched for once when
// there is none, not again for each opening tag.
func (p *reader) findInWikitext() []rawBlock {
	w := &wikiScanner{reader: p, unclosed: map[string]bool{}}
	for at := p.body; ; {
		next := bytes.IndexByte(p.src[at:], '<')
		if next < 0 {
			return w.blocks
		}
		at = w.markup(at + next)
	}
}

type wikiScanner struct {
	*reader
	blocks   []rawBlock
	unclosed map[string]bool // names of tags that are not closed on the remaining page
}

// markup reads the tag or comment that begins with the "<" at the offset, and
// returns the offset after it.
func (w *wikiScanner) markup(at int) (next int) {
	if bytes.HasPrefix(w.src[at:], []byte("<!--")) {
		end := bytes.Index(w.src[at:], []byte("-->"))
		if end < 0 {
			return len(w.src)
		}
		return at + end + len("-->")
	}
	name := w.literalTag(at + 1)
	if name == "" {
		return at + 1
	}
	attributes := at + 1 + len(name)
	end := bytes.IndexByte(w.src[attributes:], '>')
	if end < 0 {
		return len(w.src) // no further tag ends
	}
	content := attributes + end + 1
	const longestTag = 1000
	tag := string(w.src[attributes:min(content-1, attributes+longestTag)])
	values := parseAttributes(strings.TrimSuffix(tag, "/"))
	isForm := isFormTag(name, values)
	badQuotes := !isForm && name != nowikiTag && (strings.Count(tag, `"`)%2 != 0 || strings.Count(tag, "'")%2 != 0) && formClass.MatchString(tag)
	if badQuotes {
		isForm = true
		w.report(at, Error, `write class="form"`, "the quotes in <%s> do not match", name)
	}
	if w.src[content-2] == '/' {
		if isForm {
			w.blocks = append(w.blocks, rawBlock{at: at, text: &excerpt{}, failed: badQuotes})
		}
		return content
	}
	stop, after := w.closing(name, content)
	switch {
	case stop < 0 && isForm:
		w.report(at, Error, "close it with </"+name+">", "<%s> is never closed", name)
		w.blocks = append(w.blocks, rawBlock{at: at, text: w.unescaped(content, len(w.src)), failed: true})
		return len(w.src)
	case stop < 0:
		return content
	case isForm:
		w.blocks = append(w.blocks, rawBlock{at: at, text: w.unescaped(w.withoutNowiki(content, stop)), failed: badQuotes})
	case name != nowikiTag && isYAML(values["lang"]) && looksLikeForm(string(w.src[content:stop])):
		w.warnOfUnmarkedForm(at, `write <`+name+` class="form">`)
	}
	return after
}

// withoutNowiki leaves out the nowiki tags around a text, as MediaWiki does.
func (w *wikiScanner) withoutNowiki(from, to int) (int, int) {
	text := bytes.TrimRight(w.src[from:to], " \t\n")
	inner, opened := bytes.CutPrefix(bytes.TrimLeft(text, " \t\n"), []byte("<"+nowikiTag+">"))
	inner, closed := bytes.CutSuffix(inner, []byte("</"+nowikiTag+">"))
	if !opened || !closed {
		return from, to
	}
	end := from + len(text) - len("</"+nowikiTag+">")
	return end - len(inner), end
}

// literalTag returns the name of the literal tag at the offset, or "".
func (w *wikiScanner) literalTag(at int) string {
	for _, name := range literalTags {
		end := at + len(name)
		if end < len(w.src) && bytes.EqualFold(w.src[at:end], []byte(name)) && strings.IndexByte(" \t\n/>", w.src[end]) >= 0 {
			return name
		}
	}
	return ""
}

// closing returns where the closing tag begins and ends, or -1 when there is none.
func (w *wikiScanner) closing(name string, from int) (start, end int) {
	for at := from; !w.unclosed[name]; {
		next := bytes.Index(w.src[at:], []byte("</"))
		if next < 0 {
			break
		}
		at += next + len("</")
		if at+len(name) > len(w.src) || !bytes.EqualFold(w.src[at:at+len(name)], []byte(name)) {
			continue
		}
		rest := bytes.TrimLeft(w.src[at+len(name):], " \t\n")
		if len(rest) > 0 && rest[0] == '>' {
			return at - len("</"), len(w.src) - len(rest) + 1
		}
	}
	w.unclosed[name] = true
	return -1, -1
}

// isFormTag reports whether a tag is pre, source or syntaxhighlight with the
// class "form", in upper or lower case. With a language other than YAML it is no
// form.
func isFormTag(name string, attributes map[string]string) bool {
	hasClass := slices.ContainsFunc(strings.Fields(attributes["class"]), func(c string) bool { return strings.EqualFold(c, "form") })
	return hasClass && name != nowikiTag && isYAML(attributes["lang"])
}

func isYAML(lang string) bool {
	lang = strings.ToLower(strings.TrimSpace(lang))
	return lang == "" || lang == "yaml" || lang == "yml"
}

var attribute = regexp.MustCompile(`([^\s=]+)(?:\s*=\s*("[^"]*"|'[^']*'|\S*))?`)

// parseAttributes reads name=value pairs: names in any case, values in single,
// double or no quotes. The first of two with one name is used.
func parseAttributes(s string) map[string]string {
	attributes := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(s, -1) {
		name, val := strings.ToLower(m[1]), m[2]
		if n := len(val); n > 1 && (val[0] == '"' || val[0] == '\'') && val[n-1] == val[0] {
			val = val[1 : n-1]
		}
		if _, dup := attributes[name]; !dup {
			attributes[name] = html.UnescapeString(val)
		}
	}
	return attributes
}

// unescaped cuts out a text and replaces its entities, once.
func (w *wikiScanner) unescaped(from, to int) *excerpt {
	var b excerptBuilder
	for at := from; at < to && !b.full(); {
		amp := bytes.IndexByte(w.src[at:to], '&')
		if amp < 0 {
			amp = to - at
		}
		b.add(string(w.src[at:at+amp]), at)
		at += amp
		end := at + entityLength(w.src[at:to])
		b.add(unescapeOne(string(w.src[at:end])), at)
		at = end
	}
	return b.excerpt()
}

// unescapeOne replaces an entity, as MediaWiki does, only where it ends in a
// semicolon: html.UnescapeString would find "sect" in "terms&sections".
func unescapeOne(s string) string {
	text := html.UnescapeString(s)
	if !strings.HasSuffix(s, ";") || len(text) > 1 && strings.HasSuffix(text, ";") {
		return s
	}
	return text
}

// entityLength returns how much of s, which begins with "&", can belong to
// one entity.
func entityLength(s []byte) int {
	const longestEntity = 40
	for i := range min(len(s), longestEntity) {
		switch c := s[i]; {
		case c == ';':
			return i + 1
		case i > 0 && c != '#' && (c < '0' || '9' < c) && (c|0x20 < 'a' || 'z' < c|0x20):
			return i
		}
	}
	return min(len(s), longestEntity)
}
