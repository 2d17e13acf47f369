// Command fill-examples copies the pages of examples/ for `make run`, and fills a new
// store with made-up answers to their forms, with decisions and changes. It takes the
// folder of the pages, and a folder for the copy and the store. The answers lie over
// the last four months. Only their dates differ from one time to the next.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/sqlite"
)

const (
	many   = 55  // submissions of a form that takes any number
	few    = 24  // of a form that takes one from each person, or has closed
	places = 3   // are left on a form with a limit
	days   = 119 // ago, the first submission came
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "fill-examples takes the folder of the pages, and the folder for the copy")
		os.Exit(2)
	}
	count, err := run(context.Background(), os.Args[1], os.Args[2], time.Now())
	if err != nil {
		fmt.Fprintln(os.Stderr, "fill-examples:", err)
		os.Exit(1)
	}
	if count > 0 {
		fmt.Printf("%d made-up answers were stored in %s.\n", count, os.Args[2])
	}
}

// run makes the folder beside its place first. After an interruption it begins again. A
// store of an earlier time stays as it is, and gets the pages only.
func run(ctx context.Context, source, target string, now time.Time) (count int, err error) {
	unfinished, today := target+".new", forms.UTCDay(now.UTC())
	copied := filepath.Join(unfinished, "pages")
	if err := errors.Join(os.RemoveAll(unfinished), copyPages(source, copied, today)); err != nil {
		return 0, err
	}
	if _, err := os.Stat(target); err == nil {
		return 0, errors.Join(os.Rename(copied, filepath.Join(target, "pages")), os.Remove(unfinished))
	}
	if count, err = fill(ctx, unfinished, today); err != nil {
		return 0, err
	}
	return count, os.Rename(unfinished, target)
}

func copyPages(source, target string, today time.Time) error {
	files, err := os.ReadDir(source)
	err = errors.Join(err, os.MkdirAll(target, 0o700))
	for _, file := range files {
		text, unread := os.ReadFile(filepath.Join(source, file.Name()))
		text = []byte(fromToday(string(text), today))
		err = errors.Join(err, unread, os.WriteFile(filepath.Join(target, file.Name()), text, 0o600))
	}
	return err
}

var (
	onlyInCopy = regexp.MustCompile(`(?m)^( *)# make run: (.*)$`)
	relative   = regexp.MustCompile(`today([+-]\d+)`)
)

// fromToday makes lines of a page from comments such as "# make run: closes: today+3".
func fromToday(page string, today time.Time) string {
	return onlyInCopy.ReplaceAllStringFunc(page, func(comment string) string {
		line := onlyInCopy.ReplaceAllString(comment, "$1$2")
		return relative.ReplaceAllStringFunc(line, func(date string) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(date, "today")) // it has digits only
			return today.AddDate(0, 0, n).Format(time.DateOnly)
		})
	})
}

type filler struct {
	service *service.Service
	random  *rand.Rand
	today   time.Time
	now     time.Time // of the service
	writes  []write
	count   int // of submissions
}

// write is something that a person does to a form at some time.
type write struct {
	at  time.Time
	who int // of people
	to  *forms.Form
	do  func(*service.Access) error
}

// fill makes the store beside the copied pages.
func fill(ctx context.Context, dir string, today time.Time) (count int, err error) {
	source, err := pages.OpenDirectory(filepath.Join(dir, "pages"), nil, slog.Default())
	if err != nil {
		return 0, err
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	key, err := service.LoadAnonymousKey(ctx, store, filepath.Join(dir, "anonymous.key"), false)
	if err != nil {
		return 0, err
	}
	f := &filler{today: today, random: rand.New(rand.NewPCG(1, 1))} //nolint:gosec // the same answers each time
	f.service = service.New(service.Options{
		Pages: source, Store: store, Files: store, AnonymousKey: key, MaxSubmission: 1 << 20,
		Now: func() time.Time { return f.now },
	})
	views, err := source.List(ctx, pages.User{Name: identity(0).Name})
	if err != nil {
		return 0, err
	}
	begun := days // one form after the other, so that the first one has the first submission: docs/api.md
	for _, page := range views {
		for _, form := range page.Forms {
			f.plan(ctx, form, begun)
			begun--
		}
	}
	return f.count, f.writeAll(ctx)
}

// writeAll does all planned writes in order of time. So ids of submissions ascend with time.
func (f *filler) writeAll(ctx context.Context) error {
	slices.SortStableFunc(f.writes, func(a, b write) int { return a.at.Compare(b.at) })
	for _, w := range f.writes {
		f.now = w.at
		access, err := f.service.Form(ctx, identity(w.who), w.to.PageID, w.to.ID)
		if err == nil {
			err = w.do(access)
		}
		if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
			err = fmt.Errorf("%v %v", invalid.Fields, invalid.Errors)
		}
		if err != nil {
			return fmt.Errorf("form %s as %s: %w", w.to.ID, people[w.who], err)
		}
	}
	return nil
}

