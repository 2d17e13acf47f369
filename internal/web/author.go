package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// textControl is the name of the control with the text of a form.
const textControl = "text"

// maxAuthorText has room for a form of markup.MaxBlockBytes, whose line ends
// browsers send as CR LF. A longer text that still fits is shown again, with
// the problem that it is too long.
const maxAuthorText = 4 * markup.MaxBlockBytes

// Bounds of a form that is shown while it is written.
const (
	maxPreview     = 128 << 10 // bytes of its definition, which is shown as JSON
	maxPreviewHTML = 512 << 10
)

// authorPageID is the id of the page that a new form is shown for: its own page is not
// known.
const authorPageID = 1

//go:embed examples/*.yaml
var exampleFiles embed.FS

// example is a form to start from.
type example struct {
	Name  string
	Title *forms.Message
}

// examples are files of examples/. The first one is shown at the start.
var examples = []example{
	{"feedback", forms.Say("example|Feedback")},
	{"leave-request", forms.Say("example|Leave request")},
	{"registration", forms.Say("example|Registration")},
	{"survey", forms.Say("example|Survey with conditions")},
	{"incident", forms.Say("example|Incident report")},
}

// authorPage is the text of a form with the form that it makes.
type authorPage struct {
	Layout
	Action      string // where the text is sent
	Tag         string // of the text on the page when the author began; "" for a new form
	Changed     bool   // it is another one now
	For         string
	Notice      string
	Text        string
	Typed       bool   // it was sent
	Chosen      string // name of the example that is shown, if it is one
	Examples    []example
	Diagnostics []markup.Diagnostic
	Previews    []*pageForm // in all languages; nil if the text is broken, or TooLarge
	TooLarge    bool
	JSON        string
	PageID      int64
	FormID      string // of the form on the page; "" for a new form
	Blocks      []formBlock

	block    *service.Block // the form on the page; nil for a new form
	lang     string         // of the page; "" for a new form
	Compared bool           // with Looked submissions of the form
	Looked   int
}

// formBlock is the form as part of a page in one format.
type formBlock struct {
	ID, Name string
	Text     string
	Problem  string // why there is none
}

// authorPath is where the text of a form on a page is changed.
func (c *call) authorPath(pageID int64, formID string) string {
	query := url.Values{"page": {strconv.FormatInt(pageID, 10)}, "form": {formID}}
	return c.alone().path("/author") + "?" + query.Encode()
}

// author begins to write a form with an example, or with the form of a page.
func (c *call) author() error {
	c.Log.SetUser(c.Who.Name)
	if err := c.HoldAuthor(); err != nil {
		return err
	}
	page, err := c.openBlock(nil)
	if err != nil {
		return err
	}
	if page.block != nil {
		return c.showText(page.block.Text, page)
	}
	name := examples[0].Name
	if c.URL.Query().Has("template") {
		name = c.URL.Query().Get("template")
	}
	if !slices.ContainsFunc(examples, func(e example) bool { return e.Name == name }) {
		return request.NewStatusError(http.StatusNotFound, forms.Say("There is no template of this name."))
	}
	page.Chosen = name
	if name != examples[0].Name {
		page.lang = lang.English // the first one alone is translated
	}
	return c.showText(exampleText(c.Lang, name), page)
}

// exampleText is an example with its translated texts in a language.
func exampleText(l *lang.Language, name string) string {
	return l.Translate(string(readEmbedded(exampleFiles, "examples/"+name+".yaml")))
}

// openBlock opens the form that the address names, if it names one. sent is what its author has sent, if anything.
func (c *call) openBlock(sent url.Values) (page authorPage, err error) {
	query := c.URL.Query()
	if page.Typed = sent != nil; !query.Has("page") {
		return page, nil
	}
	page.PageID, _ = request.ParseID(query.Get("page")) // no page has the id 0
	page.FormID = query.Get("form")
	page.block, err = c.Backend.Service.Block(c.Context(), c.Who, page.PageID, page.FormID)
	if err != nil {
		return page, err
	}
	page.lang = page.block.Lang
	hash := sha256.Sum256([]byte(page.block.Text))
	tag := hex.EncodeToString(hash[:8])
	page.Tag = cmp.Or(sent.Get(tagControl), tag)
	page.Changed = page.Tag != tag
	return page, nil
}

