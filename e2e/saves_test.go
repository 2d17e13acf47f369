package e2e

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// surfer is somebody with a browser that runs no scripts.
type surfer struct {
	user, cookie, url, path string
	values                  url.Values // what the last page sends
	label                   string     // that an author has sent last
}

func (p *process) surfer(t *testing.T, user, path string) *surfer {
	t.Helper()
	s := &surfer{user: user, cookie: p.signIn(t, user), url: p.url, path: path}
	must(t, testkit.ErrorOf(s.ask("GET", path)))
	return s
}

var hiddenControl = regexp.MustCompile(`type="hidden"[^>]* name="(_\w+)"[^>]* value="([^"]*)"`)

// ask opens a page, or sends the last one to a path, with other values in pairs.
func (s *surfer) ask(method, path string, pairs ...string) (response, error) {
	for i := 0; i < len(pairs); i += 2 {
		s.values.Set(pairs[i], pairs[i+1])
	}
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(multipartOf(s.values)))
	if err != nil {
		return response{}, err
	}
	req.Header = http.Header{
		"Cookie": {s.cookie}, "Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"multipart/form-data; boundary=b"},
	}
	r, err := do(unredirected, req)
	if err == nil && r.status != http.StatusSeeOther {
		s.values = url.Values{}
		for _, found := range hiddenControl.FindAllStringSubmatch(r.body, -1) {
			s.values.Set(found[1], html.UnescapeString(found[2]))
		}
	}
	return r, err
}

// people adds so many users to a site.
func (s site) people(t *testing.T, count int) (names []string) {
	t.Helper()
	users, err := os.ReadFile(s.users)
	must(t, err)
	_, hash, _ := strings.Cut(strings.TrimSpace(string(users)), "\nben")
	for i := range count {
		names = append(names, fmt.Sprint("p", i))
		users = append(users, names[i]+hash+"\n"...)
	}
	testkit.WriteFile(t, s.users, string(users))
	return names
}

func labelled(id, label string) string {
	return fmt.Sprintf("form: %s # mine\nfields:\n  - {id: text, type: textfield, label: %s}\n", id, label)
}

// twoForms is a page with forms a and b, which have these labels.
func twoForms(labels ...string) string {
	return "---\nedit: [ann, ben, p0, p1, p2, p3, p4, p5]\n---\nBefore\n\n```yaml form\n" + labelled("a", labels[0]) + "```\nBetween\n```yaml form\n" + labelled("b", labels[1]) + "```\nAfter\n"
}

var formIDs = []string{"a", "b"} // of twoForms

const authorPath = "/author?page=1&form="

// save puts a label into the form. It returns false where the page says why not. Either page has the text.
func (s *surfer) save(label, why string) (saved bool, err error) {
	s.label = label
	button := map[bool]string{false: "save", true: "overwrite"}[s.values.Has("_over")]
	text := labelled(s.path[len(s.path)-1:], label)
	r, err := s.ask("POST", s.path, "_tab", "text", "_do", button, "text", text)
	if err == nil && r.status == http.StatusSeeOther {
		saved, why = true, ""
		r, err = s.ask("GET", s.path)
	}
	if err == nil && (r.status != http.StatusOK || !strings.Contains(r.body, why) || !strings.Contains(r.body, "\n"+text+"</textarea>")) {
		err = fmt.Errorf("status %d without the text, or without %q: %s", r.status, why, r.body)
	}
	return saved, err
}

// Authors at three servers save two forms of one page at the same moment. In each round one save of each form wins.
// The other authors see that, keep their text, and put it in its place in the next round.
func TestAuthorsSaveAtTheSameMoment(t *testing.T) {
	t.Parallel()
	s := newSharedSite(t)
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), twoForms("old", "old"))
	names := s.people(t, 6)
	servers := startReplicas(t, s, 3, "--authors", "*")
	var authors []*surfer
	for i, name := range names {
		authors = append(authors, servers[i%3].surfer(t, name, authorPath+formIDs[i%2]))
	}
	rounds, winners := testkit.Rounds(5, 50), []string{"", ""}
	for round := range rounds {
		wins := make([]bool, len(authors))
		var all sync.WaitGroup
		for i, a := range authors {
			all.Go(func() {
				var err error
				if wins[i], err = a.save(fmt.Sprint(a.user, "-", round), "Somebody else has changed this form"); err != nil {
					t.Errorf("%s in round %d: %v", a.user, round, err)
				}
			})
		}
		all.Wait()
		won := []int{0, 0}
		for i, a := range authors {
			if wins[i] {
				won[i%2]++
				winners[i%2] = a.label
			}
		}
		testkit.Diff(t, "saves that won", won, []int{1, 1})
		testkit.Same(t, "page", s.page(t), twoForms(winners...))
	}
	mustHold(t, s.pages, ".1.md.bak", "1.md")
	logged := 0
	for _, p := range servers {
		logged += strings.Count(p.output(), `"msg":"form saved"`)
		for i, label := range winners {
			testkit.Eventually(t, "the winner is served", func() bool {
				return strings.Contains(p.must(t, 200, "GET", "/"+formIDs[i], "").body, `"`+label+`"`)
			})
		}
	}
	testkit.Same(t, "saves in the logs", logged, 2*rounds)
}

