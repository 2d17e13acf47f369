// Package markup reads wiki pages. It finds the forms of a page, and reports what
// is wrong with them by line and column. It does no I/O: bytes in, a Page out.
// Anyone who may edit the wiki writes pages, so time and memory are bounded for
// every input.
package markup

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yuin/goldmark/ast"
	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

// Limits of a page. They are far above what people write, and low enough that
// the worst page takes a few seconds to read.
const (
	MaxPageBytes   = 4 << 20
	MaxBlockBytes  = 256 << 10 // of one form's text
	MaxMetaBytes   = 64 << 10  // of the front matter
	MaxForms       = 200       // on a page
	MaxFields      = 1000      // in a form
	MaxLanguages   = 20        // of a form
	MaxOptions     = 1000      // of a field, and values in a rule's list
	MaxColumns     = 11        // options in a row: of a scale, and of a grid that is shown as a table
	MaxRules       = 1000      // in a form
	MaxScans       = 100       // rules about one field that take longer for a longer answer
	MaxIDBytes     = 200       // of form, field, section and macro ids
	MaxTextBytes   = 4096      // of a label, a title, an introduction, a help text, thanks, an option, a default
	MaxLimit       = 10_000    // submissions that limit can allow
	MaxNotify      = 20        // addresses in notify
	MaxMaxLength   = 1_000_000 // characters that maxLength can allow
	maxBoundLen    = 40        // digits of min and max
	MaxAccept      = 50        // file types that a field accepts
	MaxAcceptLen   = 100       // bytes of each
	MaxFileBytes   = 1 << 40   // that maxSize can allow
	MaxDiagnostics = 500       // listed for a page

	// A definition may be much larger than the page: see DefinitionSize.
	MaxDefinitionBytes     = 1 << 20 // of a form
	MaxPageDefinitionBytes = 8 << 20 // of all forms on a page
)

// Format is the language that a page is written in.
type Format int

// The formats that can contain forms.
const (
	Markdown Format = iota + 1
	Confluence
	Wikitext
)

// FormatOf tells a page's format by its file name.
func FormatOf(fileName string) (Format, bool) {
	format, ok := formats[strings.ToLower(path.Ext(fileName))]
	return format, ok
}

var formats = map[string]Format{
	".md": Markdown, ".markdown": Markdown,
	".xml": Confluence, ".xhtml": Confluence,
	".wiki": Wikitext, ".wikitext": Wikitext, ".mediawiki": Wikitext,
}

// Extensions lists how the names of page files end, for messages.
const Extensions = ".md, .markdown, .xml, .xhtml, .wiki, .wikitext or .mediawiki"

// Page is a parsed page.
type Page struct {
	ID          int64 // from the front matter or the file's name; 0 when there is none, and forms can't be served
	Meta        Meta
	Blocks      []Block      // in page order, broken ones included
	Diagnostics []Diagnostic // by line and column
	Unreadable  bool         // the forms are not known: keep the last good ones. Blocks is empty
	Text        *Text        // of a page that has forms; nil if it has none to show, and when Unreadable
	// MetaRead is true if the front matter was understood, or if there is none.
	// Then Meta and ID are valid even when the page is Unreadable, so that users
	// without permission stay locked out. If it is false, the page is Unreadable,
	// Meta permits no user, and ID is a guess.
	MetaRead bool
}

// Meta is the content of the front matter.
type Meta struct {
	Title             string
	Lang              string      // a language tag; "" if the page says none
	View              *Principals // nil: every authenticated user
	Edit              *Principals // nil: every authenticated user
	ResultsForViewers bool
	Names             []Name // in View and Edit
}

// Name is a user or a group that a page names, with "@" before a group.
type Name struct {
	Text         string
	Line, Column int
}

// Principals names users and groups. The zero value permits no user.
type Principals struct {
	Users, Groups []string
}

// Block is a block of a page that holds a form. A second block with the id of an
// earlier one is not listed: the first one is used, and a Diagnostic reports the
// second.
type Block struct {
	FormID string      // "" when the block is too broken to find it
	Form   *forms.Form // nil when the block is broken: keep the last good one
	Draft  *forms.Form // the same, or what could be read of a broken one, field by field; may be nil
	Text   string      // YAML, as it is written on the page, or what macros mean

	Languages []string // that its texts have

	At       int   // offset of its id
	KeepAt   int   // offset of how long submissions are kept
	FieldsAt []int // offsets of its fields, by rank
}

// MayHave reports whether one of the blocks holds a form, or may hold it: it is too broken to find its id.
func MayHave(blocks []Block, formID string) bool {
	return slices.ContainsFunc(blocks, func(b Block) bool { return b.FormID == formID || b.FormID == "" })
}

// Position returns line and column of what was found in the source of the page: at a field, or at the
// id of the form if it has no such field. The block has a Form.
func (b Block) Position(src []byte, f forms.Finding) (line, column int) {
	at := b.At
	if rank := b.Form.Index().Rank(f.At); rank >= 0 {
		at = b.FieldsAt[rank]
	} else if f.Code == forms.CodeOverKeep {
		at = b.KeepAt
	}
	return newReader(src).position(at)
}

