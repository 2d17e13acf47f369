package service

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// Who is who on page 1: owner and viewer may view it, editor may edit it,
// outsider may do nothing.
var (
	owner    = auth.Identity{Name: "owner"}
	viewer   = auth.Identity{Name: "viewer", Groups: []string{"readers"}}
	editor   = auth.Identity{Name: "editor", Groups: []string{"writers"}}
	outsider = auth.Identity{Name: "outsider", Groups: []string{"others"}}
)

// known are these people by their names.
var known = map[string]auth.Identity{"owner": owner, "viewer": viewer, "editor": editor, "outsider": outsider}

// maxSubmission is small, so that tests can reach it.
const maxSubmission = 100

// world is a service over one page and a real database.
type world struct {
	*Service
	t      *testing.T
	source *pagestest.Memory
	page   *pages.Page
	// Who may do more on page 1 than the variables above say.
	allView, resultsForViewers bool
	blocked                    string // the name of somebody whom the wiki has blocked
	store                      store.Store
	dir                        string // of the database's files
	clock                      time.Time
}

func newWorld(t *testing.T) *world { return newWorldOn(t, enginetest.Default()) }

func newWorldOn(t *testing.T, on enginetest.Engine) *world {
	t.Helper()
	w := &world{t: t, clock: time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC)}
	w.page = &pages.Page{ID: 1, Title: "Page 1"}
	w.source = &pagestest.Memory{}
	w.source.Put(w.page, w.rights)
	for _, f := range []*forms.Form{
		{ID: "named"},
		{ID: "named-once", OneSubmission: true},
		{ID: "anonymous", Anonymous: true},
		{ID: "anonymous-once", Anonymous: true, OneSubmission: true},
		{ID: "anonymous-too", Anonymous: true, OneSubmission: true},
	} {
		f.PageID = 1
		f.Fields = []*forms.Field{{ID: "text", Type: forms.Textbox, Required: true}, {ID: "n", Type: forms.Textfield, Validation: forms.Numeric}}
		w.page.Forms = append(w.page.Forms, f)
	}
	engine, dir := on.OpenIn(t)
	w.store, w.dir = engine, dir
	w.Service = New(Options{
		Pages: w.source, Store: w.store, Files: engine, AnonymousKey: []byte("a key of thirty-two bytes, no less"),
		Now: func() time.Time { return w.clock }, MaxSubmission: maxSubmission, MaxFile: maxFile,
	})
	return w
}

// rights are those on page 1.
func (w *world) rights(user pages.User) pages.Rights {
	edit, blocked := user.InGroup("writers"), user.Name == w.blocked
	view := edit || w.allView || user.Name == "owner" || user.InGroup("readers")
	return pages.Rights{View: view, SeeAll: edit || (view && w.resultsForViewers), Edit: edit, Blocked: blocked}
}

// as opens a form, which must be there for the caller.
func (w *world) as(who auth.Identity, formID string) *Access {
	w.t.Helper()
	a, err := w.Form(w.t.Context(), who, 1, formID)
	if err != nil {
		w.t.Fatalf("%s opens %s: %v", who.Name, formID, err)
	}
	return a
}

// submits stores a submission, which must be taken.
func (w *world) submits(who auth.Identity, formID, value string) forms.Submission {
	w.t.Helper()
	sub, _, err := w.as(who, formID).Create(w.t.Context(), answer(value), "")
	if err != nil {
		w.t.Fatalf("%s submits to %s: %v", who.Name, formID, err)
	}
	return sub
}

func answer(value string) []forms.Answer { return []forms.Answer{{FieldID: "text", Value: value}} }

// creates is the error of a create.
func (w *world) creates(a *Access, answers []forms.Answer, key string) error {
	_, _, err := a.Create(w.t.Context(), answers, key)
	return err
}

// merges is the error of a merge of ids and values.
func (w *world) merges(a *Access, id int64, idsAndValues ...string) error {
	var answers []forms.Answer
	for i := 0; i < len(idsAndValues); i += 2 {
		answers = append(answers, forms.Answer{FieldID: idsAndValues[i], Value: idsAndValues[i+1]})
	}
	return testkit.ErrorOf(a.Merge(w.t.Context(), id, answers, nil, admitAll))
}

// gets reads a submission, which must be there for the caller.
func (w *world) gets(a *Access, id int64) forms.Submission {
	w.t.Helper()
	sub, err := a.Get(w.t.Context(), id)
	testkit.Must(w.t, err)
	return sub
}

// admitAll is for merges of any size.
func admitAll(int) error { return nil }

// outcome puts an error into a word.
func outcome(err error) string {
	var known *Error
	var invalid *forms.Invalid
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &known):
		return map[Kind]string{NotFound: "not found", Forbidden: "forbidden", TooLarge: "too large", Full: "full", Unavailable: "unavailable", InDoubt: "in doubt"}[known.Kind]
	case errors.As(err, &invalid):
		return fmt.Sprintf("invalid %v %q", invalid.Fields, invalid.Errors)
	default:
		return "fault: " + err.Error()
	}
}

func (w *world) wants(what string, err error, want string) {
	w.t.Helper()
	if got := outcome(err); got != want {
		w.t.Errorf("%s: got %s (%v), want %s", what, got, err, want)
	}
}

// lists are the ids that a caller's list holds.
func (w *world) lists(a *Access, opts query.List) []int64 {
	w.t.Helper()
	ids, _ := w.listsPage(a, opts)
	return ids
}