func (s site) page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.pages, "1.md"))
	must(t, err)
	return string(text)
}

// awaitChange returns as soon as a file is another one.
func awaitChange(t *testing.T, path string) {
	t.Helper()
	old, err := os.Stat(path)
	must(t, err)
	for began, now := time.Now(), old; now.ModTime().Equal(old.ModTime()); {
		now, err = os.Stat(path)
		must(t, err)
		if time.Since(began) > testkit.WaitLimit {
			t.Fatalf("%s has not changed", path)
		}
	}
}

// When the server is killed while forms are saved, the page has each form as it was saved last, or as it was being saved.
// The next start serves it, and authors go on.
func TestKilledWhileFormsAreSaved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), twoForms("old", "old"))
	p := newReplica(t, s, "--authors", "*", "--access-log=false")
	p.start(t)
	authors := []*surfer{p.surfer(t, "ann", authorPath+"a"), p.surfer(t, "ben", authorPath+"b")}
	saved := []string{"old", "old"}
	for round := range testkit.Rounds(6, 40) {
		var all sync.WaitGroup
		var acks atomic.Int64
		for i, a := range authors {
			all.Go(func() {
				won, err := true, error(nil)
				for n := 0; won && err == nil; n++ {
					if won, err = a.save(fmt.Sprint(a.user, "-", round, "-", n), "none"); won {
						saved[i] = a.label
						acks.Add(1)
					}
				}
				t.Logf("%s ends with %v", a.user, err)
			})
		}
		testkit.Eventually(t, "forms are saved", func() bool { return acks.Load() >= 4 })
		awaitChange(t, filepath.Join(s.pages, []string{".1.md.bak", "1.md"}[round%2])) // before and after the rename
		p.kill()
		all.Wait()
		var possible []string
		for _, a := range []string{saved[0], authors[0].label} {
			for _, b := range []string{saved[1], authors[1].label} {
				possible = append(possible, twoForms(a, b))
			}
		}
		if !slices.Contains(possible, s.page(t)) {
			t.Fatalf("the page is %s, and none of %q", s.page(t), possible)
		}
		p.start(t)
		for i, a := range authors {
			must(t, testkit.ErrorOf(a.ask("GET", a.path)))
			if won, err := a.save(fmt.Sprint("again-", round), "none"); !won || err != nil {
				t.Fatalf("a save after the start: %v", err)
			}
			saved[i] = a.label
		}
		testkit.Same(t, "page", s.page(t), twoForms(saved...))
	}
	for _, name := range filesIn(t, s.pages) {
		if !regexp.MustCompile(`^(1\.md|\.1\.md\.bak|\.1\.md\.\d+|\.\.1\.md\.bak\.\d+)$`).MatchString(name) {
			t.Errorf("%s is left, of which docs/authors.md tells nothing", name)
		}
	}
	t.Log(filesIn(t, s.pages))
}

// While fifty people fill in a form, its author closes it. Nobody's answers are lost: all are sent when it is open again.
func TestClosedWhilePeopleFillIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), twoForms("one", "two"))
	names := s.people(t, 50)
	p := start(t, s, "--authors", "ann")
	const path = "/page/1/form/a"
	author := p.surfer(t, "ann", path)
	var people []*surfer
	for _, name := range names {
		people = append(people, p.surfer(t, name, path))
	}
	press := func(button string) {
		t.Helper()
		must(t, testkit.ErrorOf(author.ask("GET", path)))
		r, err := author.ask("POST", "/", "_do", button)
		must(t, err)
		testkit.Same(t, button, r.status, http.StatusSeeOther)
	}
	send := func(status int, texts ...string) {
		t.Helper()
		var all sync.WaitGroup
		for _, a := range people {
			all.Go(func() {
				key := a.values.Get("_key")
				r, err := a.ask("POST", path, "text", "by "+a.user)
				if err != nil || r.status != status || a.values.Get("_key") != key || key == "" {
					t.Errorf("%s: status %d, want %d: %v: %s", a.user, r.status, status, err, r.body)
				}
				for _, text := range append(texts, `value="by `+a.user+`"`) {
					if status != http.StatusSeeOther && !strings.Contains(r.body, text) {
						t.Errorf("%s: no %q in %s", a.user, text, r.body)
					}
				}
			})
		}
		all.Wait()
	}
	press("close")
	send(http.StatusUnprocessableEntity, "This form has closed")
	testkit.Contains(t, "the API", p.must(t, 400, "POST", "/a/submission", note("x")).body, "this form has closed")
	testkit.Same(t, "submissions of a closed form", len(p.submissions(t, "a")), 0)
	press("reopen")
	for range 2 { // the second time, nobody knows of the first
		send(http.StatusSeeOther)
	}
	var got, want []string
	for _, text := range p.submissions(t, "a") {
		got = append(got, text)
	}
	for _, name := range names {
		want = append(want, "by "+name)
	}
	slices.Sort(got)
	slices.Sort(want)
	testkit.Diff(t, "answers", got, want)
	testkit.Same(t, "page", s.page(t), twoForms("one", "two"))
}
