// Package markup reads wiki pages: it finds the forms that stand on a page,
// and says by line and column what is wrong with them. It is pure: bytes in,
// a Page out. Pages are written by anyone who may edit the wiki, so every
// function here ends in bounded time and memory whatever it is given.
package markup

import (
	"fmt"
	"path"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// What a page may hold. The limits are far above what people write, and low
// enough that the worst page costs seconds at most, not the server.
const (
	MaxPageBytes  = 4 << 20
	MaxBlockBytes = 256 << 10 // of one form's text
	MaxMetaBytes  = 64 << 10  // of the front matter
	MaxForms      = 200       // on a page
	MaxFields     = 1000      // in a form
	MaxOptions    = 1000      // of a field, and values in a rule's list
	MaxRules      = 1000      // in a form
	MaxIDBytes    = 200       // of form, field, section and macro ids
	MaxTextBytes  = 4096      // of a label, an option, a rule's value
	MaxProblems   = 500       // listed for a page
)

// Format is the language that a page is written in.
type Format int

// The formats that can carry forms.
const (
	Markdown Format = iota + 1
	Confluence
	Wikitext
)

// FormatOf tells a page's format by its file name.
func FormatOf(fileName string) (Format, bool) {
	switch strings.ToLower(path.Ext(fileName)) {
	case ".md":
		return Markdown, true
	case ".xml":
		return Confluence, true
	case ".wiki":
		return Wikitext, true
	default:
		return 0, false
	}
}

// Page is what a page's text says.
type Page struct {
	ID         int64 // from the front matter or the file's name; 0 when there is none, and forms can't be served
	Meta       Meta
	Blocks     []Block   // in page order, broken ones included
	Problems   []Problem // by line and column
	Unreadable bool      // nothing here can be trusted: keep the last good page. Blocks is empty, Meta admits nobody
}

// Meta is what the front matter says.
type Meta struct {
	Title             string
	View              *Principals // nil: every authenticated user
	Edit              *Principals // nil: every authenticated user
	ResultsForViewers bool
}

// Principals names users and groups. One without any is nobody.
type Principals struct {
	Users, Groups []string
}

// Block is a form's place on the page. A second block with the id of an
// earlier one is not listed: the first stands, and a Problem says so.
type Block struct {
	FormID string      // "" when the block is too broken to tell
	Form   *forms.Form // nil when the block is broken: keep the last good one
}

// Parse reads a page. nameID is the page id that the file's name gives, 0 for none.
// It keeps no reference to src.
func Parse(format Format, nameID int64, src []byte) (page Page) {
	// The parsers below are not ours. One that panics on an odd page must cost
	// that page, not the process; the fuzz tests call parse, and see it.
	defer func() {
		if r := recover(); r != nil {
			page = Page{ID: nameID, Meta: closed(), Unreadable: true, Problems: []Problem{{
				Line: 1, Column: 1, Severity: Error, Message: fmt.Sprintf("this page can't be read: internal error: %v", r),
			}}}
		}
	}()
	return parse(format, nameID, src)
}

func parse(format Format, nameID int64, src []byte) Page {
	p := newReader(src)
	page := Page{ID: nameID}
	if p.check(len(src)) {
		page.ID, page.Meta = p.frontMatter(nameID)
		c := collector{reader: p, pageID: page.ID}
		for _, f := range p.find(format) {
			c.take(f)
		}
		page.Blocks = c.finish()
	}
	if p.unreadable {
		page.Unreadable, page.Blocks, page.Meta = true, nil, closed()
	}
	page.Problems = p.sorted()
	return page
}

// closed is what an unreadable page allows: nobody anything, should a caller
// ever use it.
func closed() Meta { return Meta{View: &Principals{}, Edit: &Principals{}} }

// found is a form's place on the page as its carrier hands it over: a text of
// YAML, or macros that were read already.
type found struct {
	at     int // offset of the block in the page
	text   *excerpt
	macros *rawForm
	hostID string // the macro id that the host gives the form, or ""
	failed bool   // the carrier has reported an error in it
}

func (p *reader) find(format Format) []found {
	switch format {
	case Markdown:
		return p.findInMarkdown()
	case Confluence:
		return p.findInConfluence()
	case Wikitext:
		return p.findInWikitext()
	default:
		p.refuse(0, "", "unknown page format %d", format)
		return nil
	}
}
