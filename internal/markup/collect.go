package markup

import (
	"crypto/sha256"

	"github.com/formulary/formulary/internal/forms"
)

// collector makes a page's blocks of what its carrier found.
type collector struct {
	*reader
	pageID int64
	blocks []Block
	built  []*built
	lines  map[string]int // of the first form with an id
	count  int
}

// take reads one block.
func (c *collector) take(f found) {
	switch c.count++; {
	case c.count == 1 && c.pageID == 0 && !c.unreadable:
		c.report(f.at, Error, `let the file's name begin with a number, as in 123-feedback.md, or put "id: 123" into the front matter`,
			"the page has a form but no id")
	case c.count == MaxForms+1:
		c.report(f.at, Error, "split it into several pages", "the page has more than %d forms", MaxForms)
		c.blocks = append(c.blocks, Block{}) // so that a form in it does not count as removed
		return
	case c.count > MaxForms:
		return
	}
	id, made := c.read(f)
	c.built = append(c.built, made)
	if c.repeats(id, f.at) {
		made.failed = true
		return
	}
	b := Block{FormID: id}
	if !made.failed {
		b.Form = made.form
	}
	if id == "" && f.text != nil {
		b.Sum = sha256.Sum256([]byte(f.text.text))
	}
	c.blocks = append(c.blocks, b)
}

func (c *collector) read(f found) (id string, made *built) {
	if f.macros != nil {
		b := &block{reader: c.reader, offsetOf: func(s spot) int { return s.col }, failed: f.failed}
		if v := f.macros.id; v.present() && checkID(v.text) == "" {
			id = v.text
		}
		return id, b.build(f.macros, f.hostID, c.pageID)
	}
	e, text := blockText(f.text)
	b := &block{reader: c.reader, offsetOf: e.offsetOf}
	if f.failed {
		id = guessFormID(text) // the carrier can't tell where it ends
		return id, c.broken(f, id)
	}
	if len(text) > MaxBlockBytes {
		c.report(f.at, Error, "split the form", "a form of more than %d bytes", MaxBlockBytes)
		id = guessFormID(text)
		return id, c.broken(f, id)
	}
	if len(e.marks) == 0 {
		b.offsetOf = func(spot) int { return f.at } // there is no text to point at
	}
	raw, id := b.decodeYAML(text)
	if raw == nil {
		made = c.broken(f, id)
	} else {
		made = b.build(raw, f.hostID, c.pageID)
	}
	if made.failed && f.open != "" {
		c.report(f.at, Error, "close it with "+f.open, "this block is never closed: all that follows on the page is part of it")
	}
	return id, made
}

// broken is what is left of a block that has not the shape of a form.
func (c *collector) broken(f found, id string) *built {
	return &built{form: &forms.Form{PageID: c.pageID, ID: id}, hostID: f.hostID, failed: true}
}

// repeats reports a second form with an id.
func (c *collector) repeats(id string, at int) bool {
	if id == "" {
		return false
	}
	if first, dup := c.lines[id]; dup {
		c.report(at, Error, "give it another id", "form %s stands twice on the page, first on line %d; the first one is used", quote(id), first)
		return true
	}
	if c.lines == nil {
		c.lines = map[string]int{}
	}
	c.lines[id] = c.line(at)
	return false
}

// finish gives the forms their macro ids. The host's own ids come first, each
// once, since a copied macro has the id of its original. One that equals an id we derive
// for something else is not used either, so that all stay unique. Broken
// blocks take part: the caller keeps the last good form of each with the ids
// that it had, and a later copy must not have them meanwhile.
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
