package markup

import (
	"fmt"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// dumper writes a page the way the txtar cases expect it.
type dumper struct{ strings.Builder }

// add writes a text if it is to be shown.
func (d *dumper) add(shown bool, format string, args ...any) {
	if shown {
		_, _ = fmt.Fprintf(d, format, args...)
	}
}

func dump(p Page) string {
	d := &dumper{}
	d.add(true, "id %d\n", p.ID)
	d.add(p.Unreadable, "unreadable\n")
	if !p.MetaRead {
		d.add(true, "front matter not read\n")
		p.Meta = Meta{} // checkPage looks at it
	}
	d.add(p.Meta.Title != "", "title %q\n", p.Meta.Title)
	d.add(p.Meta.Lang != "", "lang %q\n", p.Meta.Lang)
	d.principals("view", p.Meta.View)
	d.principals("edit", p.Meta.Edit)
	d.add(p.Meta.ResultsForViewers, "results for viewers\n")
	for _, block := range p.Blocks {
		if block.Form == nil {
			d.add(true, "broken form %q\n", block.FormID)
		} else {
			d.form(block.Form)
		}
	}
	for _, q := range p.Diagnostics {
		d.add(true, "%d:%d: %s: %s\n", q.Line, q.Column, q.Severity, q.Message)
		d.add(q.Hint != "", "\t(%s)\n", q.Hint)
	}
	return d.String()
}

func (d *dumper) principals(key string, p *Principals) {
	if p != nil {
		d.add(true, "%s users %q groups %q\n", key, p.Users, p.Groups)
	}
}

// form writes a form, and what is other in its other languages.
func (d *dumper) form(f *forms.Form) {
	d.language(f)
	if len(f.Languages()) == 1 {
		return
	}
	whole := &dumper{}
	whole.language(f)
	lines := strings.Split(whole.String(), "\n")
	for _, translated := range f.Languages()[1:] {
		other := &dumper{}
		other.language(translated)
		for i, line := range strings.Split(other.String(), "\n") {
			d.add(line != lines[i], "  %s: %s\n", translated.Lang, strings.TrimSpace(line))
		}
	}
}

func (d *dumper) language(f *forms.Form) {
	d.add(true, "form %q page %d", f.ID, f.PageID)
	d.add(f.Lang != "", " in %s", f.Lang)
	d.macroID(f.MacroID, forms.MacroID(f.PageID, f.ID))
	d.add(f.Anonymous, " anonymous")
	d.add(f.OneSubmission, " oneSubmission")
	d.add(f.Title != "", " title %q", f.Title)
	d.add(f.Intro != "", " intro %q", f.Intro)
	d.add(!f.Opens.IsZero(), " opens %s", dumpMoment(f.Opens))
	d.add(!f.Closes.IsZero(), " closes %s", dumpMoment(f.Closes))
	d.add(f.Limit != 0, " limit %d", f.Limit)
	d.add(f.Keep != forms.Period{}, " keep %s", f.Keep)
	d.add(f.Withdraw, " withdraw")
	if f.LockIf != nil {
		d.add(true, " lock %s", dumpCondition(f.LockIf))
	}
	d.add(f.SubmitterMail != "", " mails %q", f.SubmitterMail)
	d.add(f.Thanks != "", " thanks %q", f.Thanks)
	d.add(f.Notify != nil, " notify %q", f.Notify)
	d.add(true, "\n")
	for i := range f.Fields {
		d.field(f, f.Fields[i])
	}
	for _, s := range f.Sections {
		d.add(true, "  section %q of fields %d to %d", s.Name, s.First, s.First+s.Count-1)
		d.macroID(s.MacroID, forms.MacroID(f.PageID, f.ID, "section", s.Name))
		d.add(s.Title != "", " title %q", s.Title)
		d.add(s.Grid, " grid")
		d.add(true, "\n")
	}
	for macroID, condition := range f.Conditions() {
		d.add(true, "  condition %s %s\n", macroID, dumpCondition(condition))
	}
}

// macroID shows the ids that come from the host.
func (d *dumper) macroID(id, derived string) { d.add(id != derived, " macro %s", id) }

func (d *dumper) field(form *forms.Form, f *forms.Field) {
	d.add(true, "  %s %q label %q", f.Type, f.ID, f.Label)
	d.macroID(f.MacroID, forms.MacroID(form.PageID, form.ID, "field", f.ID))
	d.add(f.Was != nil, " was %q", f.Was)
	d.add(f.ValueWas != nil, " values were %q", f.ValueWas)
	d.add(f.Required, " required")
	d.add(f.Validation != "", " %s", f.Validation)
	d.add(f.Options != nil, " %q", f.Options)
	d.add(len(f.Labels) > 0, " labels %q", f.Labels)
	d.add(len(f.Colors) > 0, " colors %q", f.Colors)
	d.add(f.Scale != nil, " scale %q", f.Scale)
	d.add(f.Help != "", " help %q", f.Help)
	d.add(f.Accept != nil, " accept %q", f.Accept)
	d.add(f.MaxSize != 0, " maxSize %d", f.MaxSize)
	d.bound("min", f.Min)
	d.bound("max", f.Max)
	d.add(f.MaxLength != 0, " maxLength %d", f.MaxLength)
	d.add(f.Default != "", " default %q", f.Default)
	d.add(f.ByEditors, " by editors")
	if f.Condition != nil {
		d.add(true, " if %s", dumpCondition(f.Condition))
	}
	d.add(true, "\n")
}

func (d *dumper) bound(name string, b *forms.Bound) {
	if b != nil {
		d.add(b.FieldID != "", " %s field %q", name, b.FieldID)
		d.add(b.FieldID == "", " %s %s", name, b.Value)
	}
}

func dumpMoment(m forms.Moment) string {
	if m.Day != "" {
		return m.Day
	}
	return m.Time.Format(time.RFC3339Nano)
}

func dumpCondition(c *forms.Condition) string {
	s := string(c.Match)
	for _, r := range c.Rules {
		s += fmt.Sprintf(" (%s %s %q)", r.FieldID, r.Operator, r.Value)
	}
	return s
}