// plan spreads the submissions of a form from so many days ago until yesterday, or
// until the form has closed.
func (f *filler) plan(ctx context.Context, form *forms.Form, begun int) {
	count, end := many, 1
	if over := f.today.Sub(form.Closes.End(time.UTC)); !form.Closes.IsZero() && over >= 0 {
		count, end = few, 1+int(over.Hours())/24
	}
	if form.OneSubmission {
		count, begun = few, begun/6
	}
	if form.Limit > 0 {
		count = form.Limit - places
	}
	for i := range count {
		who := f.random.IntN(len(people))
		if form.OneSubmission {
			who = 1 + i // alice can still send hers
		} else if i%3 == 0 {
			who = i / 3 % users
		}
		day := begun - (begun-end)*i/max(1, count-1)
		if i > 0 { // some days have more submissions than others
			day = max(end, day-f.random.IntN(12))
		}
		minute := 7*60 + f.random.IntN(11*60)
		f.planSubmission(ctx, form, who, f.today.AddDate(0, 0, -day).Add(time.Duration(minute)*time.Minute))
	}
}

// planSubmission plans one submission, and whatever happens to it later.
func (f *filler) planSubmission(ctx context.Context, form *forms.Form, who int, at time.Time) {
	var id int64
	answers := f.answers(form, who, at)
	f.count++
	f.add(write{at, who, form, func(a *service.Access) error {
		sub, _, err := a.Create(ctx, answers, "")
		id = sub.ID
		return err
	}})
	merge := func(at time.Time, who int, answers []forms.Answer) {
		f.add(write{at, who, form, func(a *service.Access) error {
			_, err := a.Merge(ctx, id, answers, nil, func(int) error { return nil })
			return err
		}})
	}
	if !form.Anonymous && f.random.IntN(3) == 0 { // some people think again
		texts := slices.DeleteFunc(f.answers(form, who, at), func(answer forms.Answer) bool {
			field := form.Field(answer.FieldID)
			return len(field.Options) > 0 || field.Validation == forms.DateOnly
		})
		if n := len(texts); n > 0 {
			i := f.random.IntN(n)
			merge(at.Add(time.Duration(20+f.random.IntN(200))*time.Minute), who, texts[i:i+1])
		}
	}
	for _, q := range form.Fields {
		if !q.ByEditors || len(q.Options) == 0 {
			continue
		}
		decider := 2 * f.random.IntN(2) // alice or carol, but not for themselves
		if decider == who {
			decider = 2 - who
		}
		decisions := slices.DeleteFunc(slices.Clone(q.Options), func(value string) bool { return value == q.Default })
		last := decisions[len(decisions)-1]
		at := at.AddDate(0, 0, 1+f.random.IntN(8))
		refused := f.random.IntN(4) == 0
		if refused {
			merge(at, decider, []forms.Answer{{FieldID: q.ID, Value: last}})
			at = at.AddDate(0, 0, 1)
		}
		if !refused || f.random.IntN(3) == 0 {
			merge(at, decider, []forms.Answer{{FieldID: q.ID, Value: decisions[0]}})
		}
	}
}

// add leaves out what would come today, or later.
func (f *filler) add(w write) {
	if w.at.Before(f.today) {
		f.writes = append(f.writes, w)
	}
}

// answers leave out some optional questions. The service drops answers to hidden ones.
func (f *filler) answers(form *forms.Form, who int, at time.Time) (list []forms.Answer) {
	languages := form.Languages()
	lang := languages[f.random.IntN(len(languages))].Lang
	day := at.AddDate(0, 0, 3+f.random.IntN(40))
	for _, q := range form.Fields {
		var value string
		switch {
		case q.Type == forms.File || q.ByEditors || !q.Required && f.random.IntN(4) == 0:
			continue
		case q.Type == forms.Checkbox:
			value = f.options(q)
		case len(q.Options) > 0:
			value = f.option(q)
		case q.Validation == forms.DateOnly:
			value = day.Format(time.DateOnly)
			day = day.AddDate(0, 0, f.random.IntN(12)) // a second date is the end of something
		case q.Validation == forms.Numeric:
			value = f.number(q)
		default:
			value = f.text(q, who, lang)
		}
		list = append(list, forms.Answer{FieldID: q.ID, Value: value})
	}
	return list
}

// option prefers high numbers, and the first of other options. So bars differ in length.
func (f *filler) option(q *forms.Field) string {
	n := len(q.Options)
	i := max(f.random.IntN(n), f.random.IntN(n))
	if _, err := strconv.Atoi(q.Options[0]); err != nil {
		i = n - 1 - i
	}
	return q.Options[i]
}

// options are at least one.
func (f *filler) options(q *forms.Field) string {
	chosen := slices.DeleteFunc(slices.Clone(q.Options), func(string) bool { return f.random.IntN(2) == 0 })
	if len(chosen) == 0 {
		return f.option(q)
	}
	return strings.Join(chosen, forms.Separator)
}

// number prefers low ones.
func (f *filler) number(q *forms.Field) string {
	n := 8
	if q.Max != nil {
		bound, _ := strconv.Atoi(q.Max.Value) // not if it is the answer to another field
		n = max(1, min(bound, 40))
	}
	return strconv.Itoa(1 + min(f.random.IntN(n), f.random.IntN(n)))
}

func (f *filler) text(q *forms.Field, who int, lang string) string {
	list := texts["comment"]
	for _, id := range []string{q.ID, q.ID + "." + lang} {
		if found := texts[id]; found != nil {
			list = found
		}
	}
	switch {
	case q.Validation == forms.Email:
		return identity(who).Name + "@example.org"
	case q.ID == "name":
		return people[who]
	default:
		return list[f.random.IntN(len(list))]
	}
}

// identity is one of the people, with the groups of examples/groups.
func identity(who int) auth.Identity {
	name, _, _ := strings.Cut(strings.ToLower(people[who]), " ")
	return auth.Identity{Name: name, Groups: map[string][]string{"carol": {"hr"}}[name]}
}
