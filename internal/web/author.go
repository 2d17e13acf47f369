package web

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/builder"
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
	questionsTab
	saving
	Tab         string
	Unread      bool   // it can't be shown as questions
	Name        choice // of the form, for people
	Action      string // where the text is sent
	DraftName   string // see drafts.js
	Tag         string // of the text on the page when the author began; "" for a new form
	Changed     bool   // it is another one now
	For         string
	Notice      string
	Text        string
	Steps       string // see undo.js
	Typed       bool   // it was sent
	Unsaved     bool   // it differs from the text at the start
	Chosen      string // name of the example that is shown, if it is one
	Examples    []example
	Diagnostics []markup.Diagnostic
	Previews    []*pageForm // in all languages; nil if the text is broken, or TooLarge
	TooLarge    bool
	JSON        string
	PageID      int64
	FormID      string // of the form on the page; "" for a new form
	PageTitle   string // the form's name without a title; "" for a new form
	Blocks      []formBlock

	block    *service.Block // the form on the page; nil for a new form
	start    builder.Result // what the author began with
	lang     string         // of the page; "" for a new form
	Compared bool           // with Looked submissions of the form
	Looked   int

	addTo, copyOf int64 // ids of the pages that get a new form, and that have the form it copies; 0 for none
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

// author begins to write a form: empty, with an example, or with the form of a page.
func (c *call) author() error {
	c.Log.SetUser(c.Who.Name)
	if err := c.HoldAuthor(); err != nil {
		return err
	}
	if begins, err := c.beginNew(); begins || err != nil {
		return err
	}
	page, err := c.openBlock(nil)
	if err != nil {
		return err
	}
	return c.showAuthor(page, page.start)
}

// exampleText is an example with its translated texts in a language.
func exampleText(l *lang.Language, name string) string {
	return l.Translate(string(readEmbedded(exampleFiles, "examples/"+name+".yaml")))
}

// openBlock opens the form that the address names, if it names one. sent is what its author has sent, if anything.
func (c *call) openBlock(sent url.Values) (*authorPage, error) {
	query, page := c.URL.Query(), &authorPage{Tab: tabQuestions, Typed: sent != nil, Steps: sent.Get(stepsControl)}
	page.Action, page.Examples, page.For = c.path("/author"), examples, c.hashUser()
	page.DraftName = page.For + " " + page.Action
	if !query.Has("page") {
		return page, c.openNew(page, query)
	}
	page.PageID, _ = request.ParseID(query.Get("page")) // no page has the id 0
	page.FormID = query.Get("form")
	var err error
	page.block, err = c.Backend.Service.Block(c.Context(), c.Who, page.PageID, page.FormID)
	if err != nil {
		return nil, err
	}
	page.lang, page.start.Text, page.PageTitle = page.block.Lang, page.block.Text, page.block.PageTitle()
	page.Action = c.authorPath(page.PageID, page.FormID)
	page.DraftName = page.For + " " + page.Action
	tag := page.block.Tag()
	page.Tag = cmp.Or(sent.Get(tagControl), tag)
	page.Address = c.address(&forms.Form{PageID: page.PageID, ID: page.FormID})
	page.Changed, page.Opened = page.Tag != tag, page.block.Text
	if opened := lineFeeds(sent.Get(openedControl)); markup.Tag(opened) == page.Tag {
		page.Opened = opened
	}
	if page.NotSaved = c.whyNotSaved(page.block.MaySave()); page.NotSaved == nil {
		page.Settings, err = c.pageSettings(page, sent)
	}
	return page, err
}

// click answers a button of the author's page. Nothing is stored.
func (c *call) click() error {
	c.Log.SetUser(c.Who.Name)
	if err := c.HoldAuthor(); err != nil {
		c.CloseUnread(c.w)
		return err
	}
	sent, err := c.readForm(maxForm+maxAuthorText, errFormTooLong)
	if err != nil {
		return err
	}
	if sent.Get(forControl) != c.hashUser() {
		return errOtherUser
	}
	page, err := c.openBlock(sent) // who may not edit the page learns nothing of it
	if err != nil {
		return err
	}
	return c.press(page, sent.Get(doControl), sent)
}

var errFormTooLong = request.NewStatusError(http.StatusRequestEntityTooLarge,
	forms.Say("The text of a form has at most {0}. Go back, and shorten it.",
		forms.SizeText(markup.MaxBlockBytes)))

// resumeAuthor shows the text that was there before its author had to sign in
// again. The button that was pressed does nothing.
func (c *call) resumeAuthor(typed url.Values) error {
	page, err := c.openBlock(typed)
	if err != nil {
		return err
	}
	page.Notice = c.Lang.Text("You are signed in again, and the text is as you left it.")
	return c.press(page, "", typed)
}

// showAuthor shows a text in its tab. page holds what else the page says.
func (c *call) showAuthor(page *authorPage, result builder.Result) error {
	if err := c.takeTurn(); err != nil { // a text can be made to take a core for a while
		return err
	}
	defer c.endTurn()
	page.Text, page.Unsaved = result.Text, result.Text != page.start.Text
	if page.block != nil {
		page.Name = choice{Label: page.block.Title(), Lang: page.lang}
	}
	if page.Tab == tabQuestions && !c.readCards(page, result) {
		page.Tab, page.Unread = tabText, true
	}
	switch {
	case page.Tab != tabQuestions:
		if err := c.readText(page); err != nil {
			return err
		}
	case !page.Form.Broken:
		page.Blocks = formBlocks(page.Text)
	}
	page.Layout = c.layout(c.Lang.Text("New form"))
	if page.Tag != "" {
		page.Layout = c.layout(c.Lang.Text("Edit the form {0}", page.Name.Label))
	}
	if len(page.Errors) > 0 {
		page.Title = c.Lang.Text("Error: {0}", page.Title)
	}
	page.Script, page.LangForm, page.Wide = "author.js", "written", true
	err := c.render(http.StatusOK, "author", page)
	if page.Tab != tabQuestions || !errors.Is(err, errPageTooLarge) {
		return err
	}
	page.Tab, page.Form = tabText, nil
	if err := c.readText(page); err != nil {
		return err
	}
	return c.render(http.StatusOK, "author", page)
}

// readText adds the problems of the text and the form that it makes.
func (c *call) readText(page *authorPage) error {
	block, diagnostics := markup.ParseForm(page.PageID, page.lang, []byte(page.Text), c.Site.Markup)
	page.Diagnostics = diagnostics
	if block.Form == nil {
		return nil
	}
	page.Blocks = formBlocks(page.Text)
	if page.block != nil && page.Tab == tabText {
		found, looked, err := c.compare(page, page.Text, block)
		if err != nil {
			return err
		}
		for _, w := range found {
			page.Diagnostics = append(page.Diagnostics, w.Diagnostic)
		}
		page.Compared, page.Looked = true, looked
	}
	return c.preview(page, block.Form)
}

// compare returns what the form would do to submissions that are stored, and how many it has looked at.
func (c *call) compare(page *authorPage, text string, block markup.Block) (list []warning, looked int, err error) {
	found, looked, err := page.block.Report(c.Context(), block.Form)
	former, _ := markup.ParseForm(page.PageID, page.lang, []byte(page.block.Text), c.Site.Markup)
	for _, f := range found {
		w := warning{Say: inWords(f, former.Form, block.Form)}
		w.Severity = markup.Warning
		w.Line, w.Column = block.Position([]byte(text), f)
		w.Message, w.Hint = f.Message()
		list = append(list, w)
	}
	return list, looked, err
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
