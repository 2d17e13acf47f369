package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// stores puts a submission of any size into the store, from field ids and values
// in turn.
func (w *world) stores(username string, idsAndValues ...string) int64 {
	w.t.Helper()
	n := store.New{PageID: 1, FormID: "named", Username: username, Created: w.clock}
	for i := 0; i < len(idsAndValues); i += 2 {
		n.Entries = append(n.Entries, forms.Entry{FieldID: idsAndValues[i], Value: idsAndValues[i+1]})
	}
	sub, err := w.store.Create(w.t.Context(), n)
	testkit.Must(w.t, err)
	return sub.ID
}

// listsPage returns the ids of a page, and the page.
func (w *world) listsPage(a *Access, opts query.List) (ids []int64, page query.Page) {
	w.t.Helper()
	ids, page, err := read(w.t.Context(), a, opts, nil)
	testkit.Must(w.t, err)
	return ids, page
}

// read reads a list.
func read(ctx context.Context, a *Access, opts query.List, check func() error) (ids []int64, page query.Page, err error) {
	page, rows, err := a.Submissions(ctx, check).List(opts)
	if err != nil {
		return nil, page, err
	}
	err = testkit.Each(rows, func(s forms.Submission) error {
		ids = append(ids, s.ID)
		return nil
	})
	return ids, page, err
}

// readError returns the error of reading a list.
func readError(ctx context.Context, a *Access, opts query.List, check func() error) error {
	_, _, err := read(ctx, a, opts, check)
	return err
}

// listing reads options of a list, such as "text=a search=b sort=-n limit=2 count". Other names than
// those of options are fields that equal a value.
func listing(text string) (o query.List) {
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)
		switch name {
		case "limit":
			o.Limit = number
		case "after":
			o.After = int64(number)
		case "username":
			o.Username = &value
		case "search":
			o.Filter.Search = value
		case "sort":
			o.Sort = &query.Sort{ID: strings.TrimPrefix(value, "-"), Descending: strings.HasPrefix(value, "-")}
		case "cursor":
			o.Cursor = value
		case "count":
			o.Count = true
		case "descending":
			o.Descending = true
		default:
			o.Filter.Rules = append(o.Filter.Rules, forms.Rule{FieldID: name, Operator: forms.Equals, Value: value})
		}
	}
	return o
}

// A list has the same rows whether its options name Begin or not.
func TestLists(t *testing.T) {
	w := newWorld(t)
	w.stores("owner", "text", "a", "n", "3")
	w.stores("viewer", "text", "b", "n", "10")
	w.stores("owner", "text", "a", "gone", "x")
	w.stores("viewer", "text", "A", "n", "-1")
	w.stores("owner", "text", "a", "n", "10")
	// Who asks, the options, the ids, and Total and After of the page. The field gone has left the page.
	for _, row := range testkit.Rows(`
		editor | | 1 2 3 4 5 | 0 0
		editor | username=owner | 1 3 5 | 0 0
		editor | username=Owner | | 0 0
		editor | descending limit=2 | 5 4 | 0 4
		editor | after=2 limit=2 | 3 4 | 0 4
		editor | after=4 descending limit=2 | 3 2 | 0 2
		viewer | | 2 4 | 0 0
		viewer | username=viewer | 2 4 | 0 0
		viewer | username=owner | | 0 0
		viewer | username= | | 0 0
		viewer | limit=1 descending | 4 | 0 4
		viewer | after=2 | 4 | 0 0
		editor | text=a count | 1 3 5 | 3 0
		editor | text=a limit=2 count | 1 3 | 3 3
		editor | text=a limit=2 after=3 | 5 | 0 0
		editor | text=a limit=3 | 1 3 5 | 0 0
		editor | text=a limit=2 descending | 5 3 | 0 3
		editor | n=10 username=owner | 5 | 0 0
		editor | text=a n=10 | 5 | 0 0
		editor | n=10 search=B | 2 | 0 0
		editor | gone=x | 3 | 0 0
		editor | search=a count | 1 3 4 5 | 4 0
		editor | limit=4 count | 1 2 3 4 | 5 4
		editor | count limit=` + strconv.Itoa(query.MaxPage+1) + ` | 1 2 3 4 5 | 5 0
		viewer | search=a count | 4 | 1 0
		viewer | count limit=1 | 2 | 2 2
		viewer | _username=owner count | | 0 0
		editor | sort=n limit=10 count | 4 1 2 5 3 | 5 0
		editor | sort=-n text=a limit=3 | 5 1 3 | 0 0
		editor | sort=gone limit=5 | 3 1 2 4 5 | 0 0
		viewer | sort=n limit=10 count | 4 2 | 2 0
	`) {
		a, opts := w.as(known[row[0]], "named"), listing(row[1])
		ids, page := w.listsPage(a, opts)
		testkit.Diff(t, row, w.lists(a, opts), ids)
		if !opts.Count {
			page.Total = 0
		}
		got := fmt.Sprintf("%d | %d %d%s", ids, page.Total, page.After, page.Cursor)
		if want := fmt.Sprintf("[%s] | %s", row[2], row[3]); got != want || page.Previous != nil {
			t.Errorf("%s: %s, want %s", row[1], got, want)
		}
	}
}

