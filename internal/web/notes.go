package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// Notes are what a page says about a form before its questions.
type Notes struct {
	Form      *forms.Form
	Access    *service.Access // nil in a preview, which does not tell who reads the answers
	Readers   []string        // the first of those that the page names
	More      int             // readers that are left out
	Notice    string
	Intro     linkedText     // of a closed form: others show it with their questions
	Submitted bool           // an anonymous form that takes one submission has it
	Closed    *forms.Message // why the form takes no submissions; nil while it does
	Until     time.Time      // when it closes, in the zone of its day; zero if it does not
	Left      int            // places that are left while it is open; 0 without a limit
}

// maxReaders is how many readers of a form are named.
const maxReaders = 5

// notes are those about a form for somebody who wants to fill it in.
func (c *call) notes(access *service.Access) (Notes, error) {
	n := Notes{Form: access.Form, Access: access}
	if readers := access.Readers(); readers != nil {
		for _, group := range readers.Groups {
			n.Readers = append(n.Readers, c.Lang.Text("group {0}", strings.TrimPrefix(group, "@")))
		}
		n.Readers = append(n.Readers, readers.Users...)
		n.More = max(len(n.Readers)-maxReaders, 0)
		n.Readers = n.Readers[:len(n.Readers)-n.More]
	}
	available, err := access.Availability(c.Context())
	if err != nil {
		return n, err
	}
	n.tell(available)
	if n.Closed != nil {
		n.Intro = linkedText{linkText(n.Form.Intro), access.Lang(), c.Framed}
	}
	n.Submitted = n.Form.Anonymous && available.Answered
	return n, nil
}

// tell adds whether the form takes submissions.
func (n *Notes) tell(available service.Availability) {
	if available.Reason != nil {
		n.Closed = forms.Say("{0}.", available.Reason)
	} else {
		n.Until, n.Left = available.Closes, available.Left
	}
}

// Problems is what is wrong with a page, for its editors: the messages of check.
type Problems struct {
	List []markup.Diagnostic
	Edit []editLink // the forms that may have them
	Text string     // that List is about, if its lines are shown

	Earlier bool // an earlier version of the broken forms is shown
}

// Quote is the line that a problem is about.
func (p Problems) Quote(d markup.Diagnostic) string {
	lines := strings.Split(p.Text, "\n")
	return strings.TrimSpace(lines[min(d.Line, len(lines))-1])
}

// editLink leads to the text of a form.
type editLink struct{ FormID, Path string }

// problems are those of forms on a page.
func (c *call) problems(list []markup.Diagnostic, pageID int64, formIDs ...string) (p Problems) {
	p.List = list
	for _, id := range formIDs {
		p.Edit = append(p.Edit, editLink{id, c.authorPath(pageID, id)})
	}
	return p
}

// showBroken shows editors what is wrong with a form that was broken since its first save. Others get the error.
func (c *call) showBroken(missing error) error {
	pageID, _ := request.PathID(c.Request, "pageId")
	formID := c.PathValue("formId")
	block, err := c.Backend.Service.Block(c.Context(), c.Who, pageID, formID)
	if err != nil {
		return missing
	}
	if err := c.takeTurn(); err != nil {
		return err
	}
	_, found := markup.ParseForm(pageID, block.Lang, []byte(block.Text), c.Site.Markup)
	c.endTurn()
	page := &wikiPage{Problems: c.problems(found, pageID, formID)}
	if page.Problems.Text = block.Text; !page.Problems.Broken() {
		return missing
	}
	page.Layout = c.layout(c.Lang.Text("The form “{0}” can't be shown: there is a mistake in its text.", formID))
	return c.render(http.StatusOK, "page", page)
}

// Broken reports whether something that they wrote is not in force.
func (p Problems) Broken() bool {
	return slices.ContainsFunc(p.List, func(d markup.Diagnostic) bool { return d.Severity == markup.Error })
}
