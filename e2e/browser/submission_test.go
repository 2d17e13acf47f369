package browser

import "testing"

// sent has somebody send the form trip, and returns the page that follows.
func sent(t *testing.T, s *site, user string) *page {
	t.Helper()
	p := s.as(t, user, trip)
	fillTrip(p)
	p.press("Send")
	p.want("This is what was sent.")
	return p
}

func changeSubmission(t *testing.T, s *site) {
	p := sent(t, s, ann)
	if p.Has("link", "Delete") {
		t.Error("somebody who does not edit the page may delete")
	}
	p.follow("Change")
	p.wantValue("Your name", "Ann Other")
	p.wantValue("Room", "Single")
	p.wantValue("Day of arrival", "2026-03-06")
	p.Check()
	p.Fill("Your name", "")
	p.Fill("Wishes", "Rain")
	p.press("Save")
	p.wantStatus(422)
	p.wantProblems("“Your name” is required")
	p.wantValue("Wishes", "Rain")
	p.Check()
	p.Fill("Your name", "Ann Nother")
	p.press("Save")
	p.want("The changes are saved.", "Ann Nother", "Rain")
	p.Check()
	p.follow("Change")
	p.Fill("Wishes", "Snow")
	p.follow("Cancel")
	p.want("Rain")
}

func conflict(t *testing.T, s *site) {
	p := sent(t, s, ann)
	p.follow("Change")
	q := s.as(t, eve, p.path())
	q.Fill("Wishes", "from Eve")
	q.press("Save")
	p.Fill("Wishes", "from Ann")
	p.press("Save")
	p.wantStatus(409)
	p.wantProblems()
	p.want("The submission or its form has changed", "from Eve", "from Ann")
	p.wantValue("Wishes", "from Ann")
	p.Check()
	p.press("Save")
	p.want("The changes are saved.", "from Eve →", "from Ann")
}
