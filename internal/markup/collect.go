package markup

import (
	"crypto/sha256"

	"github.com/yuin/goldmark/ast"

	"github.com/formulary/formulary/internal/forms"
)

// collector turns the raw blocks of a page into Blocks.
type collector struct {
	*reader
	pageID int64
	blocks []Block
	lines  map[string]int      // by form id: the line of the first form with it
	count  int                 // of raw blocks
	fences map[ast.Node]string // by fence: the ids of the forms in all raw blocks of a Markdown page
}

// add reads one raw block.
func (c *collector) add(block rawBlock) {
	if block.fence != nil {
		c.fences[block.fence] = ""
	}
	switch c.count++; {
	case c.count == 1 && c.pageID == 0 && !c.unreadable:
		c.report(block.at, Error, `let the file's name begin with a number, as in 123-feedback.md, or put "id: 123" into the front matter`,
			"the page has a form but no id")
	case c.count == MaxForms+1:
		c.report(block.at, Error, "split it into several pages", "the page has more than %d forms", MaxForms)
		c.blocks = append(c.blocks, Block{}) // it may hold a form, which must not count as removed
		return
	case c.count > MaxForms:
		return
	}
	id, form := c.read(block)
	if block.fence != nil {
		c.fences[block.fence] = id
	}
	if c.repeats(id, block.at) {
		return
	}
	b := Block{FormID: id, Form: form}
	if id == "" && block.text != nil {
		b.Sum = sha256.Sum256([]byte(block.text.text))
	}
	c.blocks = append(c.blocks, b)
}

// read returns the form of a block, or nil if the block is broken, and its id, or
// "" if that can't be read.
func (c *collector) read(block rawBlock) (id string, form *forms.Form) {
	r := &reporter{reader: c.reader, offsetOf: func(s spot) int { return s.col }, failed: block.failed}
	if block.macros != nil {
		form = r.build(block.macros, block, c.pageID)
		return r.result(form)
	}
	e, text := blockText(block.text)
	r.offsetOf = e.offsetOf
	if len(e.marks) == 0 {
		r.offsetOf = func(spot) int { return block.at } // there is no text to point at
	}
	switch {
	case block.failed: // where the block ends is not known
		return guessFormID(text), nil
	case len(text) > MaxBlockBytes:
		c.report(block.at, Error, "split the form", "the form has more than %d bytes", MaxBlockBytes)
		return guessFormID(text), nil
	}
	root, ok := r.parseYAML(text)
	if ok && root == nil {
		r.errorf(spot{1, 1}, `begin with "form: " and an id`, "the form block is empty")
	} else if ok {
		form = r.build(root, block, c.pageID)
	}
	if r.failed && block.open != "" {
		c.report(block.at, Error, "close it with "+block.open, "this block is never closed, so it extends to the end of the page")
	}
	if form == nil {
		return guessFormID(text), nil
	}
	return r.result(form)
}

// result returns what can be used of a form that was built.
func (r *reporter) result(form *forms.Form) (id string, usable *forms.Form) {
	if checkID(form.ID) == "" {
		id = form.ID
	}
	if r.failed {
		return id, nil
	}
	return id, form
}

// repeats reports a second form with an id.
func (c *collector) repeats(id string, at int) bool {
	if id == "" {
		return false
	}
	if first, dup := c.lines[id]; dup {
		c.report(at, Error, "give it another id", "form %s appears twice on the page, first on line %d; the first one is used", quote(id), first)
		return true
	}
	if c.lines == nil {
		c.lines = map[string]int{}
	}
	c.lines[id] = c.line(at)
	return false
}
