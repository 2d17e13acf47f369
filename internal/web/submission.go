package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// submissionPage is one submission to read, and for editors to decide about.
type submissionPage struct {
	Layout
	Number     string
	Created    moment
	Username   string
	Changed    *changeView // nil if it never was
	Sent       bool        // it was sent just now
	Saved      bool        // or changed
	Focus      string      // what was pressed to change it: id of a field, or setControl; "" for nothing on this page
	Thanks     linkedText
	Decisions  []answerView // what editors answer
	Answers    []answerView // all others
	Unanswered []string     // labels of questions
	MaySave    bool         // the caller may change it as a whole
	MaySet     bool         // Decisions are controls
	Change     string
	Locked     *forms.Message // why only editors change it now; nil if that is not so
	Delete     string         // path; "" if the caller may not
	Tag, For   string         // of answers that are set on the page
	Back       string         // path of the submission before in the list that it was opened from; "" if there is none
	Next       string         // path of the one after
	NextSaves  bool           // "Next" saves texts that were typed
	History    *historyView
	Errors     []errorLine // why what was sent is not stored
}

// answerView is the answer to one question.
type answerView struct {
	Label     string
	Lang      string // language tag of what an author wrote, for a state in a list of submissions
	Value     string
	List      []string // of several values
	Files     []fileLink
	Day       bool // Value is in the reader's language
	Status    bool
	Color     string
	FieldID   string
	ByEditors bool
	Set       []choice  // buttons for those who set it, each with one press
	Control   *question // for those who set it otherwise

	// The words of the form that the submission was sent to, where they differ.
	LabelThen, ValueThen Words
}

// Words are a text of an author. Lang is its language tag, or "".
type Words struct{ Label, Lang string }

// stored is a submission that the caller may read.
type stored struct {
	*call
	access  *service.Access
	sub     forms.Submission
	entries []forms.Entry
	values  map[string]string // of the entries, by field id
	path    string
	list    *resultsView // that it was opened from
}

func (c *call) stored() (stored, error) {
	access, sub, err := c.Stored()
	if err != nil {
		return stored{}, err
	}
	if err := c.HoldAnswer(len(sub.Entries)); err != nil {
		return stored{}, err
	}
	entries, err := sub.Entries.Decode()
	values := forms.EntryValues(entries)
	return stored{c, access, sub, entries, values, c.submissionPath(access.Form, sub.ID), c.openedFrom(access.Form)}, err
}

// number is that of the submission, as headings have it. An anonymous one has none: ids are in
// the order of time, over all forms.
func (st stored) number() string {
	if st.access.Form.Anonymous {
		return ""
	}
	return strconv.FormatInt(st.sub.ID, 10)
}

// numbered is a heading with the number of the submission, or without if it has none.
func (st stored) numbered(without, with *forms.Message) string {
	if st.number() == "" {
		return st.Lang.Say(without)
	}
	return st.Lang.Say(with)
}

// read returns the values, which are decoded already.
func (st stored) read() (map[string]string, error) { return st.values, nil }

// changeable is a submission that the caller may change.
func (c *call) changeable() (stored, error) {
	st, err := c.stored()
	if err == nil {
		err = st.access.MayChange(st.sub, st.read)
	}
	return st, err
}

// filling is what the submission holds.
func (st stored) filling() filling {
	with := filling{values: make([]string, len(st.access.Form.Fields)), files: st.files(), change: true, access: st.access}
	with.lang, with.maxFile, with.today = st.Lang, st.Backend.Service.MaxFile(), st.Backend.Service.Today()
	for rank, field := range st.access.Form.Fields {
		with.values[rank] = st.values[field.ID]
	}
	return with
}

// files are the files of the submission by field.
func (st stored) files() map[string][]fileLink {
	links := map[string][]fileLink{}
	for _, f := range st.sub.Files {
		links[f.FieldID] = append(links[f.FieldID], fileLink{
			Name: f.Name, Size: st.Lang.Say(forms.SizeText(f.Size)),
			Path: st.path + "/file/" + url.PathEscape(f.FieldID) + "/" + url.PathEscape(f.Name),
		})
	}
	return links
}

// answers are those to the questions that show, and then what is stored for
// fields that have left the page.
func (st stored) answers(typed filling) []answerView {
	f, with := st.access.Form, st.filling()
	shown := f.Visible(with.values)
	controls := questionBuilder{form: f, fields: f.Index(), with: typed, extra: markup.MaxOptions}
	var views []answerView
	for rank, field := range f.Fields {
		value := with.values[rank]
		forOthers := field.ByEditors && !st.access.Rights.Edit // it is not theirs to answer
		if value != "" || shown[rank] && !forOthers {
			view := newAnswer(st.Lang, field, value, with.files[field.ID])
			view.FieldID, view.ByEditors = field.ID, field.ByEditors
			switch {
			case !shown[rank] || !field.ByEditors || !st.access.Rights.Edit:
			case hasButtons(field):
				view.Set = st.buttons(field, value)
			default:
				view.Control = controls.question(rank, "set-"+strconv.Itoa(rank), false)
			}
			views = append(views, view)
		}
	}
	for _, e := range st.entries {
		if !query.HasColumn(controls.fields, e.FieldID) {
			views = append(views, answerView{Label: e.FieldID, FieldID: e.FieldID, Value: e.Value, Files: with.files[e.FieldID]})
		}
	}
	return views
}

