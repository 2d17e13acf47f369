package web

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/service"
)

// peopleForm has who fills in a form, and who manages it, as they are typed: one user or group a line.
type peopleForm struct {
	View, Edit string
	Shown      string                    // a tag of who the page named when they were shown
	Typed      bool                      // others than that
	Faults     map[string]*forms.Message // of "view" and "edit", or "title" of a new page
}

// settings are parts of the settings that act by themselves.
type settings struct {
	People peopleForm
	Count  string    // of submissions; "" if nothing can be saved
	At     time.Time // when an older form was replaced; zero for none

	people service.People // who the page names
	counts map[string]int // of submissions, by form
}

// openSettings opens the settings of the form on the page, with the people that its author has typed.
func (c *call) openSettings(page *authorPage) (err error) {
	page.people = page.Block.People()
	if d := c.done(); d != nil {
		page.People = d.People
	}
	if page.People.Shown == "" {
		page.People = c.peopleForm(page.people)
	}
	page.People.Typed = !reflect.DeepEqual(page.newPeople(), page.people)
	if former, at := page.Block.Former(); former != "" {
		page.At = at
	}
	page.counts, err = page.Block.Counts(c.Context())
	page.Count = c.count(page.counts[page.FormID])
	return err
}

// count is a number of submissions, of which no more are counted than a form may have.
func (c *call) count(n int) string {
	text := c.Lang.Count(int64(n))
	if n >= service.MaxCounted {
		text += "+"
	}
	return c.Lang.Say(forms.SayN("{1} submission", "{1} submissions", n, text))
}

// peopleForm shows people.
func (c *call) peopleForm(people service.People) peopleForm {
	lines := func(names []string) string { return strings.Join(c.without(nil, names), "\n") }
	return peopleForm{View: lines(people.View), Edit: lines(people.Edit), Shown: people.Tag()}
}

// without returns the names that are not among others, for people to read.
func (c *call) without(others, names []string) (list []string) {
	for _, name := range names {
		if slices.Contains(others, name) {
			continue
		}
		if group, isGroup := strings.CutPrefix(name, "@"); isGroup {
			name = c.Lang.Text("group {0}", group)
		}
		list = append(list, name)
	}
	return list
}

// isolates are what marks the direction of a name in a sentence.
var isolates = strings.NewReplacer("\u2068", "", "\u2069", "")

// readNames returns users and groups as somebody typed them: in the words of a language, or as in the front matter.
func readNames(lines string) (names []string) {
	for name := range strings.SplitSeq(isolates.Replace(lines), "\n") {
		name = strings.TrimSpace(name)
		for _, l := range lang.All() {
			before, after, _ := strings.Cut(isolates.Replace(l.Text("group {0}", "\x00")), "\x00")
			group, isGroup := strings.CutPrefix(name, before)
			if isGroup && strings.HasSuffix(group, after) {
				name = "@" + strings.TrimSpace(strings.TrimSuffix(group, after))
			}
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func sentPeople(sent url.Values) peopleForm {
	return peopleForm{View: sent.Get("_view"), Edit: sent.Get("_edit"), Shown: sent.Get("_people")}
}

// newPeople are the people that were typed. Nobody fills in a form only where that was so.
func (s *settings) newPeople() service.People {
	people := service.People{View: readNames(s.People.View), Edit: readNames(s.People.Edit)}
	if people.View == nil && len(s.people.View) == 0 {
		people.View = s.people.View
	}
	return people
}

// savePeople has the page name other people, once the author has read what that means.
func (c *call) savePeople(page *authorPage) error {
	wanted := page.newPeople()
	if !page.People.Typed {
		return forms.InvalidRequest(forms.Say("Nobody was added or removed."))
	}
	if err := c.Backend.Service.CheckPeople(c.Who, wanted); err != nil {
		return err
	}
	changes := c.peopleChanges(page, wanted)
	if !page.sure {
		page.Asked = &asked{Do: "people-anyway", Changes: changes}
		return errAsked
	}
	if err := page.Block.SetPeople(c.Context(), page.People.Shown, wanted); err != nil {
		return err
	}
	return c.goTo(page.Action, done{Text: c.Lang.Text("Saved.")}, changes...)
}

// peopleChanges says what other people mean for the form, and for others on its page.
func (c *call) peopleChanges(page *authorPage, after service.People) (say []*forms.Message) {
	before := page.people
	for _, name := range c.without(before.Edit, after.Edit) {
		say = append(say, forms.Say("{0} can read and change {1}.", name, page.Count))
	}
	for _, name := range c.without(slices.Concat(before.Edit, c.Backend.Service.Authors(after.Edit)), after.Edit) {
		say = append(say, forms.Say(
			"{0} can't change the form: ask the operator of this server to add {0} to --authors.", name))
	}
	for _, name := range c.without(after.Edit, before.Edit) {
		say = append(say, forms.Say("{0} can no longer manage the form.", name))
	}
	switch {
	case slices.Equal(before.View, after.View):
	case after.View == nil:
		say = append(say, forms.Say("Everybody can fill in the form."))
	default:
		say = append(say, forms.Say("Only {0} and people who manage the form can fill it in.", c.without(nil, after.View)))
	}
	for _, id := range slices.Sorted(maps.Keys(page.counts)) {
		if id != page.FormID {
			say = append(say,
				forms.Say("The same holds for the form “{0}” of this page ({1}).", id, c.count(page.counts[id])))
		}
	}
	return say
}

// removeForm takes the form off its page. Its submissions stay.
func (c *call) removeForm(page *authorPage) error {
	removed, err := page.Block.Remove(c.Context(), page.Tag)
	if err != nil {
		return err
	}
	text := c.Lang.Text("“{0}” was removed. The submissions are kept: {1}.", page.Block.Title(), page.Count)
	return c.goTo(c.path("/"), done{Text: text, Undo: url.Values{
		doControl: {"restore"}, pageControl: {formatID(removed.PageID)}, formControl: {removed.FormID},
		beforeControl: {removed.Before}, afterControl: {removed.After}, backControl: {page.Action},
	}})
}
