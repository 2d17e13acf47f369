package wiki

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

// Whatever is not the answer that was asked for is an *UnavailableError. It
// repeats nothing of the answer.
func TestMediaWikiOddAnswers(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, answer := range map[string]http.HandlerFunc{
		"HTML":       says("<b>Fatal error</b>: secret-of-the-wiki"),
		"half":       says(fakeText[:len(fakeText)/2]),
		"nothing":    says(""),
		"null":       says("null"),
		"empty":      says("{}"),
		"list":       says("[]"),
		"other type": says(`{"batchcomplete":true,"query":{"pages":"secret-of-the-wiki"}}`),
		"code":       says(`{"errors":[{"code":"internal_api_error_DBQueryError"}]}`),
		"bad code":   says(`{"errors":[{"code":"secret-of-the-wiki <b>"}]}`),
		"no code":    says(`{"errors":[{}]}`),
		"old error":  says(`{"error":{"code":"readonly","info":"secret-of-the-wiki"}}`),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/secret-of-the-wiki", http.StatusFound)
		},
		"redirect with an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/secret-of-the-wiki")
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, info(fakePage))
		},
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, info(fakePage))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"100 MB": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"secret-of-the-wiki":"`)
			for range 100 {
				if _, err := io.WriteString(w, huge); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, `"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Options{})
			ann := f.login(t)
			for _, kind := range []string{"info", "revisions", "userinfo", "siteinfo", "tokens"} {
				f.answer(kind, answer)
			}
			checkOdd(t, "Pages", second(f.Pages(t.Context(), ann, 7)))
			checkOdd(t, "Text", second(f.Text(t.Context(), ann, 7)))
			checkOdd(t, "All", f.All(t.Context(), ann, func(Page, Text, int) error { return errors.New("visited") }))
			checkOdd(t, "Ready", f.Ready(t.Context()))
			checkOdd(t, "Login", second(f.Login(t.Context(), annsPassword, "")))
			checkOdd(t, "Resume", second(f.Resume(t.Context(), []*http.Cookie{{Name: "w_session", Value: "1"}}, "", false)))
			if ann.Ended() {
				t.Error("the session has ended")
			}
		})
	}
}

func TestMediaWikiRetryAfter(t *testing.T) {
	f := newFake(t, Options{})
	for header, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "0": time.Second, "999999": 300 * time.Second, "soon": 0} {
		f.answer("siteinfo", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			_, _ = io.WriteString(w, `{"errors":[{"code":"maxlag"}]}`)
		})
		var unavailable *UnavailableError
		if err := f.Ready(t.Context()); !errors.As(err, &unavailable) || unavailable.RetryAfter != want || err.Error() != "ask the wiki: error maxlag" {
			t.Errorf("Retry-After %q: %+v, want %s", header, err, want)
		}
	}
}

func TestMediaWikiPageAnswers(t *testing.T) {
	page := Page{ID: 7, Title: `A "page"`, Version: 3, Edit: true, HasText: true}
	viewed, blocked, style := page, page, page
	viewed.Edit, blocked.Blocked, style.HasText = false, true, false
	with := func(old, to string) string { return info(strings.Replace(fakePage, old, to, 1)) }
	user := func(more string) string {
		return strings.Replace(info(fakePage), `"name":"Ann"`, `"name":"Ann"`+more, 1)
	}
	f := newFake(t, Options{})
	ann := f.login(t)
	for name, tt := range map[string]struct {
		answer string
		want   map[int64]Page
	}{
		"page":          {info(fakePage), map[int64]Page{7: page}},
		"not there":     {info(`{"pageid":7,"missing":true}`), nil},
		"not readable":  {with(`"read":true`, `"read":false`), nil},
		"no rights":     {with(`"actions":{"read":true,"edit":true}`, `"actions":{}`), nil},
		"read only":     {with(`"edit":true`, `"edit":false`), map[int64]Page{7: viewed}},
		"style sheet":   {with(`"wikitext"`, `"css"`), map[int64]Page{7: style}},
		"blocked":       {user(`,"blockid":3,"blockpartial":false`), map[int64]Page{7: blocked}},
		"partial block": {user(`,"blockid":3,"blockpartial":true`), map[int64]Page{7: page}},
		"two blocks":    {user(`,"blockid":null,"blockpartial":false`), map[int64]Page{7: blocked}},
		"other page":    {with(`"pageid":7`, `"pageid":8`), nil},
		"closed wiki":   {`{"errors":[{"code":"readapidenied"}]}`, nil},
	} {
		f.answer("info", says(tt.answer))
		got, err := f.Pages(t.Context(), ann, 7)
		if want := tt.want; err != nil || len(got) != len(want) || !cmp.Equal(got[7], want[7]) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, want)
		}
	}
	for name, answer := range map[string]string{
		"other user": strings.Replace(info(fakePage), `"Ann"`, `"Bob"`, 1),
		"no user":    `{"batchcomplete":true,"query":{"pages":[` + fakePage + `]}}`,
		"incomplete": strings.Replace(info(fakePage), `"batchcomplete":true`, `"continue":{"incontinue":"7"}`, 1),
	} {
		f.answer("info", says(answer))
		checkOdd(t, name, second(f.Pages(t.Context(), ann, 7)))
	}
	asked := f.count("info")
	if got, err := f.Pages(t.Context(), ann, 0, -1, 1<<32, 1<<62); err != nil || len(got) != 0 || f.count("info") != asked {
		t.Errorf("impossible ids: %v, %v, asked %d times", got, err, f.count("info")-asked)
	}
}

func TestMediaWikiEditAction(t *testing.T) {
	f := newFake(t, Options{EditAction: "protect"})
	f.answer("info", says(info(strings.Replace(fakePage, `"edit":true`, `"edit":true,"protect":false`, 1))))
	got, err := f.Pages(t.Context(), f.login(t), 7)
	if err != nil || got[7].Edit || f.last(t, "info").FormValue("intestactions") != "read|protect" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// MediaWiki tests no more than 50 rights in one call, and leaves out the others.
func TestMediaWikiManyPages(t *testing.T) {
	f := newFake(t, Options{})
	f.answer("info", func(w http.ResponseWriter, r *http.Request) {
		ids := strings.Split(r.FormValue("pageids"), "|")
		var pages []string
		for _, id := range ids[:min(len(ids), 25)] {
			pages = append(pages, strings.Replace(fakePage, `"pageid":7`, `"pageid":`+id, 1))
		}
		_, _ = io.WriteString(w, info(strings.Join(pages, ",")))
	})
	var ids []int64
	for id := range int64(MaxPages) {
		ids = append(ids, id+1)
	}
	if got, err := f.Pages(t.Context(), f.login(t), ids...); err != nil || len(got) != MaxPages || f.count("info") != 2 {
		t.Errorf("%d pages with %d calls, %v", len(got), f.count("info"), err)
	}
}

func TestMediaWikiTextAnswers(t *testing.T) {
	f := newFake(t, Options{})
	ann := f.login(t)
	if got, err := f.Text(t.Context(), ann, 7); err != nil || string(got.Source) != "text" || got.Version != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, answer := range map[string]string{
		"not there":    `{"batchcomplete":true,"query":{"pages":[{"pageid":7,"missing":true}]}}`,
		"hidden":       strings.Replace(fakeText, `"content":"text"`, `"texthidden":true`, 1),
		"style sheet":  strings.Replace(fakeText, `"wikitext"`, `"css"`, 1),
		"not readable": `{"errors":[{"code":"accessdenied"}]}`,
		"closed wiki":  `{"errors":[{"code":"readapidenied"}]}`,
	} {
		f.answer("revisions", says(answer))
		testkit.ErrorIs(t, name, testkit.ErrorOf(f.Text(t.Context(), ann, 7)), ErrNoText)
	}
	for name, answer := range map[string]string{
		"other page":  strings.Replace(fakeText, `"pageid":7`, `"pageid":8`, 1),
		"no revision": `{"batchcomplete":true,"query":{"pages":[{"pageid":7}]}}`,
	} {
		f.answer("revisions", says(answer))
		checkOdd(t, name, second(f.Text(t.Context(), ann, 7)))
	}
	asked := f.count("revisions")
	for _, id := range []int64{0, -1, 1 << 32} {
		if _, err := f.Text(t.Context(), ann, id); !errors.Is(err, ErrNoText) || f.count("revisions") != asked {
			t.Errorf("page %d: %v", id, err)
		}
	}
}

func TestMediaWikiReady(t *testing.T) {
	f := newFake(t, Options{})
	if err := f.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	f.answer("siteinfo", says(`{"errors":[{"code":"readapidenied"}]}`))
	testkit.ErrorIs(t, "a closed wiki", f.Ready(t.Context()), nil)
}

func TestMediaWikiAllAnswers(t *testing.T) {
	f := newFake(t, Options{})
	ann := f.login(t)
	f.answer("info", func(w http.ResponseWriter, r *http.Request) {
		style, closed := strings.Replace(fakePage, "wikitext", "css", 1), strings.Replace(fakePage, `"read":true`, `"read":false`, 1)
		next := `,"continue":{"gapcontinue":"B","continue":"x"},"query":`
		if r.FormValue("gapcontinue") == "B" {
			next = `,"query":`
		}
		_, _ = io.WriteString(w, strings.Replace(info(fakePage+","+style+","+closed), `,"query":`, next, 1))
	})
	var titles []string
	var totals []int
	visit := func(p Page, text Text, total int) error {
		titles, totals = append(titles, p.Title+": "+string(text.Source)), append(totals, total)
		return nil
	}
	testkit.Must(t, f.All(t.Context(), ann, visit))
	if !slices.Equal(titles, []string{`A "page": text`, `A "page": text`}) || !slices.Equal(totals, []int{1, 2}) {
		t.Errorf("visited %q with %v", titles, totals)
	}
	enough := errors.New("enough")
	n := 0
	if err := f.All(t.Context(), ann, func(Page, Text, int) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("after an error: %v, visited %d", err, n)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"in circles": says(strings.Replace(info(fakePage), `,"query":`, `,"continue":{"gapcontinue":"B"},"query":`, 1)),
		"without end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"batchcomplete":true,"continue":{"gapcontinue":"%d"},"query":{"userinfo":{"name":"Ann"}}}`, time.Now().UnixNano())
		},
	} {
		f.answer("info", answer)
		checkOdd(t, name, f.All(t.Context(), ann, func(Page, Text, int) error { return nil }))
	}
}
