package web

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/web/builder"
)

// Controls of people: one user or group a line.
const (
	viewControl   = "_view"
	editControl   = "_edit"
	peopleControl = "_people" // who the page named when they were shown, as JSON
)

// peopleForm has who fills in a form, and who manages it, as they are typed.
type peopleForm struct {
	View, Edit           string
	ViewFault, EditFault string
	Shown                string // see peopleControl
}

// pageSettings are parts of the settings that act by themselves.
type pageSettings struct {
	People peopleForm
	Count  string    // of submissions
	At     time.Time // when an older form was replaced; zero for none
	Typed  bool      // People were typed, and are not saved yet
}

// Open reports whether there is something to do: a name was refused, or is not saved yet.
func (s *pageSettings) Open() bool {
	return s != nil && (s.Typed || s.People.ViewFault+s.People.EditFault != "")
}

// pageSettings returns the settings of the form on the page, with the people that its author has typed.
func (c *call) pageSettings(page *authorPage, sent url.Values) (*pageSettings, error) {
	people, err := c.Backend.Service.People(c.Context(), c.Who, page.PageID)
	if err != nil {
		return nil, err
	}
	s := &pageSettings{People: c.peopleForm(people)}
	if sent.Has(peopleControl) {
		s.People = sentPeople(sent)
	}
	if d := c.done(); d != nil && d.People != nil {
		s.People = *d.People
	}
	if shown, typed, err := c.readPeople(s.People); err == nil {
		s.Typed = !reflect.DeepEqual(shown, typed)
	}
	if former, at := page.block.Former(); former != "" {
		s.At = at
	}
	counts, err := c.Backend.Service.Counts(c.Context(), c.Who, page.PageID)
	s.Count = c.count(counts[page.FormID])
	return s, err
}

// count is a number of submissions, of which no more are counted than a form may have.
func (c *call) count(n int) string {
	text := c.Lang.Count(int64(n))
	if n >= service.MaxCounted {
		text += "+"
	}
	return c.Lang.Say(forms.SayN("{1} submission", "{1} submissions", n, text))
}

// peopleForm shows people, one a line.
func (c *call) peopleForm(people service.People) peopleForm {
	lines := func(names []string) string {
		shown := make([]string, len(names))
		for i, name := range names {
			shown[i] = c.personName(name)
		}
		return strings.Join(shown, "\n")
	}
	shown, _ := json.Marshal(people) // strings can be encoded
	return peopleForm{View: lines(people.View), Edit: lines(people.Edit), Shown: string(shown)}
}

// personName is a user or a group for people to read.
func (c *call) personName(name string) string {
	if group, isGroup := strings.CutPrefix(name, "@"); isGroup {
		return c.Lang.Text("group {0}", group)
	}
	return name
}

// isolates are what marks the direction of a name in a sentence.
var isolates = strings.NewReplacer("\u2068", "", "\u2069", "")

// readName returns a user or a group as somebody typed it: in the words of a language, or as in the front matter.
func readName(line string) string {
	name := strings.TrimSpace(isolates.Replace(line))
	for _, l := range lang.All() {
		before, after, _ := strings.Cut(isolates.Replace(l.Text("group {0}", "\x00")), "\x00")
		group, isGroup := strings.CutPrefix(name, before)
		if isGroup && strings.HasSuffix(group, after) {
			return "@" + strings.TrimSpace(strings.TrimSuffix(group, after))
		}
	}
	return name
}

func sentPeople(sent url.Values) peopleForm {
	return peopleForm{View: sent.Get(viewControl), Edit: sent.Get(editControl), Shown: sent.Get(peopleControl)}
}

