package markup

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/yuin/goldmark/ast"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func FuzzMarkdown(f *testing.F)   { fuzz(f, Markdown) }
func FuzzConfluence(f *testing.F) { fuzz(f, Confluence) }
func FuzzWikitext(f *testing.F)   { fuzz(f, Wikitext) }

// fuzz starts from the pages of the cases. It calls read, so that panics are seen.
func fuzz(f *testing.F, format Format) {
	names, err := filepath.Glob("testdata/*.txtar")
	testkit.Must(f, err)
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		testkit.Must(f, err)
		for _, file := range archive.Files {
			if got, ok := FormatOf(file.Name); ok && got == format {
				f.Add(int64(1), []byte(visible.Replace(string(file.Data))))
			}
		}
	}
	f.Fuzz(func(t *testing.T, nameID int64, src []byte) {
		before := slices.Clone(src)
		p := read(format, nameID, src)
		checkPage(t, p)
		sameNodes := gocmp.Comparer(func(a, b ast.Node) bool {
			return a == nil || b == nil || a.Kind() == b.Kind() && a.ChildCount() == b.ChildCount()
		})
		testkit.Same(t, "parsed twice", gocmp.Diff(p, read(format, nameID, src), sameNodes, exported), "")
		if !slices.Equal(before, src) {
			t.Error("the source was written to")
		}
	})
}

// checkPage checks what callers rely on.
func checkPage(t *testing.T, p Page) {
	t.Helper()
	checkDiagnostics(t, p.Diagnostics)
	hasError := slices.ContainsFunc(p.Diagnostics, func(q Diagnostic) bool { return q.Severity == Error })
	if p.Unreadable && (len(p.Blocks) > 0 || !hasError) {
		t.Errorf("unreadable with %d blocks and %d diagnostics", len(p.Blocks), len(p.Diagnostics))
	}
	if !p.MetaRead && (!p.Unreadable || !reflect.DeepEqual(p.Meta, noAccess())) {
		t.Errorf("front matter not read, but unreadable is %t and meta %+v", p.Unreadable, p.Meta)
	}
	formIDs, macroIDs := map[string]bool{}, map[string]bool{}
	for _, b := range p.Blocks {
		if b.FormID != "" && formIDs[b.FormID] {
			t.Errorf("form %q appears twice", b.FormID)
		}
		formIDs[b.FormID] = true
		if b.Form == nil {
			if !hasError {
				t.Errorf("form %q is broken without an error", b.FormID)
			}
			continue
		}
		if b.Form.ID != b.FormID || b.Form.PageID != p.ID || checkID(b.FormID) != "" {
			t.Errorf("block %q has form %q of page %d", b.FormID, b.Form.ID, b.Form.PageID)
		}
		checkForm(t, b.Form, macroIDs)
		checkLanguages(t, b.Form)
		if len(b.Form.Languages()) == 1 || p.Meta.Lang == "" { // else the page decides the default
			checkBlockText(t, b)
		}
	}
}

// checkLanguages: each language is a form, and all are the same but for texts.
func checkLanguages(t *testing.T, f *forms.Form) {
	t.Helper()
	withoutTexts := func(f *forms.Form) string {
		d := &dumper{}
		for _, field := range f.Fields {
			own := *field
			own.Label, own.Help, own.Labels, own.Scale = "", "", nil, nil
			d.field(f, &own)
		}
		return d.String()
	}
	list := f.Languages()
	if len(list) > MaxLanguages || list[0] != f {
		t.Errorf("form %q has %d languages", f.ID, len(list))
	}
	for _, translated := range list {
		checkForm(t, translated, map[string]bool{})
		if f.In(translated.Lang) != translated || len(list) > 1 && translated.Lang == "" || translated.Definition() != f.Definition() {
			t.Errorf("form %q is not the same in %q", f.ID, translated.Lang)
		}
		if diff := gocmp.Diff(withoutTexts(f), withoutTexts(translated)); diff != "" {
			t.Errorf("form %q is other in %q: %s", f.ID, translated.Lang, diff)
		}
	}
}

