package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// TestResultsAnonymous shows neither name nor minute nor id, and has no submission lead
// to the next.
func TestResultsAnonymous(t *testing.T) {
	const poll = "/page/1/form/poll"
	e := newEnv(t, page1("edit: [carol]\n", "form: poll\nanonymous: true\nfields:\n  - {id: vote, type: radio, label: Vote, options: [a, b]}\n"),
		func(o *envOptions) { o.service.Zone = time.FixedZone("east", 13*60*60) })
	for range 3 {
		e.submit("alice", 1, "poll", "vote", "a")
	}
	page := e.get("carol", poll+"/results?view=table")
	want := [][]string{{"Vote", "Sent"}, {"a", "16 Nov 2025"}, {"a", "16 Nov 2025"}, {"a", "16 Nov 2025"}}
	testkit.Diff(t, "rows", page.tableRows("results"), want)
	page.wantNoHTML("Sent by", "alice", "12:03", "01:03", "_id")
	testkit.Same(t, "the first row leads", page.link("a"), poll+"/submission/3?view=table")
	for _, path := range []string{"", "/change", "/delete"} {
		view := e.get("carol", poll+"/submission/2"+path)
		view.wantNoHTML("12:03", "01:03", "ubmission 2", ">Previous<", ">Next<")
	}
	e.get("carol", poll+"/submission/2").want(200, "Sent without a name on 16 Nov 2025")
	e.submit("alice", 1, "poll", "vote", "b") // the last one, which is the first row
	for format, want := range map[string]string{
		".csv?": "Sent,Changed,Vote\r\n2025-11-16,,b\r\n", ".csv?columns=_id&columns=vote&": "\ufeffVote\r\nb\r\n",
		".ndjson?": `{"_id":"1","_timestamp":"1763251200000","_username":"","vote":"b"`,
	} {
		export := e.get("carol", poll+"/results"+format+"order=desc")
		export.wantHTML(want)
		export.wantNoHTML("12:03", "01:03", fmt.Sprint(began.UnixMilli()))
	}
	b := e.signedIn("carol")
	testkit.Same(t, "also for editors, it was sent: at", b.fill(poll, "vote", "a").path, poll+"/sent")
	e.Clock.Advance(time.Hour) // changed on the same day
	b.fill(poll+"/submission/4/change", "vote", "a").want(200)
	b.get(poll + "/results.csv?order=desc").wantHTML("\n2025-11-16,2025-11-16,a\r\n2025-11-16,,a\r\n")
	page = e.get("alice", poll+"/results")
	testkit.Diff(t, "rows of a viewer", rowIDs(page), []string(nil))
	page.want(200, "This form is anonymous: it does not keep")
	page.wantNoHTML("<strong>1</strong>")
}

// TestBecomesAnonymous tells editors what is stored with a name, or without one.
func TestBecomesAnonymous(t *testing.T) {
	const poll = "/page/1/form/poll"
	named := page1("edit: [carol]\n", "form: poll\noneSubmission: true\nfields:\n  - {id: vote, type: textfield}\n")["1.md"]
	anonymous := strings.Replace(named, "oneSubmission", "anonymous: true\noneSubmission", 1)
	for _, c := range []struct{ before, after, forAll, note, report, again string }{
		{
			named, anonymous, "This form is anonymous: what you send is kept without your name",
			"2 submissions have a name, and keep it: they were sent before the form was anonymous.", "2 of 3 submissions have a name, and keep it",
			"1 submission has no name, and gets none",
		},
		{
			anonymous, named, "Sent with your name",
			"2 submissions have no name, and get none: they were sent while the form was anonymous.", "2 of 3 submissions have no name, and get none",
			"1 submission has a name, and keeps it",
		},
	} {
		e := newEnv(t, map[string]string{"1.md": c.before})
		e.submit("alice", 1, "poll", "vote", "a")
		e.submit("bob", 1, "poll", "vote", "a")
		e.get("carol", poll).wantNoHTML("submissions have")
		e.Write(t, "1.md", c.after)
		e.submit("alice", 1, "poll", "vote", "b")
		for _, path := range []string{poll, poll + "/results"} {
			e.get("carol", path).want(200, c.note+" Their senders can submit once more. Only editors of the page see this.")
			e.get("bob", path).wantNoHTML("submissions have")
		}
		e.get("bob", poll).want(200, c.forAll)
		e.signedIn("carol").text("/author?page=1&form=poll").
			want(200, c.report+" (oneSubmission does not count them: the people who sent them can submit again)")
		e.Write(t, "1.md", c.before) // the first submission fits again
		e.get("carol", poll).want(200, c.again)
	}
}

// TestResultsAnonymousTimes has neither filters nor orders find out more than the day.
func TestResultsAnonymousTimes(t *testing.T) {
	e := newEnv(t, page1("", "form: feedback\nanonymous: true\nfields:\n  - {id: vote, type: textfield}\n"))
	e.submit("alice", 1, "feedback", "vote", "a")
	millis := fmt.Sprint(began.UnixMilli())
	refused := func(filter, why string) {
		t.Helper()
		e.expect(422, "alice", feedbackResults+"?filter"+filter).want(422, why)
		for _, format := range []string{".csv", ".xlsx", ".ndjson"} {
			e.expect(400, "alice", feedbackResults+format+"?filter"+filter).want(400, why)
		}
	}
	for _, id := range []string{"[_timestamp]", "[_changed]"} {
		for _, rule := range []string{
			"=" + millis, "[contains]=" + millis[:8], "[greater-than]=2025-11-15T00:00:00Z", "[less-than]=" + millis,
			"[one-of]=2025-11-15;" + millis, "[between]=" + millis + ";", "[not-equals]=2025-11-15T00:00",
		} {
			refused(id+rule, "write a day, such as 2026-01-31, to filter by time")
		}
		for _, rule := range []string{
			"=2025-11-15", "[greater-than]=2025-11-14", "[one-of]=2025-11-15;2025-11-16",
			"[contains]=2025-11-15", "[between]=2025-11-15;",
		} {
			testkit.Same(t, id+rule, len(rowIDs(e.get("alice", feedbackTable+"&filter"+id+rule))), 1)
		}
	}
	for _, rule := range []string{"=1", "[less-than]=2", "[one-of]=1;2", "[not-empty]"} {
		refused("[_id]"+rule, "be filtered by id")
	}
	for _, id := range []string{"_timestamp", "-_changed", "_id"} {
		e.expect(422, "alice", feedbackResults+"?sort="+id).wantHTML("be sorted by time or id")
	}
	e.get("alice", feedbackResults+"?sort=vote").wantNoHTML("sort=_", "order=", "sort=-_")
}
