package markup

import (
	"html"
	"regexp"
	"slices"
	"strings"
)

const nowikiTag = "nowiki"

var (
	// literalTag matches the beginning of a comment, and the tags whose content
	// MediaWiki does not interpret. A form tag inside of them is an example, not a
	// form. As in MediaWiki, a tag ends at the next ">", even within quotes.
	literalTag = regexp.MustCompile(`(?i)<!--|<(pre|syntaxhighlight|source|nowiki)([\s/][^>]*)?>`)
	// closingTags are by the name of the tag, which is "" for a comment.
	closingTags = map[string]*regexp.Regexp{
		"":                regexp.MustCompile(`-->`),
		"pre":             regexp.MustCompile(`(?i)</pre\s*>`),
		"syntaxhighlight": regexp.MustCompile(`(?i)</syntaxhighlight\s*>`),
		"source":          regexp.MustCompile(`(?i)</source\s*>`),
		nowikiTag:         regexp.MustCompile(`(?i)</nowiki\s*>`),
	}
	// inNowiki matches a text in nowiki tags, which MediaWiki leaves out.
	inNowiki  = regexp.MustCompile(`(?s)^\s*<nowiki>(.*)</nowiki>\s*$`)
	attribute = regexp.MustCompile(`([^\s=]+)(?:\s*=\s*("[^"]*"|'[^']*'|\S*))?`)
)

// findInWikitext reads the page once. The closing tag of a name is searched for
// once when there is none, not again for each opening tag.
func (p *reader) findInWikitext() (blocks []rawBlock) {
	unclosed := map[string]bool{}
	for at := p.body; ; {
		m := literalTag.FindSubmatchIndex(p.src[at:])
		if m == nil {
			return blocks
		}
		start, content := at+m[0], at+m[1]
		name, tag := strings.ToLower(p.part(at, m[2:4])), p.part(at, m[4:6])
		attributes := parseAttributes(strings.TrimSuffix(tag, "/"))
		isForm := isFormTag(name, attributes)
		at = content
		if strings.HasSuffix(tag, "/") {
			if isForm {
				blocks = append(blocks, rawBlock{at: start, end: content, text: &excerpt{}})
			}
			continue
		}
		stop := -1
		if !unclosed[name] {
			if end := closingTags[name].FindIndex(p.src[content:]); end != nil {
				stop, at = content+end[0], content+end[1]
			}
		}
		unclosed[name] = stop < 0
		switch {
		case stop < 0 && isForm:
			p.errorf(start, "close it with </"+name+">", "<%s> is never closed", name)
			return append(blocks, rawBlock{at: start, end: len(p.src), text: p.unescaped(content, len(p.src)), failed: true})
		case stop < 0 && name == "":
			return blocks
		case stop < 0:
		case isForm:
			blocks = append(blocks, rawBlock{at: start, end: at, text: p.unescaped(content, stop)})
		case name != "" && name != nowikiTag && isYAML(attributes["lang"]) && looksLikeForm(string(p.src[content:stop])):
			p.warnOfUnmarkedForm(start, `write <`+name+` class="form">`)
		}
	}
}

// part returns the text of a submatch, whose offsets count from at.
func (p *reader) part(at int, match []int) string {
	if match[0] < 0 {
		return ""
	}
	return string(p.src[at+match[0] : at+match[1]])
}

// isFormTag reports whether a tag is pre, source or syntaxhighlight with the
// class "form", in upper or lower case. With a language other than YAML it is no
// form.
func isFormTag(name string, attributes map[string]string) bool {
	isForm := func(class string) bool { return strings.EqualFold(class, "form") }
	return name != nowikiTag && isYAML(attributes["lang"]) &&
		slices.ContainsFunc(strings.Fields(attributes["class"]), isForm)
}

func isYAML(lang string) bool {
	lang = strings.ToLower(strings.TrimSpace(lang))
	return lang == "" || lang == "yaml" || lang == "yml"
}

// parseAttributes reads name=value pairs: names in any case, values in single,
// double or no quotes. The first of two with one name is used.
func parseAttributes(s string) map[string]string {
	const longest = 1000
	attributes := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(s[:min(len(s), longest)], -1) {
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

// unescaped cuts out a text and replaces its entities.
func (p *reader) unescaped(from, to int) *excerpt {
	if m := inNowiki.FindSubmatchIndex(p.src[from:to]); m != nil {
		from, to = from+m[2], from+m[3]
	}
	text := &excerpt{}
	text.addUnescaped(string(p.src[from:to]), from)
	return text
}