// Options are what a server knows of itself.
type Options struct {
	NoMail      bool // it sends none
	MailDomains forms.MailDomains
	Zone        *time.Location // of times without a zone; nil for UTC
	// UnknownName returns what to do about a user, or a group with "@" before its name, that a page names and the server
	// does not know; "" for others. It is nil if all are known.
	UnknownName func(name string) (hint string)
}

// Parse reads a page. nameID is the page id that the file's name gives, 0 for none.
// With nil for the options, there is no warning of what a server lacks. It keeps no reference to src. A panic of a
// third-party parser makes the page unreadable, and does not end the process.
func Parse(format Format, nameID int64, src []byte, options *Options) (page Page) {
	page, _ = parse(format, nameID, src, options, nil)
	return page
}

// ParseBody is Parse for a page of a live wiki, which has no front matter: its id and
// its permissions are the wiki's.
func ParseBody(format Format, id int64, src []byte, options *Options) (page Page) {
	page, _ = parse(format, id, src, options, &Meta{})
	return page
}

// parse reads a page. meta is what is known of it, nil if that is in its front matter. The reader is nil after a panic.
func parse(format Format, nameID int64, src []byte, options *Options, meta *Meta) (page Page, p *reader) {
	defer func() {
		if r := recover(); r != nil {
			page.Unreadable, page.Blocks = true, nil
			message := fmt.Sprintf("this page can't be read: internal error: %v", r)
			page.Diagnostics = []Diagnostic{{Line: 1, Column: 1, Severity: Error, Message: message}}
		}
	}()
	p = page.read(format, nameID, src, options, meta)
	return page, p
}

// read fills in the page step by step: a panic leaves what was read before it. The
// fuzz tests call it in order to see panics.
func (page *Page) read(format Format, nameID int64, src []byte, options *Options, meta *Meta) *reader {
	p := newReader(src)
	p.pageID, p.server, p.zone = nameID, options, time.UTC
	if options != nil && options.Zone != nil {
		p.zone = options.Zone
	}
	page.ID, page.Meta = nameID, noAccess()
	isGood := p.check(len(src))
	if meta == nil && isGood {
		read := p.frontMatter()
		if page.ID = p.pageID; !p.unreadable {
			meta = &read
		}
	}
	if meta != nil {
		page.Meta, page.MetaRead = *meta, true
		p.pageLang = meta.Lang
	}
	if isGood {
		var blocks []rawBlock
		switch format {
		case formText: // all of it is a block
			text := &excerpt{}
			text.add(endLine(string(p.src[p.body:])), p.body)
			blocks = []rawBlock{{at: p.body, text: text}}
		case Markdown:
			blocks = p.findInMarkdown()
		case Confluence:
			blocks = p.findInConfluence()
		default:
			blocks = p.findInWikitext()
		}
		for i := range blocks {
			p.addBlock(i+1, &blocks[i])
		}
		page.Blocks, p.found = p.blocks, blocks
		switch {
		case p.unreadable, format == formText, len(blocks) == 0: // a page without forms is not shown
		case format == Markdown:
			page.Text = p.markdownText(blocks)
		default:
			page.Text = p.plainText(format, blocks)
		}
	}
	if p.unreadable {
		page.Unreadable, page.Blocks = true, nil
	}
	page.Diagnostics = p.sorted()
	return p
}

// noAccess is the Meta of a page whose front matter can't be read. It permits no
// user, in case a caller uses it.
func noAccess() Meta { return Meta{View: &Principals{}, Edit: &Principals{}} }

// rawBlock is a block of a page that holds a form: a text of YAML, or the macros
// of Confluence.
type rawBlock struct {
	Block            // set when it is read
	at      int      // offset of the block in the page
	end     int      // offset after it; of a Markdown page, after its text
	fence   ast.Node // of a Markdown page
	text    *excerpt
	macros  *yaml.Node            // the mapping of a form that macros describe
	hostID  string                // the macro id that the host gives the form, or ""
	hostIDs map[*yaml.Node]string // and its fields
	failed  bool                  // an error in it was reported
	open    bool                  // the block is never closed
}

var (
	topLevelFormKey = regexp.MustCompile(`(?m)^["']?form["']?[ \t]*:`)
	topLevelFields  = regexp.MustCompile(`(?m)^["']?fields["']?[ \t]*:`)
)

// looksLikeForm reports whether lines of a text begin with the two keys that
// every form has.
func looksLikeForm(text string) bool {
	return topLevelFormKey.MatchString(text) && topLevelFields.MatchString(text)
}

// warnOfUnmarkedForm warns of a block that looks like a form but is not marked as one.
func (p *reader) warnOfUnmarkedForm(at int, hint string) {
	p.warnf(at, hint, "this block looks like a form, but is not marked as one: it is not served")
}
