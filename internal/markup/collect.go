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
	built  []*built
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
	id, made := c.read(block)
	if block.fence != nil {
		c.fences[block.fence] = id
	}
	c.built = append(c.built, made)
	if c.repeats(id, block.at) {
		made.failed = true
		return
	}
	b := Block{FormID: id}
	if !made.failed {
		b.Form = made.form
	}
	if id == "" && block.text != nil {
		b.Sum = sha256.Sum256([]byte(block.text.text))
	}
	c.blocks = append(c.blocks, b)
}

func (c *collector) read(block rawBlock) (id string, made *built) {
	if block.macros != nil {
		r := &reporter{reader: c.reader, offsetOf: func(s spot) int { return s.col }, failed: block.failed}
		if v := block.macros.id; v.present() && checkID(v.text) == "" {
			id = v.text
		}
		return id, r.build(block.macros, block.hostID, c.pageID)
	}
	e, text := blockText(block.text)
	r := &reporter{reader: c.reader, offsetOf: e.offsetOf}
	if block.failed {
		id = guessFormID(text) // where the block ends is not known
		return id, c.broken(block, id)
	}
	if len(text) > MaxBlockBytes {
		c.report(block.at, Error, "split the form", "the form has more than %d bytes", MaxBlockBytes)
		id = guessFormID(text)
		return id, c.broken(block, id)
	}
	if len(e.marks) == 0 {
		r.offsetOf = func(spot) int { return block.at } // there is no text to point at
	}
	raw, id := r.decodeYAML(text)
	if raw == nil {
		made = c.broken(block, id)
	} else {
		made = r.build(raw, block.hostID, c.pageID)
	}
	if made.failed && block.open != "" {
		c.report(block.at, Error, "close it with "+block.open, "this block is never closed, so it extends to the end of the page")
	}
	return id, made
}

// broken returns a failed form for a block whose YAML has not the structure of a form.
func (c *collector) broken(block rawBlock, id string) *built {
	return &built{form: &forms.Form{PageID: c.pageID, ID: id}, hostID: block.hostID, failed: true}
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

// finish gives the forms their macro ids, which are unique on the page. A form
// or field gets its host's id, unless an earlier one has it, as happens when a
// macro is copied, or unless it equals an id that is derived for another. Then
// it gets a derived id. Broken blocks take part: the caller keeps serving their
// last good forms with the ids that they had, and a copy must not get these.
func (c *collector) finish() []Block {
	taken := map[string]bool{}
	for _, b := range c.built {
		for id := range b.derived() {
			taken[id] = true
		}
	}
	choose := func(hostID, derived string) string {
		if hostID == "" || taken[hostID] || len(hostID) > MaxIDBytes || checkText(hostID) != "" {
			return derived
		}
		taken[hostID] = true
		return hostID
	}
	for _, b := range c.built {
		b.assign(choose)
	}
	return c.blocks
}

// derived returns the macro ids that Formulary derives for the form, its
// fields and its sections.
func (b *built) derived() map[string]bool {
	f := b.form
	ids := map[string]bool{forms.FormMacroID(f.PageID, f.ID): true}
	for i := range f.Fields {
		ids[forms.FieldMacroID(f.PageID, f.ID, f.Fields[i].ID)] = true
	}
	for i := range f.Sections {
		ids[f.Sections[i].MacroID] = true
	}
	return ids
}

func (b *built) assign(choose func(hostID, derived string) string) {
	f := b.form
	f.MacroID = choose(b.hostID, forms.FormMacroID(f.PageID, f.ID))
	for i := range f.Fields {
		f.Fields[i].MacroID = choose(b.fieldHostIDs[i], forms.FieldMacroID(f.PageID, f.ID, f.Fields[i].ID))
	}
	for _, id := range b.strayHostIDs {
		choose(id, "")
	}
}
