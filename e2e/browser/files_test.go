package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
)

// TestFilesAddUp chooses files one by one, as phones' cameras give them, all with one name.
func TestFilesAddUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{ConsoleErrors: true}) // the console names the status 422 of an XMLHttpRequest
	s.edit(t, trip, "1-trip.md", "form: trip\nfields:\n", "form: trip\nfields:\n  - {id: bags, type: textfield, label: Bags}\n")
	p := s.as(t, ann, trip)
	attach := func(name, content string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		testkit.WriteFile(t, file, content)
		p.Attach("Ticket", file)
		testkit.Same(t, "it says", said(p), "Added: "+name+".")
	}
	attach("image.txt", "first")
	attach("ticket.txt", "another")
	attach("image.txt", "the second")
	p.want("image.txt (5 bytes)", "ticket.txt (7 bytes)", "image.txt (10 bytes)")
	p.Check()
	p.Click("button", "Remove ticket.txt")
	p.wantNot("ticket.txt (7 bytes)")
	testkit.Same(t, "it says", said(p), "Removed: ticket.txt.")
	testkit.Same(t, "focus", p.Focused(), `button "Remove image.txt"`)
	p.Click("button", "Send")
	p.WaitText("There is a problem")
	p.want("image.txt (5 bytes)", "image.txt (10 bytes)") // also on the page that the server has answered with
	attach("image.txt", "and the third")
	fillTrip(p)
	p.press("Send")
	p.want("Sent", "image.txt (5 bytes)", "image (2).txt (10 bytes)", "image (3).txt (13 bytes)")

	p.follow("Change")
	for i := range 7 {
		attach(fmt.Sprint(i, ".txt"), "more")
	}
	p.wantNot("at most 10 files")
	attach("8.txt", "too many")
	const most = "“Ticket” may have at most 10 files."
	p.want(most)
	p.Click("button", "Save")
	p.want(most)
	p.Check()
	p.Click("checkbox", "Remove image (2).txt")
	p.wantNot(most)
	p.press("Save")
	p.want("The changes are saved.", "8.txt (8 bytes)")
	p.wantNot("image (2).txt (10 bytes)")
	p.follow("Change")
	attach("last.txt", "x")
	p.want(most)
	p.Click("button", "Remove last.txt")
	p.wantNot(most)
	testkit.Same(t, "focus", p.Focused(), `button "Ticket"`)
}

// TestTimesOfAnAnswer has the server refuse files, and replace the page: times stay in the reader's zone.
func TestTimesOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{ConsoleErrors: true, Zone: "Asia/Tokyo"})
	s.kill()
	old, err := sqlite.Open(t.Context(), s.data, sqlite.Options{})
	testkit.Must(t, err)
	_, err = old.Create(t.Context(), store.New{PageID: 1, FormID: "trip", Username: ann, Created: time.Now().AddDate(-1, 0, 0)})
	testkit.Must(t, errors.Join(err, old.Close()))
	file := filepath.Join(s.pages, "1-trip.md")
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	testkit.WriteFile(t, file, strings.Replace(string(text), "form: trip\n", "form: trip\nkeep: 90 days\n", 1))
	s.url, s.kill = startIn(t, s.data, s.args...)
	p := s.as(t, eve, trip)
	note := regexp.MustCompile(`1 submission will be deleted after \d+ [A-Z][a-z]{2} \d{4}, \d\d:\d\d because`).FindString(p.Text())
	if note == "" {
		t.Fatal(p.Text())
	}
	ticket := filepath.Join(t.TempDir(), "ticket.txt")
	testkit.WriteFile(t, ticket, "x")
	p.Attach("Ticket", ticket)
	p.Click("button", "Send")
	p.WaitText("There is a problem")
	p.want(note)
}
