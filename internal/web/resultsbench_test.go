package web

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
)

const wideForm = `form: feedback
fields:
  - {id: name, type: textfield, label: Name, required: true}
  - {id: state, type: status, label: State, options: [New, Open, Waiting, Done]}
  - {id: score, type: textfield, label: Score, validate: numeric}
  - {id: topics, type: checkbox, label: Topics, options: [Food, Room, Staff, Price]}
  - {id: day, type: date, label: Day}
  - {id: team, type: dropdown, label: Team, options: [North, South, East, West]}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: comment, type: textbox, label: Comment}
`

// fillSite stores made-up submissions.
func fillSite(t testing.TB, e *siteEnv, count int) {
	t.Helper()
	states, topics := []string{"New", "Open", "Waiting", "Done"}, []string{"Food", "Room;Staff", "Price;Food;Room", ""}
	teams := []string{"North", "South", "East", "West", "North"}
	for i := range count {
		entries := []forms.Entry{
			{FieldID: "name", Value: fmt.Sprintf("Person %d", i)},
			{FieldID: "state", Value: states[i*i%7%4]},
			{FieldID: "score", Value: fmt.Sprint(10 + i*7%13 + i%5)},
			{FieldID: "topics", Value: topics[i%4]},
			{FieldID: "day", Value: fmt.Sprintf("2025-11-%02d", 1+i%28)},
			{FieldID: "team", Value: teams[i%5]},
			{FieldID: "mail", Value: fmt.Sprintf("person%d@example.org", i)},
		}
		if i%3 == 0 {
			entries = append(entries, forms.Entry{FieldID: "comment", Value: fmt.Sprintf("The room was cold & the soup “warm”; number %d of many things that could be said about the day, all in all.\nThank you!", i)})
		}
		_, err := e.store.Create(t.Context(), store.New{
			PageID: 1, FormID: "feedback", Username: []string{"alice", "bob", "carol"}[i%3], Created: e.clock.Now(), Entries: entries,
		})
		if err != nil {
			t.Fatal(err)
		}
		e.clock.advance(1000 * 1000 * 1000 * 3600 * 5)
	}
}

// sink is a ResponseWriter that keeps nothing.
type sink struct {
	header http.Header
	bytes  int64
	status int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return len(p), nil
}

func BenchmarkResults(b *testing.B) {
	e := newSite(b, enginetest.SQLite, page1("", wideForm))
	fillSite(b, e, 2000)
	for _, at := range []struct{ name, path string }{
		{"page", "/page/1/form/feedback/results"},
		{"filter", "/page/1/form/feedback/results?" + url.Values{"filter[state]": {"Open"}, "q": {"person"}}.Encode()},
		{"api", "/rest/page/1/form/feedback/result?limit=50&order=desc"},
	} {
		b.Run(at.name, func(b *testing.B) {
			req := e.newRequest(b, webRequest{user: "alice", method: http.MethodGet, path: at.path})
			req.SetBasicAuth("alice", "alice-secret")
			b.ReportAllocs()
			for b.Loop() {
				w := &sink{header: http.Header{}}
				e.handler.ServeHTTP(w, req)
				if w.status != 0 && w.status != http.StatusOK {
					b.Fatalf("status %d", w.status)
				}
				b.SetBytes(w.bytes)
			}
		})
	}
}