// readPeople returns who was shown, and who was typed. Nobody fills in a form only where that was shown.
func (c *call) readPeople(typed peopleForm) (shown, people service.People, err error) {
	if typed.Shown != "" && json.Unmarshal([]byte(typed.Shown), &shown) != nil {
		return shown, people, errUnreadable
	}
	names := func(lines string) (list []string) {
		for line := range strings.FieldsFuncSeq(lines, func(r rune) bool { return r == '\n' || r == '\r' }) {
			name := readName(line)
			if name != "" && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list
	}
	people = service.People{View: names(typed.View), Edit: names(typed.Edit)}
	if people.View == nil && shown.View != nil && len(shown.View) == 0 {
		people.View = shown.View
	}
	return shown, people, nil
}

// peopleFaults puts faults beside the names, and returns them for the summary.
func (c *call) peopleFaults(form *peopleForm, invalid *forms.Invalid) (lines []errorLine) {
	for field, beside := range map[string]*string{"view": &form.ViewFault, "edit": &form.EditFault} {
		if fault := invalid.Fields[field]; fault != nil {
			*beside = c.Lang.Say(fault)
			lines = append(lines, errorLine{"#people-" + field, *beside})
		}
	}
	return lines
}

// savePeople has the page name other people, once the author has read what that means.
func (c *call) savePeople(page *authorPage, do string, result builder.Result) error {
	typed := &page.Settings.People
	shown, people, err := c.readPeople(*typed)
	if err != nil {
		return err
	}
	changes, err := c.peopleChanges(page, shown, people)
	if err == nil {
		err = c.Backend.Service.CheckPeople(c.Who, people)
	}
	switch {
	case err == nil && reflect.DeepEqual(shown, people):
		return c.refuse(page, result, forms.Say("Nobody was added or removed."))
	case err == nil && do == doPeople:
		page.Asked = &asked{Do: doPeopleAnyway, Changes: changes}
		return c.showAuthor(page, result)
	case err == nil:
		err = c.Backend.Service.SetPeople(c.Context(), c.Who, page.PageID, shown, people)
	}
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok && len(invalid.Fields) > 0 {
		c.peopleFaults(typed, invalid)
		return c.refuse(page, result, forms.Say("The people were not saved: see Settings."))
	}
	if conflict, ok := errors.AsType[*service.PeopleConflict](err); ok {
		*typed = c.peopleForm(conflict.Now)
		return c.refuse(page, result, forms.Say("Somebody else has changed the people of this page. "+
			"Nothing was saved. Settings show who is named now."))
	}
	if err != nil {
		return c.notSaved(page, result, err)
	}
	return c.goTo(c.authorPath(page.PageID, page.FormID), done{Text: c.Lang.Text("Saved."), Changes: c.sayAll(changes)})
}

// peopleChanges says what other people mean for the form, and for others on its page.
func (c *call) peopleChanges(page *authorPage, before, after service.People) (say []*forms.Message, err error) {
	added := func(old, now []string) (names []string) {
		for _, name := range now {
			if !slices.Contains(old, name) {
				names = append(names, c.personName(name))
			}
		}
		return names
	}
	counts, err := c.Backend.Service.Counts(c.Context(), c.Who, page.PageID)
	for _, name := range added(before.Edit, after.Edit) {
		say = append(say, forms.Say("{0} can read and change {1}.", name, c.count(counts[page.FormID])))
	}
	for _, name := range added(after.Edit, before.Edit) {
		say = append(say, forms.Say("{0} can no longer manage the form.", name))
	}
	switch {
	case before.View == nil && after.View == nil:
	case after.View == nil:
		say = append(say, forms.Say("Everybody can fill in the form."))
	case before.View == nil:
		say = append(say, forms.Say("Only {0} and people who manage the form can fill it in.", added(nil, after.View)))
	default:
		for _, name := range added(before.View, after.View) {
			say = append(say, forms.Say("{0} can fill in the form.", name))
		}
		for _, name := range added(after.View, before.View) {
			say = append(say, forms.Say("{0} can no longer fill in the form.", name))
		}
	}
	delete(counts, page.FormID)
	view, pageErr := c.Backend.Service.Page(c.Context(), c.Who, page.PageID)
	for _, other := range view.Forms {
		if other.Form.ID != page.FormID {
			counts[other.Form.ID] += 0
		}
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		say = append(say, forms.Say("The same holds for the form “{0}” of this page ({1}).", id, c.count(counts[id])))
	}
	return say, errors.Join(err, pageErr)
}

// removeForm takes the form off its page. Its submissions stay.
func (c *call) removeForm(page *authorPage, result builder.Result) error {
	removed, err := c.Backend.Service.RemoveForm(c.Context(), c.Who, page.PageID, page.FormID, page.Tag)
	if err != nil {
		return c.notSaved(page, result, err)
	}
	text := c.Lang.Text("“{0}” was removed. The submissions are kept: {1}.", page.block.Title(), page.Settings.Count)
	return c.goTo(c.path("/"), done{Text: text, Undo: url.Values{
		doControl: {doRestore}, pageControl: {formatID(removed.PageID)}, formControl: {removed.FormID},
		beforeControl: {removed.Before}, afterControl: {removed.After},
	}})
}
