package markup

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// addBlock reads a raw block, the first of which has number 1.
func (p *reader) addBlock(number int, block *rawBlock) {
	switch {
	case number == 1 && p.pageID == 0 && !p.unreadable:
		p.errorf(block.at,
			`let the file's name begin with a number, as in 123-feedback.md, or put "id: 123" into the front matter`,
			"the page has a form but no id")
	case number == MaxForms+1:
		p.errorf(block.at, "split it into several pages", "the page has more than %d forms", MaxForms)
		p.blocks = append(p.blocks, Block{}) // it may hold a form, which must not count as removed
		return
	case number > MaxForms:
		return
	}
	p.readBlock(block)
	id := block.FormID
	first, dup := p.formLines[id]
	switch {
	case dup:
		p.errorf(block.at, "give it another id",
			"form %s appears twice on the page, first on line %d; the first one is used", quote(id), first)
		return
	case id != "":
		p.formLines[id], _ = p.position(block.at)
	}
	p.blocks = append(p.blocks, block.Block)
}

// readBlock reads the form of a block.
func (p *reader) readBlock(block *rawBlock) {
	p.failed = block.failed
	root := block.macros
	if block.text != nil {
		block.Text = plainSpaces.Replace(block.text.text())
		root = p.root(block)
	} else {
		block.Text = textOf(root)
	}
	if root != nil {
		block.Form = p.readForm(root, block)
	}
	if p.failed && block.open {
		p.errorf(block.at, "close it with the fence that it begins with",
			"this block is never closed, so it extends to the end of the page")
	}
	switch {
	case block.Form == nil:
		block.FormID = guessFormID(block.Text)
	case checkID(block.Form.ID) == "":
		block.FormID = block.Form.ID
	}
	block.Draft = block.Form
	if p.failed {
		block.Form = nil
	}
}

// textOf writes the mapping that macros make as an author would.
func textOf(root *yaml.Node) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if encoder.Encode(plain(root)) != nil || encoder.Close() != nil {
		return ""
	}
	return b.String()
}

// plain copies a node without the style that newNode gives it.
func plain(n *yaml.Node) *yaml.Node {
	plainNode := &yaml.Node{Kind: n.Kind, Value: n.Value}
	for _, child := range n.Content {
		plainNode.Content = append(plainNode.Content, plain(child))
	}
	return plainNode
}

// root returns the root of a block's YAML, or nil if the text is broken.
func (p *reader) root(block *rawBlock) *yaml.Node {
	text := block.Text
	switch {
	case block.failed: // where the block ends is not known
		return nil
	case len(text) > MaxBlockBytes:
		p.errorf(block.at, "split the form", "the form has more than %d bytes", MaxBlockBytes)
		return nil
	}
	root := p.parseYAML(text, block.text)
	if root == nil && !p.failed {
		at := block.at
		if text != "" {
			at = block.text.pageOffset(0)
		}
		p.errorf(at, `begin with "form: " and an id`, "the form block is empty")
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
