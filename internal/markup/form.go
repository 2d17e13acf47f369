package markup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// ParseForm reads the text of one form: its YAML alone, without a page around
// it. The same code reads the text of a block on a page, so that diagnostics are
// the same, but their lines and columns count within text. The form is nil if
// the text is broken. Its macro ids are those that it would have on the page.
func ParseForm(pageID int64, text []byte) (*forms.Form, []Diagnostic) {
	page := parseForm(pageID, text)
	if len(page.Blocks) == 0 {
		return nil, page.Diagnostics
	}
	return page.Blocks[0].Form, page.Diagnostics
}

func parseForm(pageID int64, text []byte) (page Page) {
	defer page.recoverPanic()
	page.readForm(pageID, text)
	return page
}

// readForm fills in a page that consists of the text of one form.
func (page *Page) readForm(pageID int64, text []byte) {
	p := newReader(text)
	page.ID, page.MetaRead = pageID, true
	if p.check(len(text)) {
		if strings.HasPrefix(string(p.src), byteOrderMark) {
			p.body = len(byteOrderMark)
		}
		var b excerptBuilder
		b.add(endLine(string(p.src[p.body:])), p.body)
		c := collector{reader: p, pageID: pageID}
		c.add(rawBlock{at: p.body, text: b.excerpt()})
		page.Blocks = c.blocks
	}
	page.Unreadable = p.unreadable
	page.Diagnostics = p.sorted()
}

// endLine ends the last line of a text. In a block on a page, it always ends.
func endLine(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// FormBlock returns the block that makes the text of a form part of a page: the
// form that Parse finds in it is that of ParseForm. It returns an error if the
// format has no block for the text. The text is one that ParseForm makes a form of.
func FormBlock(format Format, text []byte) (string, error) {
	src := strings.TrimPrefix(string(newReader(text).src), byteOrderMark)
	_, src = blockText(&excerpt{text: endLine(src)})
	switch {
	case len(src) >= MaxBlockBytes: // a line end may come before it
		return "", errors.New("the form is too long for a block")
	case format == Markdown:
		return markdownBlock(src), nil
	case format == Confluence && !isFormText(src):
		return "", errors.New(`in Confluence, the text must begin with "form:"`)
	case format == Confluence:
		return confluenceBlock(src), nil
	case format == Wikitext:
		return wikitextBlock(src), nil
	default:
		return "", fmt.Errorf("unknown page format %d", format)
	}
}

// markdownBlock writes a fence that is longer than any in the text.
func markdownBlock(text string) string {
	longest := len("``")
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "yaml form\n" + text + fence + "\n"
}

// confluenceBlock writes a code macro. What would end the CDATA section is
// split between two of them.
func confluenceBlock(text string) string {
	return `<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">yaml</ac:parameter><ac:plain-text-body>` +
		cdataStart + strings.ReplaceAll(text, cdataEnd, "]]"+cdataEnd+cdataStart+">") + cdataEnd +
		"</ac:plain-text-body></ac:structured-macro>\n"
}

// wikitextBlock escapes what MediaWiki would take for a tag or an entity.
func wikitextBlock(text string) string {
	return "<pre class=\"form\">\n" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) + "</pre>\n"
}