func TestRefusedLists(t *testing.T) {
	w := newWorld(t)
	w.stores("owner", "text", "a", "gone", "x")
	for _, row := range testkit.Rows(fmt.Sprintf(`
		editor | nowhere=a | filter[nowhere]: the form has no such field
		editor | _other=a | filter[_other]
		editor | gone=a sort=nowhere limit=1 | sort=nowhere: the form has no such field
		editor | sort=text | sort needs a limit
		editor | sort=text limit=%d | sort needs a limit
		editor | cursor=x limit=1 | cursor needs sort
		editor | search=%s | at most
		viewer | gone=x | filter[gone]
	`, query.MaxPage+1, strings.Repeat("x", query.MaxFilterBytes+1))) { // gone is in what others sent
		_, _, err := w.as(known[row[0]], "named").Submissions(t.Context(), nil).List(listing(row[1]))
		var invalid *forms.Invalid
		if !errors.As(err, &invalid) || len(invalid.Errors) != 1 || !strings.Contains(invalid.Errors[0].String(), row[2]) {
			t.Errorf("got %s, want %s", outcome(err), row[2])
		}
	}
}

func TestCursors(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.stores("owner", "text", fmt.Sprintf("secret %d", i))
	}
	opts := query.List{Sort: &query.Sort{ID: "text"}, Limit: 2, Filter: query.Filter{Rules: []forms.Rule{
		{FieldID: "text", Operator: forms.Contains, Value: "s"}, {FieldID: "text", Operator: forms.NotEmpty},
	}}}
	ids, page := w.listsPage(w.as(editor, "named"), opts)
	if !slices.Equal(ids, []int64{1, 2}) || page.Cursor == "" || strings.Contains(page.Cursor, "secret") {
		t.Fatalf("%v, %+v", ids, page)
	}
	cursor := page.Cursor
	w.Service = New(w.opts) // a replica
	with := func(change func(*query.List)) query.List {
		o := opts
		o.Cursor = cursor
		o.Filter.Rules = slices.Clone(opts.Filter.Rules)
		change(&o)
		return o
	}
	for what, o := range map[string]query.List{
		"the same":                 with(func(*query.List) {}),
		"another limit":            with(func(o *query.List) { o.Limit = 7 }),
		"filters in another order": with(func(o *query.List) { slices.Reverse(o.Filter.Rules) }),
		"with a count":             with(func(o *query.List) { o.Count = true }),
	} {
		if ids, page := w.listsPage(w.as(editor, "named"), o); !slices.Equal(ids, []int64{3, 4}) || page.Cursor != "" {
			t.Errorf("%s: %v, %+v", what, ids, page)
		}
	}
	other := "owner"
	refuses := func(what string, who auth.Identity, form string, o query.List) {
		t.Helper()
		_, _, err := w.as(who, form).Submissions(t.Context(), nil).List(o)
		testkit.Contains(t, what, outcome(err), "cursor is not of this list")
	}
	for what, o := range map[string]query.List{
		"fewer filters":     with(func(o *query.List) { o.Filter.Rules = o.Filter.Rules[1:] }),
		"another value":     with(func(o *query.List) { o.Filter.Rules[0].Value = "e" }),
		"a search":          with(func(o *query.List) { o.Filter.Search = "s" }),
		"another order":     with(func(o *query.List) { o.Sort = &query.Sort{ID: "text", Descending: true} }),
		"another field":     with(func(o *query.List) { o.Sort = &query.Sort{ID: "n"} }),
		"a user":            with(func(o *query.List) { o.Username = &other }),
		"altered":           with(func(o *query.List) { o.Cursor = "A" + cursor[1:] + "A" }),
		"the first changed": with(func(o *query.List) { o.Cursor = string(cursor[0]^1) + cursor[1:] }),
		"cut":               with(func(o *query.List) { o.Cursor = cursor[:len(cursor)-4] }),
		"too long":          with(func(o *query.List) { o.Cursor = strings.Repeat(cursor, 100) }),
		"made up":           with(func(o *query.List) { o.Cursor = "AAAA" }),
		"not base64":        with(func(o *query.List) { o.Cursor = "ä" }),
	} {
		refuses(what, editor, "named", o)
	}
	// They see fewer, and could compare theirs with the rest.
	refuses("as owner", owner, "named", with(func(*query.List) {}))
	refuses("as viewer", viewer, "named", with(func(*query.List) {}))
	own := opts
	own.Limit = 1
	_, page = w.listsPage(w.as(owner, "named"), own)
	own.Cursor = page.Cursor
	if ids, _ := w.listsPage(w.as(owner, "named"), own); !slices.Equal(ids, []int64{2}) {
		t.Errorf("the second page of one's own: %v", ids)
	}
	refuses("a cursor of somebody else's list", viewer, "named", own)
	refuses("another form", editor, "named-once", with(func(*query.List) {}))
	w.opts.AnonymousKey = []byte("another key")
	w.Service = New(w.opts)
	refuses("a server with another key", editor, "named", with(func(*query.List) {}))
}

