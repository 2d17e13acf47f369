package markup

import (
	"fmt"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// dump writes a page the way the txtar cases expect it.
func dump(p Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id %d\n", p.ID)
	if p.Unreadable {
		b.WriteString("unreadable\n")
	}
	if !p.MetaRead {
		b.WriteString("front matter not read\n")
		p.Meta = Meta{} // checkPage looks at it
	}
	if p.Meta.Title != "" {
		fmt.Fprintf(&b, "title %q\n", p.Meta.Title)
	}
	if p.Meta.Lang != "" {
		fmt.Fprintf(&b, "lang %q\n", p.Meta.Lang)
	}
	dumpPrincipals(&b, "view", p.Meta.View)
	dumpPrincipals(&b, "edit", p.Meta.Edit)
	if p.Meta.ResultsForViewers {
		b.WriteString("results for viewers\n")
	}
	for _, block := range p.Blocks {
		dumpBlock(&b, block)
	}
	for _, q := range p.Diagnostics {
		fmt.Fprintf(&b, "%d:%d: %s: %s\n", q.Line, q.Column, q.Severity, q.Message)
		if q.Hint != "" {
			fmt.Fprintf(&b, "\t(%s)\n", q.Hint)
		}
	}
	return b.String()
}

func dumpPrincipals(b *strings.Builder, key string, p *Principals) {
	if p != nil {
		fmt.Fprintf(b, "%s users %q groups %q\n", key, p.Users, p.Groups)
	}
}

func dumpBlock(b *strings.Builder, block Block) {
	if block.Form == nil {
		fmt.Fprintf(b, "broken form %q\n", block.FormID)
		return
	}
	f := block.Form
	fmt.Fprintf(b, "form %q page %d", f.ID, f.PageID)
	dumpMacroID(b, f.MacroID, forms.FormMacroID(f.PageID, f.ID))
	if f.Anonymous {
		b.WriteString(" anonymous")
	}
	if f.OneSubmission {
		b.WriteString(" oneSubmission")
	}
	dumpFormKeys(b, f)
	b.WriteString("\n")
	for i := range f.Fields {
		dumpField(b, f, &f.Fields[i])
	}
	for _, s := range f.Sections {
		fmt.Fprintf(b, "  section %q of fields %d to %d", s.Name, s.First, s.First+s.Count-1)
		dumpMacroID(b, s.MacroID, forms.SectionMacroID(f.PageID, f.ID, s.Name))
		if s.Title != "" {
			fmt.Fprintf(b, " title %q", s.Title)
		}
		b.WriteString("\n")
	}
	for macroID, condition := range f.Conditions() {
		fmt.Fprintf(b, "  condition %s %s\n", macroID, dumpCondition(condition))
	}
}

// dumpMacroID shows the ids that come from the host.
func dumpMacroID(b *strings.Builder, id, derived string) {
	if id != derived {
		fmt.Fprintf(b, " macro %s", id)
	}
}

func dumpField(b *strings.Builder, form *forms.Form, f *forms.Field) {
	fmt.Fprintf(b, "  %s %q label %q", f.Type, f.ID, f.Label)
	dumpMacroID(b, f.MacroID, forms.FieldMacroID(form.PageID, form.ID, f.ID))
	if f.Required {
		b.WriteString(" required")
	}
	if f.Validation != "" {
		fmt.Fprintf(b, " %s", f.Validation)
	}
	if f.Options != nil {
		fmt.Fprintf(b, " %q", f.Options)
	}
	if f.Help != "" {
		fmt.Fprintf(b, " help %q", f.Help)
	}
	if f.Accept != nil {
		fmt.Fprintf(b, " accept %q", f.Accept)
	}
	if f.MaxSize != 0 {
		fmt.Fprintf(b, " maxSize %d", f.MaxSize)
	}
	dumpLimits(b, f)
	if f.Condition != nil {
		fmt.Fprintf(b, " if %s", dumpCondition(f.Condition))
	}
	b.WriteString("\n")
}

func dumpFormKeys(b *strings.Builder, f *forms.Form) {
	if f.Title != "" {
		fmt.Fprintf(b, " title %q", f.Title)
	}
	if !f.Opens.IsZero() {
		fmt.Fprintf(b, " opens %s", dumpMoment(f.Opens))
	}
	if !f.Closes.IsZero() {
		fmt.Fprintf(b, " closes %s", dumpMoment(f.Closes))
	}
	if f.Limit != 0 {
		fmt.Fprintf(b, " limit %d", f.Limit)
	}
	if f.Thanks != "" {
		fmt.Fprintf(b, " thanks %q", f.Thanks)
	}
	if f.Notify != nil {
		fmt.Fprintf(b, " notify %q", f.Notify)
	}
}

func dumpMoment(m forms.Moment) string {
	if m.Day != "" {
		return m.Day
	}
	return m.Time.Format(time.RFC3339Nano)
}

func dumpLimits(b *strings.Builder, f *forms.Field) {
	dumpBound(b, "min", f.Min)
	dumpBound(b, "max", f.Max)
	if f.MaxLength != 0 {
		fmt.Fprintf(b, " maxLength %d", f.MaxLength)
	}
	if f.Default != "" {
		fmt.Fprintf(b, " default %q", f.Default)
	}
	if f.ByEditors {
		b.WriteString(" by editors")
	}
}

func dumpBound(b *strings.Builder, name string, bound *forms.Bound) {
	switch {
	case bound == nil:
	case bound.FieldID != "":
		fmt.Fprintf(b, " %s field %q", name, bound.FieldID)
	default:
		fmt.Fprintf(b, " %s %s", name, bound.Value)
	}
}

func dumpCondition(c *forms.Condition) string {
	s := string(c.Match)
	for _, r := range c.Rules {
		s += fmt.Sprintf(" (%s %s %q)", r.FieldID, r.Operator, r.Value)
	}
	return s
}