// showWritten shows the form of a text that was sent. Nothing is stored.
func (c *call) showWritten() error {
	c.Log.SetUser(c.Who.Name)
	if err := c.HoldAuthor(); err != nil {
		c.CloseUnread(c.w)
		return err
	}
	sent, err := c.readForm(maxForm+maxAuthorText, errFormTooLong)
	if err != nil {
		return err
	}
	page, err := c.openBlock(sent) // who may not edit the page learns nothing of it
	if err != nil {
		return err
	}
	return c.showText(sent.Get(textControl), page)
}

var errFormTooLong = request.NewStatusError(http.StatusRequestEntityTooLarge,
	forms.Say("The text of a form has at most {0}. Go back, and shorten it.",
		forms.SizeText(markup.MaxBlockBytes)))

// resumeAuthor shows the text that was there before its author had to sign in
// again.
func (c *call) resumeAuthor(typed url.Values) error {
	page, err := c.openBlock(typed)
	if err != nil {
		return err
	}
	page.Notice = c.Lang.Text("You are signed in again, and the text is as you left it.")
	return c.showText(typed.Get(textControl), page)
}

// showText shows a text and its form. page holds what else the page says.
func (c *call) showText(text string, page authorPage) error {
	page.Text = strings.ToValidUTF8(lineFeeds(text), "\uFFFD")
	page.PageID = cmp.Or(page.PageID, authorPageID)
	if err := c.readText(&page); err != nil {
		return err
	}
	page.Layout, page.Action = c.layout(c.Lang.Text("Write a form")), c.path("/author")
	if page.Tag != "" {
		page.Layout = c.layout(c.Lang.Text("Edit the form {0}", page.FormID))
		page.Action = c.authorPath(page.PageID, page.FormID)
	}
	page.Script, page.LangForm, page.Wide = "author.js", "written", true
	page.For, page.Examples = c.hashUser(), examples
	return c.render(http.StatusOK, "author", &page)
}

// readText adds the problems of the text and the form that it makes. A text can be
// made to take a core for a while.
func (c *call) readText(page *authorPage) error {
	if err := c.takeTurn(); err != nil {
		return err
	}
	defer c.endTurn()
	block, diagnostics := markup.ParseForm(page.PageID, page.lang, []byte(page.Text), c.Site.Markup)
	page.Diagnostics = diagnostics
	if block.Form == nil {
		return nil
	}
	page.Blocks = formBlocks(page.Text)
	if page.block != nil {
		if err := c.compare(page, block); err != nil {
			return err
		}
	}
	return c.preview(page, block.Form)
}

// compare adds what the form would do to submissions that are stored.
func (c *call) compare(page *authorPage, block markup.Block) error {
	found, looked, err := page.block.Report(c.Context(), block.Form)
	for _, f := range found {
		d := markup.Diagnostic{Severity: markup.Warning}
		d.Line, d.Column = block.Position([]byte(page.Text), f)
		d.Message, d.Hint = f.Message()
		page.Diagnostics = append(page.Diagnostics, d)
	}
	page.Compared, page.Looked = true, looked
	return err
}

// preview adds the form and its JSON to the page.
func (c *call) preview(page *authorPage, form *forms.Form) error {
	page.TooLarge = markup.DefinitionSize(form) > maxPreview
	if page.TooLarge {
		return nil
	}
	used, now := 0, c.Backend.Service.Now()
	for _, f := range form.Languages() {
		view, err := c.formView("preview"+f.Lang, f, filling{
			values: f.Defaults(now), tag: page.lang,
		})
		if err != nil {
			return err
		}
		view.Preview = true
		html, err := c.renderForm(view, used, maxPreviewHTML-used)
		if page.TooLarge = errors.Is(err, errPageTooLarge); page.TooLarge {
			page.Previews = nil
			return nil
		}
		if err != nil {
			return err
		}
		used += len(html)
		notes := Notes{Form: f}
		notes.tell(service.Window(f, now))
		page.Previews = append(page.Previews, &pageForm{Form: html, Notes: notes})
	}
	var indented bytes.Buffer
	_ = json.Indent(&indented, encode.Form(c.Translated(form)), "", "  ") // it is JSON of our own
	page.JSON = indented.String()
	return nil
}

// formBlocks are the blocks to copy, one for each format.
func formBlocks(text string) []formBlock {
	blocks := []formBlock{
		{ID: "markdown", Name: "Markdown"}, {ID: "confluence", Name: "Confluence"}, {ID: "wikitext", Name: "Wikitext"},
	}
	for i, format := range []markup.Format{markup.Markdown, markup.Confluence, markup.Wikitext} {
		var err error
		if blocks[i].Text, err = markup.FormBlock(format, []byte(text)); err != nil {
			blocks[i].Problem = upperFirst(err.Error()) + "."
		}
	}
	return blocks
}
