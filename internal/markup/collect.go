package markup

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// collector turns the raw blocks of a page into Blocks.
type collector struct {
	*reader
	pageID int64
	blocks []Block
	lines  map[string]int // by form id: the line of the first form with it
}

// add reads a raw block, the first of which has number 1.
func (c *collector) add(number int, block *rawBlock) {
	switch {
	case number == 1 && c.pageID == 0 && !c.unreadable:
		c.report(block.at, Error, `let the file's name begin with a number, as in 123-feedback.md, or put "id: 123" into the front matter`,
			"the page has a form but no id")
	case number == MaxForms+1:
		c.report(block.at, Error, "split it into several pages", "the page has more than %d forms", MaxForms)
		c.blocks = append(c.blocks, Block{}) // it may hold a form, which must not count as removed
		return
	case number > MaxForms:
		return
	}
	id, form := c.read(block)
	block.formID = id
	first, dup := c.lines[id]
	switch {
	case dup:
		c.report(block.at, Error, "give it another id", "form %s appears twice on the page, first on line %d; the first one is used", quote(id), first)
		return
	case id != "":
		c.lines[id], _ = c.position(block.at)
	}
	c.blocks = append(c.blocks, Block{FormID: id, Form: form})
}

// read returns the form of a block, or nil if the block is broken, and its id, or
// "" if that can't be read.
func (c *collector) read(block *rawBlock) (id string, form *forms.Form) {
	d := &decoder{reader: c.reader, failed: block.failed}
	root, text := block.macros, ""
	if block.text != nil {
		text = plainSpaces.Replace(block.text.text())
		root = d.root(text, block)
	}
	if root != nil {
		form = d.build(root, block, c.pageID)
	}
	if d.failed && block.open {
		c.report(block.at, Error, "close it with the fence that it begins with", "this block is never closed, so it extends to the end of the page")
	}
	switch {
	case form == nil:
		return guessFormID(text), nil
	case checkID(form.ID) == "":
		id = form.ID
	}
	if d.failed {
		return id, nil
	}
	return id, form
}

// root returns the root of a block's YAML, or nil if the text is broken.
func (d *decoder) root(text string, block *rawBlock) *yaml.Node {
	switch {
	case block.failed: // where the block ends is not known
		return nil
	case len(text) > MaxBlockBytes:
		d.errorf(block.at, "split the form", "the form has more than %d bytes", MaxBlockBytes)
		return nil
	}
	root, ok := d.parseYAML(text, block.text)
	if ok && root == nil {
		at := block.at
		if text != "" {
			at = block.text.pageOffset(0)
		}
		d.errorf(at, `begin with "form: " and an id`, "the form block is empty")
	}
	return root
}

var formKey = regexp.MustCompile(`^[ \t]*\{?[ \t]*["']?form["']?[ \t]*:[ \t]*["']?([^\s"',}]*)`)

// guessFormID looks for the form's id in a text that is not YAML, so that the
// last good definition of that form stays in use.
func guessFormID(text string) string {
	for line := range strings.Lines(text) {
		if m := formKey.FindStringSubmatch(line); m != nil && checkID(m[1]) == "" {
			return m[1]
		}
	}
	return ""
}
