package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// The limit on a form's HTML is one on what a browser is sent.
func TestHTMLSizeIsAboutThatOfThePage(t *testing.T) {
	s := newEnv(t, enginetest.SQLite, nil).site
	text := strings.Repeat(`+"text"<'&'> `, 20)
	options := []string{"a", "b", text}
	section := &forms.Condition{Match: forms.MatchAll, Rules: []forms.Rule{{FieldID: "0", Operator: forms.InList, Value: "a text"}}}
	for name, field := range map[string]forms.Field{
		"bare":       {Type: forms.Textfield},
		"label":      {Type: forms.Textbox, Label: text, Help: text},
		"dropdown":   {Type: forms.Dropdown, Options: options},
		"radio":      {Type: forms.Radio, Options: options},
		"checkbox":   {Type: forms.Checkbox, Options: options},
		"many":       {Type: forms.Checkbox, Options: slices.Repeat([]string{"a"}, 100)},
		"status":     {Type: forms.Status, Options: slices.Repeat([]string{"a"}, 100)},
		"accept":     {Type: forms.File, Accept: []string{".pdf", "image/*", text}},
		"conditions": {Type: forms.Textfield, Label: "Label", Condition: section},
	} {
		form := &forms.Form{ID: name, PageID: 1}
		for i := range 100 {
			field.ID = strings.Repeat(`"`, 50) + strconv.Itoa(i)
			form.Fields = append(form.Fields, field)
		}
		view, err := s.formView("f0", form, filling{})
		if err != nil {
			t.Fatal(err)
		}
		size, sent := form.HTMLSize(), len(view.HTML)+len(view.Definition)
		if size < sent*8/10 || size > sent*14/10 {
			t.Errorf("%s: the size is given as %d, and %d bytes are sent", name, size, sent)
		}
	}
}

// quotedForm is a form whose choices repeat long ids, which HTML makes longer.
func quotedForm(id string, fields, options int) string {
	text := "form: " + id + "\nfields:\n"
	list := "&o [x"
	for i := range options - 1 {
		list += ", " + strconv.Itoa(i)
	}
	list += "]"
	for i := range fields {
		text += fmt.Sprintf("  - {id: '%s%d', type: radio, options: %s}\n", strings.Repeat(`"`, markup.MaxIDBytes-2), i, list)
		list = "*o"
	}
	return text
}

// The HTML of a form counts, not the length of its text.
func TestLongIDsOfManyChoices(t *testing.T) {
	form := quotedForm("long", 10, 100)
	e := newEnv(t, enginetest.SQLite, map[string]string{"1-long.md": "```form\n" + form + "```\n"})
	b := e.signedIn(t, "alice")
	if p := b.get("/page/1"); len(p.body) > maxPageHTML || p.link("Fill in this form") == "" {
		t.Errorf("a page of %d bytes, want a link to the form", len(p.body))
	}
	b.get("/page/1/form/long").want(http.StatusOK, "Send")
	p := b.write(form)
	p.want(http.StatusOK, "The form is too large to be shown here.")
	if len(p.body) > maxPreviewHTML {
		t.Errorf("the author's page has %d bytes", len(p.body))
	}
	b.write(quotedForm("huge", 48, 1000)).want(http.StatusOK, "1 problem", "bytes of HTML")
}

// A form is rendered once, however many ask for it at one time.
func TestEmptyFormIsRenderedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var empty emptyForms
		var rendered atomic.Int32
		ready := make(chan struct{})
		form := &forms.Form{ID: "f"}
		for range 10 {
			go func() {
				q, err := empty.get(emptyForm{form, "f0"}, func() (Questions, error) {
					rendered.Add(1)
					<-ready
					return Questions{HTML: "x"}, nil
				})
				if err != nil || q.HTML != "x" {
					t.Errorf("got %q, %v", q.HTML, err)
				}
			}()
		}
		synctest.Wait()
		if q, err := empty.get(emptyForm{&forms.Form{}, "f0"}, func() (Questions, error) { return Questions{HTML: "y"}, nil }); err != nil || q.HTML != "y" {
			t.Errorf("another form, meanwhile: %q, %v", q.HTML, err)
		}
		close(ready)
		synctest.Wait()
		if n := rendered.Load(); n != 1 {
			t.Errorf("rendered %d times", n)
		}
	})
}

// An answer may hold hundreds of thousands of values, each of which would be an
// element.
func TestManyValuesAreOneText(t *testing.T) {
	value := strings.Repeat("a;", 2*maxCellValues)
	field := &forms.Field{ID: "f", Type: forms.Checkbox}
	if v := newAnswer(field, value, nil); v.List != nil || v.Value != value {
		t.Errorf("got %+v", v)
	}
	field.Options = slices.Repeat([]string{"a"}, 2*maxCellValues+1)
	if v := newAnswer(field, value, nil); len(v.List) != 2*maxCellValues+1 {
		t.Errorf("as many values as options: got %+v", v)
	}
	if v := newAnswer(&forms.Field{Type: forms.Checkbox}, "a;b", nil); len(v.List) != 2 {
		t.Errorf("two values: got %+v", v)
	}
}

// Values that are no options are bounded for the form as a whole: it may have
// many fields.
func TestForeignChoicesOfAllFieldsAreBounded(t *testing.T) {
	form := &forms.Form{ID: "f"}
	with := filling{}
	for i := range 100 {
		form.Fields = append(form.Fields, forms.Field{ID: strconv.Itoa(i), Type: forms.Checkbox, Options: []string{"b", "c"}})
		with.values = append(with.values, "c;"+strings.Repeat("a;", 100))
	}
	choices, chosen := 0, 0
	for _, it := range layOut("f0", form, with) {
		choices += len(it.Choices)
		for _, c := range it.Choices {
			if c.Chosen {
				chosen++
			}
		}
	}
	if choices != 200+markup.MaxOptions || chosen != 100+markup.MaxOptions {
		t.Errorf("%d choices, of which %d are chosen", choices, chosen)
	}
}