// walk reads all pages of a list, and calls between after each.
func (w *world) walk(a *Access, opts query.List, between func()) (ids []int64) {
	w.t.Helper()
	for {
		got, page := w.listsPage(a, opts)
		ids = append(ids, got...)
		if page.After == 0 && page.Cursor == "" {
			return ids
		}
		opts.After, opts.Cursor = page.After, page.Cursor
		between()
	}
}

// Rows that are there throughout a walk are seen exactly once while others come
// and go: in small pages and in large ones, filtered and not, by id and sorted.
func TestWalksWhileOthersWrite(t *testing.T) { enginetest.Each(t, testWalksWhileOthersWrite) }

func testWalksWhileOthersWrite(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	large := strings.Repeat("x", 25_000)
	var standing []int64
	var passing []int64
	for i := range 60 {
		value := fmt.Sprint(i * 37 % 60)
		if i%3 == 2 {
			passing = append(passing, w.stores("owner", "text", "passing "+value+large))
		} else {
			standing = append(standing, w.stores("owner", "text", "standing "+value, "n", value, "note", large))
		}
	}
	var stop sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	changed := make(chan struct{}, 1)
	stop.Go(func() { w.churn(ctx, large, passing, changed) })
	defer stop.Wait()
	defer cancel()
	search := query.Filter{Search: "ING"}
	for what, opts := range map[string]query.List{
		"by id":              {Limit: 7},
		"by id, large pages": {Limit: 25},
		"from the highest":   {Limit: 25, Descending: true},
		"filtered":           {Limit: 25, Filter: search},
		"sorted":             {Limit: 7, Sort: &query.Sort{ID: "n"}},
		"sorted by text":     {Limit: 25, Sort: &query.Sort{ID: "text", Descending: true}, Filter: search},
	} {
		seen := map[int64]int{}
		for _, id := range w.walk(w.as(editor, "named"), opts, func() { <-changed }) {
			seen[id]++
		}
		for _, id := range standing {
			if seen[id] != 1 {
				t.Errorf("%s: submission %d was seen %d times", what, id, seen[id])
			}
		}
		for id, n := range seen {
			if n > 1 {
				t.Errorf("%s: submission %d was seen %d times", what, id, n)
			}
		}
	}
}

// churn deletes submissions and stores others, until the context ends.
func (w *world) churn(ctx context.Context, large string, ids []int64, changed chan<- struct{}) {
	for i := 0; ctx.Err() == nil; i++ {
		at := i % len(ids)
		err := w.store.Delete(ctx, store.Key{PageID: 1, FormID: "named", ID: ids[at]}, nil)
		var sub forms.Submission
		if err == nil {
			sub, err = w.store.Create(ctx, store.New{
				PageID: 1, FormID: "named", Username: "viewer", Created: w.clock,
				Entries: []forms.Entry{{FieldID: "text", Value: "coming " + fmt.Sprint(i%50) + large}},
			})
		}
		if err != nil {
			if ctx.Err() == nil {
				w.t.Error(err)
			}
			return
		}
		ids[at] = sub.ID
		select {
		case changed <- struct{}{}:
		case <-ctx.Done():
		}
	}
}

