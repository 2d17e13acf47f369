package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// renamedSource is the page after an edit that gives the field of form note another id. Whoever sends the old id has an
// answer stored under the new one. So what is stored tells which text of the page it was checked against.
var renamedSource = strings.Replace(pageSource, "id: text, type: textbox, label: Text", "id: words, was: text, type: textbox, label: Words", 1)

func (s site) edit(t *testing.T, source string) {
	t.Helper()
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), source)
}

// checkAsked: each submission has the form that it was checked against, and each form is stored once. p serves pageSource.
func checkAsked(t *testing.T, s site, p *process, l *ledger, renamed string) {
	t.Helper()
	var list []submission
	must(t, json.Unmarshal([]byte(p.must(t, 200, "GET", "/note/submission", "").body), &list))
	asked := p.must(t, 200, "GET", "/note", "").body
	found, times := map[int64]bool{}, map[string]int{}
	for _, sub := range list {
		found[sub.ID] = true
		want := asked
		if _, ok := sub.Fields["words"]; ok {
			want = renamed
		}
		times[want]++
		if r := p.must(t, 200, "GET", fmt.Sprintf("/note/submission/%d/form", sub.ID), ""); r.body != want {
			t.Errorf("submission %d with %v was asked as\n%swant\n%s", sub.ID, sub.Fields, r.body, want)
		}
	}
	for id := range l.acked {
		if !found[id] {
			t.Errorf("submission %d is not stored", id)
		}
	}
	if times[asked] == 0 || times[renamed] == 0 {
		t.Errorf("%d and %d submissions: want some of each form", times[asked], times[renamed])
	}
	p.kill()
	testkit.Same(t, "definitions are stored", s.exec(t, `SELECT count(*) FROM definitions`), "2")
}

// The page is edited under load, goes back to the older text, and the server is killed right after an edit.
func TestKilledAfterAnEdit(t *testing.T) {
	engines(t, func(t *testing.T, s site) {
		l, p := newLedger(), newReplica(t, s, "--access-log=false")
		s.edit(t, renamedSource)
		p.start(t)
		renamed := p.must(t, 200, "GET", "/note", "").body
		p.kill()
		s.edit(t, pageSource)
		for i := range testkit.Rounds(4, 20) {
			p.start(t)
			people := startLoad(t, l, 8, true, p.url)
			l.moreAcked(t, 20)
			s.edit(t, []string{renamedSource, pageSource}[i%2])
			must(t, p.Cmd.Process.Signal(syscall.SIGHUP))
			if i%3 == 1 {
				p.mustLog(t, 1, "reloaded on SIGHUP")
				l.moreAcked(t, 20)
			}
			p.kill()
			people.stop()
		}
		s.edit(t, pageSource)
		p.start(t)
		checkAsked(t, s, p.process, l, renamed)
	})
}