// checkBlockText: the text of a block makes the same form, but for the ids of the host.
func checkBlockText(t *testing.T, b Block) {
	t.Helper()
	againBlock, diagnostics := ParseForm(b.Form.PageID, "", []byte(b.Text), nil)
	again := againBlock.Form
	if again == nil {
		t.Fatalf("%v in the text of form %q:\n%s", diagnostics, b.FormID, b.Text)
	}
	withoutHost := func(f *forms.Form) string {
		d := &dumper{}
		for _, field := range f.Fields {
			own := *field
			own.MacroID = forms.MacroID(f.PageID, f.ID, "field", field.ID)
			d.field(f, &own)
		}
		if f.LockIf != nil {
			d.add(true, "lock if %s", dumpCondition(f.LockIf))
		}
		d.add(true, "%q", fmt.Sprint(f.ID, f.PageID, f.Anonymous, f.OneSubmission, cmp.Or(f.Title, f.ID), f.Intro, f.Thanks,
			f.Opens, f.Closes, f.Limit, f.Keep, f.Withdraw, f.Notify, f.SubmitterMail))
		return d.String()
	}
	testkit.Same(t, b.FormID, withoutHost(b.Form), withoutHost(again))
}

func checkDiagnostics(t *testing.T, diagnostics []Diagnostic) {
	t.Helper()
	sorted := slices.IsSortedFunc(diagnostics, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if !sorted {
		t.Errorf("diagnostics are not sorted: %v", diagnostics)
	}
	for _, q := range diagnostics {
		if q.Line < 1 || q.Column < 1 || q.Message == "" || q.Severity != Error && q.Severity != Warning || strings.ContainsAny(q.Message+q.Hint, "\n\x00") {
			t.Errorf("bad diagnostic %+v", q)
		}
	}
}

func checkForm(t *testing.T, f *forms.Form, macroIDs map[string]bool) {
	t.Helper()
	unique := func(id string) {
		if id == "" || macroIDs[id] {
			t.Errorf("macro id %q is empty or appears twice", id)
		}
		macroIDs[id] = true
	}
	unique(f.MacroID)
	owners := map[string]bool{}
	ids := map[string]bool{}
	for i := range f.Fields {
		field := f.Fields[i]
		unique(field.MacroID)
		owners[field.MacroID] = true
		if ids[field.ID] || checkFieldID(field.ID) != "" {
			t.Errorf("field id %q", field.ID)
		}
		ids[field.ID] = true
		checkField(t, field)
	}
	for i := range f.Fields {
		for _, b := range []*forms.Bound{f.Fields[i].Min, f.Fields[i].Max} {
			if b != nil && b.FieldID != "" && !ids[b.FieldID] {
				t.Errorf("field %q has a bound on the unknown field %q", f.Fields[i].ID, b.FieldID)
			}
		}
	}
	if f.Limit < 0 || f.Limit > MaxLimit || max(len(f.Title), len(f.Intro), len(f.Thanks)) > MaxTextBytes {
		t.Errorf("form with limit %d, title %q, intro %q, thanks %q", f.Limit, f.Title, f.Intro, f.Thanks)
	}
	if again, err := forms.ParsePeriod(f.Keep.String()); err != nil || again != f.Keep {
		t.Errorf("keep %+v is read as %+v, %v", f.Keep, again, err)
	}
	for i, address := range f.Notify {
		if !forms.IsEmail(address) || len(address) > maxAddressLen || slices.Contains(f.Notify[:i], address) || i == MaxNotify {
			t.Errorf("notify %q", f.Notify)
		}
	}
	if len(f.Fields) == 0 {
		t.Error("no fields")
	}
	for i := range f.Sections {
		unique(f.Sections[i].MacroID)
		owners[f.Sections[i].MacroID] = true
	}
	checkSections(t, f)
	for macroID, condition := range f.Conditions() {
		if !owners[macroID] {
			t.Errorf("macro id %q belongs to no field and no section", macroID)
		}
		for _, r := range condition.Rules {
			if !ids[r.FieldID] || !slices.Contains(forms.Operators, r.Operator) {
				t.Errorf("rule %+v", r)
			}
		}
	}
	checkAcyclic(t, f)
}

// checkSections finds sections that overlap, are empty, or have another
// condition than their fields.
func checkSections(t *testing.T, f *forms.Form) {
	t.Helper()
	next := 0
	for _, s := range f.Sections {
		if s.First < next || s.Count < 1 || s.First+s.Count > len(f.Fields) {
			t.Errorf("section %+v of %d fields begins before rank %d or is too long", s, len(f.Fields), next)
			return
		}
		next = s.First + s.Count
		for rank := s.First; rank < next; rank++ {
			if f.Fields[rank].Condition != s.Condition {
				t.Errorf("field %d has another condition than its section %q", rank, s.Name)
			}
		}
	}
}

func checkField(t *testing.T, f *forms.Field) {
	t.Helper()
	if f.Label == "" || !slices.Contains(forms.FieldTypes, f.Type) {
		t.Errorf("field %+v", f)
	}
	for _, o := range f.Options {
		if strings.TrimSpace(o) == "" || strings.Contains(o, forms.Separator) {
			t.Errorf("option %q", o)
		}
	}
	wantOptions := f.Validation == forms.OneOf || f.Validation == forms.AnyOf
	if wantOptions != (len(f.Options) > 0) {
		t.Errorf("validation %s with %d options", f.Validation, len(f.Options))
	}
	if f.Type != forms.File && (f.Accept != nil || f.MaxSize != 0) || f.MaxSize < 0 || f.MaxSize > MaxFileBytes || len(f.Accept) > MaxAccept {
		t.Errorf("%s field accepts %q of at most %d bytes", f.Type, f.Accept, f.MaxSize)
	}
	for _, a := range f.Accept {
		if a != strings.ToLower(a) || len(a) > MaxAcceptLen || strings.ContainsAny(a, " ,;") || !strings.ContainsAny(a, "./") {
			t.Errorf("accepts %q", a)
		}
	}
	for _, b := range []*forms.Bound{f.Min, f.Max} {
		if b != nil && ((b.Value == "") == (b.FieldID == "") || b.FieldID == f.ID || kindOfBound(f) == "" || len(b.Value) > maxBoundLen) {
			t.Errorf("bound %+v of %s field with validation %q", b, f.Type, f.Validation)
		}
	}
	if f.MaxLength < 0 || f.MaxLength > MaxMaxLength || f.MaxLength > 0 && kindOfBound(f) != "" {
		t.Errorf("maxLength %d of %s field", f.MaxLength, f.Type)
	}
	isToday := f.Default == forms.Today && f.Validation == forms.DateOnly
	if f.Default != "" && !isToday && f.CheckAnswer(forms.Answer{Value: f.Default}) != nil {
		t.Errorf("default %q of %+v", f.Default, f)
	}
	if f.Condition != nil && len(f.Condition.Rules) == 0 {
		t.Errorf("field %q has a condition without rules", f.ID)
	}
}

// checkAcyclic decides fields that depend on decided fields only, until it finds
// no more. In a cycle it decides none.
func checkAcyclic(t *testing.T, f *forms.Form) {
	t.Helper()
	done := map[string]bool{}
	for progress := true; progress; {
		progress = false
		for i := range f.Fields {
			field := f.Fields[i]
			waits := field.Condition != nil && slices.ContainsFunc(field.Condition.Rules, func(r forms.Rule) bool { return !done[r.FieldID] })
			if !waits && !done[field.ID] {
				done[field.ID], progress = true, true
			}
		}
	}
	testkit.Same(
		t, "conditions form a cycle, or name unknown fields: only of fields can be decided", len(done), len(f.Fields),
	)
}