// between is a store that calls do once, when a scan has come to an end.
type between struct {
	store.Store
	once sync.Once
	do   func()
}

func (s *between) Scan(ctx context.Context, q store.Query) query.Rows {
	return func(yield func(forms.Submission, error) bool) {
		s.Store.Scan(ctx, q)(yield)
		s.once.Do(s.do)
	}
}

// What is deleted after the ids of a page were read is left out, and the page
// ends where the next one begins.
func TestPageEndsWhereTheNextBegins(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		w.stores("owner", "text", "x")
	}
	w.opts.Store = &between{Store: w.store, do: func() {
		w.wants("delete", w.as(editor, "named").Delete(t.Context(), 4, nil), "ok")
	}}
	ids, page := w.listsPage(w.as(editor, "named"), query.List{Limit: 5})
	if !slices.Equal(ids, []int64{1, 2, 3, 5}) || page.After != 5 {
		t.Errorf("%v, %+v", ids, page)
	}
}

// A sorted page leaves out what no longer belongs there when it is sent.
func TestSortedPageIsReadAgain(t *testing.T) {
	w := newWorld(t)
	for _, n := range []string{"3", "2", "1"} {
		w.stores("owner", "text", "a", "n", n)
	}
	w.opts.Store = &between{Store: w.store, do: func() {
		w.wants("delete", w.as(editor, "named").Delete(t.Context(), 2, nil), "ok")
		w.wants("change", w.merges(w.as(editor, "named"), 3, "text", "b"), "ok")
	}}
	ids, _ := w.listsPage(w.as(editor, "named"), listing("sort=n limit=5 text=a"))
	if !slices.Equal(ids, []int64{1}) {
		t.Errorf("%v", ids)
	}
}

// However few submissions match, a long pass asks now and then whether it may
// go on.
func TestLongPassesAreChecked(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		w.stores("owner", "text", strings.Repeat("x", checkBytes/2))
	}
	a := w.as(editor, "named")
	revoked := errors.New("revoked")
	revoke := func() error { return revoked }
	for what, opts := range map[string]query.List{
		"filter": listing("text=none"),
		"search": listing("search=none"),
		"count":  listing("count limit=1"),
		"sort":   listing("sort=text limit=1"),
		"ids":    listing("nowhere=x"),
	} {
		asked := 0
		err := readError(t.Context(), a, opts, func() error { asked++; return nil })
		if asked < 3 || what != "ids" && err != nil {
			t.Errorf("%s: asked %d times, %v", what, asked, err)
		}
		testkit.ErrorIs(t, what, readError(t.Context(), a, opts, revoke), revoked)
	}
	testkit.ErrorIs(t, "summary", testkit.ErrorOf(a.Submissions(t.Context(), revoke).Summary(query.List{})), revoked)
	ctx, cancel := context.WithCancel(t.Context())
	err := readError(ctx, a, listing("text=none"), func() error { cancel(); return nil })
	testkit.ErrorIs(t, "a client that is gone", err, context.Canceled)
}

func TestSummaryIsOfWhatTheCallerSees(t *testing.T) {
	w := newWorld(t)
	w.stores("owner", "text", "a", "n", "3")
	w.stores("viewer", "text", "b", "n", "10")
	w.stores("owner", "text", "a")
	w.submits(owner, "anonymous", "x")
	for _, row := range testkit.Rows(`
		editor | named | | 3 3 2
		editor | named | text=a | 2 2 1
		editor | named | search=B | 1 1 1
		editor | named | username=owner | 2 2 1
		viewer | named | | 1 1 1
		viewer | named | username=owner | 0 0 0
		editor | anonymous | _username=owner | 0 0 0
		owner | anonymous | | 0 0 0
		editor | anonymous | _username= | 1 1 0
	`) { // submissions, and answers by rank
		got, err := w.as(known[row[0]], row[1]).Submissions(t.Context(), nil).Summary(listing(row[2]))
		if err != nil {
			t.Errorf("%s: %v", row, err)
			continue
		}
		testkit.Same(t, row, fmt.Sprint(got.Count, got.Fields[0].Answered, got.Fields[1].Answered), row[3])
	}
	_, err := w.as(viewer, "named").Submissions(t.Context(), nil).Summary(listing("nowhere=x"))
	testkit.Contains(t, "got", outcome(err), "filter[nowhere]")
}
