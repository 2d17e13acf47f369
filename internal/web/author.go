package web

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/builder"
)

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

// Controls of the author's page.
const (
	textControl   = "text" // the text of the form
	tabControl    = "_tab"
	stepsControl  = "_steps"  // what Undo takes back: see undo.js
	openedControl = "_opened" // the text on the page when the author began
	overControl   = "_over"   // the tag of the text that an author has seen, and writes over
	afterControl  = "_after"  // see authorPage.After
)

// The views of a form that is written. Buttons of these names show them.
const (
	tabQuestions = "questions"
	tabText      = "text"
	tabPreview   = "preview"
)

// authorPage is the text of a form with the form that it makes.
type authorPage struct {
	Layout
	Tab       string
	Action    string // where the text is sent
	DraftName string // see drafts.js
	Notice    string
	Errors    []errorLine // why the form was not saved
	Result    builder.Result
	Start     builder.Result // what the author began with
	Steps     string         // see undo.js
	Typed     bool           // it was sent

	PageID    int64
	FormID    string // of the form on the page; "" for a new form, as all that follows
	TextLang  string // of the page; "" if it has none, too
	PageTitle string // the form's name without a title
	Name      choice // of the form, for people
	Tag       string // of the text on the page when the author began
	Opened    string // see openedControl
	Address   string // of the form, with the server

	NotSaved *forms.Message // why nothing can be saved; nil if it can
	Asked    *asked
	settings
	AddTo  int64 // id of the page that gets the new form; 0 for none
	sure   bool  // an -anyway button was pressed
	IsPage bool  // a new page is made: the author writes its title and people
	After  int64 // no page had a higher id when the author was asked for them

	Form        *builder.Form // nil if it is not shown as questions
	Unread      bool          // it can't be
	Cards       []card
	Zone        string // of opens and closes
	Chosen      string // name of the example that is shown, if it is one
	Examples    []example
	Diagnostics []warning
	Looked      int         // submissions of the form that it was compared with
	Previews    []*pageForm // in all languages; nil if the text is broken, or TooLarge
	TooLarge    bool
	JSON        string
	Blocks      []formBlock

	Block *service.Block // on the page; nil for a new page
	known builder.Context
}

// formBlock is the form as part of a page in one format.
type formBlock struct {
	ID, Name string
	Text     string
	Problem  string // why there is none
}

// written is where a form is written.
func (c *call) written(query url.Values) string {
	return withQuery(c.alone().path("/author"), query.Encode())
}

// authorPath is where the text of a form on a page is changed.
func (c *call) authorPath(pageID int64, formID string) string {
	return c.written(url.Values{"page": {formatID(pageID)}, "form": {formID}})
}

// author begins to write a form, or answers a button. The address of a new form of its own names its draft.
func (c *call) author() error {
	sent, err := c.readAuthor()
	if err != nil {
		return err
	}
	query := c.URL.Query()
	if sent == nil && !query.Has("page") && !query.Has(newParameter) && c.Backend.Service.MayAuthor(c.Who) == nil {
		return c.redirect(c.written(newQuery(query)))
	}
	page, err := c.openAuthor(query, sent) // who may not edit the page learns nothing of it
	switch {
	case err != nil:
		return c.showLost(sent, err)
	case sent == nil:
		return c.showAuthor(page)
	}
	c.w.Header().Set("Cache-Control", "private, no-cache") // so that Back can show the page
	return c.press(page, sent.Get(doControl), sent)
}

// showLost shows a text as a new form if its form has gone, or if its author may no longer edit it. Else the text
// would be lost. After buttons that write nothing, the script keeps the text.
func (c *call) showLost(sent url.Values, lost error) error {
	isLost := isKind(lost, service.NotFound) || isKind(lost, service.Forbidden)
	do, _ := strings.CutSuffix(sent.Get(doControl), "-anyway")
	if !isLost || !slices.Contains(writing, do) {
		return lost
	}
	page, err := c.openAuthor(newQuery(url.Values{}), sent)
	if err != nil {
		return err
	}
	page.Notice = c.Lang.Say(c.why(lost)) + " " + c.Lang.Text("Nothing was saved. Your text is still below.")
	return c.press(page, "", sent)
}

// newQuery gives a new form the name of its draft.
func newQuery(query url.Values) url.Values {
	query.Set(newParameter, strings.ToLower(rand.Text()[:8]))
	return query
}

// exampleText is an example with its translated texts in a language.
func exampleText(l *lang.Language, name string) string {
	return l.Translate(string(readEmbedded(exampleFiles, "examples/"+name+".yaml")))
}

// openAuthor opens the form that a query names, or a new one. sent is what its author has sent, if anything.
func (c *call) openAuthor(query, sent url.Values) (page *authorPage, err error) {
	query.Del(outcomeParameter)
	page = &authorPage{Tab: tabQuestions, Action: c.written(query), Typed: sent != nil, Steps: sent.Get(stepsControl)}
	page.People, page.Examples = sentPeople(sent), examples
	draft := page.Action
	if query.Has("page") {
		err = c.openForm(page, query, sent)
	} else {
		if !query.Has(newParameter) { // a template does not replace a draft
			draft, _, _ = strings.Cut(draft, "?")
		}
		err = c.openNew(page, query)
	}
	page.DraftName, page.Result = c.hashUser()+" "+draft, page.Start
	words := cmp.Or(lang.Find(page.TextLang), c.Lang)
	page.known = builder.Context{
		PageID: page.PageID, Lang: page.TextLang, Author: c.Lang.Tag, Options: c.Site.Markup, Words: words.Say,
		Untitled: c.Lang.Text("Question without a text"), Opened: page.Opened,
	}
	for _, l := range lang.All() {
		page.known.YesNo = append(page.known.YesNo, []string{l.Text("Yes"), l.Text("No")})
	}
	return page, err
}