// addWordsThen adds the words of the form that the submission was sent to.
func (st stored) addWordsThen(views []answerView) error {
	form := st.access.Form
	then, err := st.access.Asked(st.Context(), st.sub.ID)
	if err != nil || then == nil || then == form {
		return err
	}
	then = then.In(form.Lang)
	form = form.In(then.Lang) // words are compared in the same language
	for i := range views {
		v := &views[i]
		field := form.Field(v.FieldID)
		if field == nil { // it has left the page
			field = &forms.Field{ID: v.FieldID, Label: v.FieldID}
		}
		value := st.values[v.FieldID]
		labelThen, valueThen := field.AskedAs(then, value)
		if strings.Contains(value, forms.Separator) {
			valueThen = strings.ReplaceAll(valueThen, forms.Separator, ", ")
		}
		tag := cmp.Or(then.Lang, st.access.PageLang())
		v.LabelThen, v.ValueThen = Words{labelThen, tag}, Words{valueThen, tag}
	}
	return nil
}

func newAnswer(l *lang.Language, f *forms.Field, value string, files []fileLink) answerView {
	color := f.ColorOf(value)
	value = l.Answer(f, value)
	v := answerView{Label: f.Label, Value: value, Files: files, Status: f.Type == forms.Status, Color: color}
	v.Day = f.Validation == forms.DateOnly
	few := strings.Count(value, forms.Separator) < max(len(f.Options), maxCellValues) // more of them are one text
	if (f.MultiValue() || f.Type == forms.File) && value != "" && few {
		v.List = strings.Split(value, forms.Separator)
	}
	return v
}

// maxSetOptions is how many buttons an answer has at most. With more options, it is
// changed like all others.
const maxSetOptions = 20

// hasButtons reports whether editors answer a question with one press.
func hasButtons(f *forms.Field) bool {
	return f.ByEditors && !f.MultiValue() && len(f.Options) > 0 && len(f.Options) <= maxSetOptions
}

func (c *call) buttons(f *forms.Field, value string) (buttons []choice) {
	options := f.Options
	if !f.Required && f.Default == "" { // a default stands for no answer
		options = append(slices.Clip(options), "")
	}
	for _, o := range options {
		label := cmp.Or(f.LabelOf(o), c.Lang.Text("No answer"))
		buttons = append(buttons, choice{Value: o, Label: label, Chosen: o == value, Color: f.ColorOf(o)})
	}
	return buttons
}

// layout is that of a page about the submission. It leads back to its list.
func (st stored) layout(title string) Layout {
	l := st.formLayout(title, st.access)
	if query := st.list.listQuery(); l.About.Back != "" && query != "" {
		l.About.Back += "?" + query + tableAnchor
	}
	return l
}

func (c *call) showSubmission() error {
	st, err := c.stored()
	if err != nil {
		return err
	}
	return st.show(st.filling())
}

// show shows the submission. typed is what the controls of editors hold, and why it was not
// stored, if it was sent.
func (st stored) show(typed filling) (err error) {
	c, query := st.call, st.URL.Query()
	title := st.numbered(forms.Say("Submission"), forms.Say("Submission {0}", st.number()))
	sent := query.Has("sent") && st.sub.Username == c.Who.Name // others may have copied the address
	if sent {
		title = c.Lang.Text("Sent")
	}
	form, zone, mayChange := st.access.Form, c.Backend.Service.Zone(), st.access.MayChange(st.sub, st.read)
	page := &submissionPage{
		Layout: st.layout(title), Number: st.number(), Username: st.sub.Username,
		Created: shownTime(form, st.sub.Created, zone), Changed: newChange(form, st.sub, zone),
		Sent: sent, Saved: query.Has("saved"), Change: st.at("/change"),
		MaySave: mayChange == nil && st.access.MayUpdate() == nil,
		Tag:     st.access.Tag(st.sub), For: c.hashUser(),
	}
	if locked, ok := errors.AsType[*service.Error](mayChange); ok && errors.Is(locked, service.ErrLocked) {
		page.Locked = locked.Detail
	} else if mayChange == nil {
		page.Locked = closedReason(st.access)
	}
	answers := st.answers(typed)
	if err := st.addWordsThen(answers); err != nil {
		return err
	}
	if page.sortAnswers(answers); page.NextSaves {
		page.LangForm = "set"
	}
	status := cmp.Or(typed.why.status, http.StatusOK)
	if status != http.StatusOK {
		page.Title, page.Errors = c.Lang.Text("Error: {0}", page.Title), []errorLine{{Text: c.Lang.Say(typed.why.reason)}}
	}
	if page.Sent {
		page.Thanks = linkedText{linkText(form.Thanks), page.Lang, c.Framed}
	}
	if !c.Framed { // where a page can't take the focus, and nothing is deleted
		page.Focus = query.Get("saved")
		if st.access.MayDelete(st.sub, st.read) == nil {
			page.Delete = st.at("/delete")
		}
	}
	if err := st.setNeighbours(page); err != nil {
		return err
	}
	if page.History, err = st.history(); err != nil {
		return err
	}
	return c.render(status, "submission", page)
}

// sortAnswers puts the answers of editors first, and questions without an answer last.
func (p *submissionPage) sortAnswers(answers []answerView) {
	for _, a := range answers {
		switch {
		case a.ByEditors:
			p.Decisions = append(p.Decisions, a)
			p.NextSaves = p.NextSaves || a.Control != nil
			p.MaySet = p.MaySet || a.Set != nil || a.Control != nil
		case a.Value == "":
			p.Unanswered = append(p.Unanswered, a.Label)
		default:
			p.Answers = append(p.Answers, a)
		}
	}
}

// file sends a file of a submission.
func (c *call) file() error {
	request.NoCompression(c.w.Header())
	return c.SendFile(c.w)
}
