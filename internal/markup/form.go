package markup

import (
	"errors"
	"fmt"
	"strings"
)

// formText is the format of the text of one form, without a page around it.
const formText Format = 0

// ParseForm reads the text of one form: its YAML alone. The same code reads the
// text of a block on a page, so that diagnostics are the same, but their lines and
// columns count within text. The block has no Form if the text is broken. The form's macro ids and its
// default language are those that it would have on the page, whose language is lang. Its title is never empty.
func ParseForm(pageID int64, lang string, text []byte, options *Options) (Block, []Diagnostic) {
	page, _ := parse(formText, pageID, text, options, &Meta{Lang: lang})
	if len(page.Blocks) == 0 {
		return Block{}, page.Diagnostics
	}
	block := page.Blocks[0]
	if form := block.Form; form != nil && form.Title == "" {
		form.SetTitle(form.ID)
	}
	return block, page.Diagnostics
}

// endLine ends the last line of a text. In a block on a page, it always ends.
func endLine(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }

// FormBlock returns the block that makes the text of a form part of a page: the
// form that Parse finds in it is that of ParseForm. It returns an error if the
// format has no block for the text. The text is one that ParseForm makes a form of.
func FormBlock(format Format, text []byte) (string, error) {
	r := newReader(text)
	src := plainSpaces.Replace(endLine(string(r.src[r.body:])))
	switch {
	case len(src) >= MaxBlockBytes: // a line end may come before it
		return "", errors.New("the form is too long for a block")
	case format == Markdown:
		return markdownBlock(src), nil
	case format == Confluence && !isFormText(src):
		return "", errors.New(`in Confluence, the text must begin with "form:"`)
	case format == Confluence:
		return `<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">yaml</ac:parameter>` +
			`<ac:plain-text-body>` +
			cdataStart + inSection(src) + cdataEnd +
			"</ac:plain-text-body></ac:structured-macro>\n", nil
	case format == Wikitext:
		return "<pre class=\"form\">\n" + entities.Replace(src) + "</pre>\n", nil
	default:
		return "", fmt.Errorf("unknown page format %d", format)
	}
}

// inSection writes a text of a CDATA section. An end of the section in the text is split between two of them.
func inSection(text string) string {
	return strings.ReplaceAll(text, cdataEnd, "]]"+cdataEnd+cdataStart+">")
}

// entities writes characters that would begin a tag or an entity, or end a CDATA section.
var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", cdataEnd, "]]&gt;")

// markdownBlock writes a fence that is longer than any in the text.
func markdownBlock(text string) string {
	longest := len("``")
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "yaml form\n" + text + fence + "\n"
}