// openForm opens the form of a page.
func (c *call) openForm(page *authorPage, query, sent url.Values) (err error) {
	page.PageID, _ = request.ParseID(query.Get("page")) // no page has the id 0
	page.FormID = query.Get(formParameter)
	block, err := c.Backend.Service.Block(c.Context(), c.Who, page.PageID, page.FormID)
	if err != nil {
		return err
	}
	page.Block, page.TextLang, page.Start.Text, page.PageTitle = block, block.Lang, block.Text, block.PageTitle()
	page.Name = choice{Label: block.Title(), Lang: block.Lang}
	page.Address = c.address(&forms.Form{PageID: page.PageID, ID: page.FormID})
	page.Tag, page.Opened = cmp.Or(sent.Get(tagControl), block.Tag()), block.Text
	if opened := lineFeeds(sent.Get(openedControl)); markup.Tag(opened) == page.Tag {
		page.Opened = opened
	}
	if page.NotSaved = c.why(block.MaySave()); page.NotSaved == nil {
		err = c.openSettings(page)
	}
	return err
}

// readAuthor reads what an author has sent; nil for a GET.
func (c *call) readAuthor() (sent url.Values, err error) {
	c.Log.SetUser(c.Who.Name)
	if err := c.HoldAuthor(); err != nil {
		c.CloseUnread(c.w)
		return nil, err
	}
	if c.Method == http.MethodPost {
		sent, err = c.readForm(maxForm+maxAuthorText, errFormTooLong)
		if err == nil && sent.Get(forControl) != c.hashUser() {
			err = errOtherUser
		}
	}
	return sent, err
}

var errFormTooLong = request.NewStatusError(http.StatusRequestEntityTooLarge,
	forms.Say("The text of a form has at most {0}. Go back, and shorten it.",
		forms.SizeText(markup.MaxBlockBytes)))

// resumeAuthor shows the text that was there before its author had to sign in
// again. The button that was pressed does nothing.
func (c *call) resumeAuthor(typed url.Values) error {
	page, err := c.openAuthor(c.URL.Query(), typed)
	if err != nil {
		return c.showLost(typed, err)
	}
	page.Notice = c.Lang.Text("You are signed in again, and the text is as you left it.")
	return c.press(page, "", typed)
}

// showAuthor shows a text in its tab. page holds what else the page says.
func (c *call) showAuthor(page *authorPage) error {
	if err := c.takeTurn(); err != nil { // a text can be made to take a core for a while
		return err
	}
	defer c.endTurn()
	if page.Tab == tabQuestions && !c.showCards(page) {
		page.Tab, page.Unread = tabText, true
	}
	if page.Tab != tabQuestions {
		page.Form = nil
		if err := c.readText(page); err != nil {
			return err
		}
	} else if !page.Form.Broken {
		page.Blocks = formBlocks(page.Result.Text)
	}
	page.Layout = c.layout(c.Lang.Text("New form"))
	if page.Tag != "" {
		page.Layout = c.layout(c.Lang.Text("Edit the form {0}", page.Name.Label))
	}
	if page.Errors != nil {
		page.Title = c.Lang.Text("Error: {0}", page.Title)
	}
	page.Script, page.LangForm, page.Wide = "author.js", "written", true
	err := c.render(http.StatusOK, "author", page)
	if page.Tab == tabQuestions && errors.Is(err, errPageTooLarge) {
		page.Tab = tabText
		return c.showAuthor(page)
	}
	return err
}

// readText adds the problems of the text and the form that it makes.
func (c *call) readText(page *authorPage) (err error) {
	var form *forms.Form
	form, page.Diagnostics, page.Looked, err = c.diagnose(page, page.Result.Text, page.Tab == tabText)
	if form == nil || err != nil {
		return err
	}
	page.Blocks = formBlocks(page.Result.Text)
	return c.preview(page, form)
}

// diagnose returns the form of a text, and its problems. On demand they have the effects on stored submissions, and it
// says how many it has looked at.
func (c *call) diagnose(
	page *authorPage, text string, stored bool,
) (form *forms.Form, list []warning, looked int, err error) {
	block, diagnostics := markup.ParseForm(page.PageID, page.TextLang, []byte(text), c.Site.Markup)
	for _, d := range diagnostics {
		list = append(list, warning{Diagnostic: d})
	}
	if block.Form == nil || page.Tag == "" || !stored {
		return block.Form, list, 0, nil
	}
	found, looked, err := page.Block.Report(c.Context(), block.Form)
	former, _ := markup.ParseForm(page.PageID, page.TextLang, []byte(page.Block.Text), c.Site.Markup)
	for _, f := range found {
		var w warning
		if page.Tab == tabQuestions {
			w.Say = inWords(f, former.Form, block.Form)
		}
		w.Severity = markup.Warning
		w.Line, w.Column = block.Position([]byte(text), f)
		w.Message, w.Hint = f.Message()
		list = append(list, w)
	}
	return block.Form, list, looked, err
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
			values: f.Defaults(now), tag: page.TextLang,
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
