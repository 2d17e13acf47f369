package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// step is a change of one field in the history of a submission.
type step struct {
	Changes []struct{ Before, After string }
}

func (p *process) history(t *testing.T, path string) (steps []step) {
	t.Helper()
	must(t, json.Unmarshal([]byte(p.must(t, 200, "GET", path+"/history", "").body), &steps))
	return steps
}

// When the process is killed under concurrent updates of one submission, there is no
// update without its step in the history, and no step without its update.
func TestKilledUpdatesKeepTheirSteps(t *testing.T) { engines(t, testKilledUpdatesKeepTheirSteps) }

func testKilledUpdatesKeepTheirSteps(t *testing.T, s site) {
	l, p := newLedger(), newReplica(t, s, "--access-log=false")
	p.start(t)
	id := create(t, p.process, "note", note("first"))
	url := p.url
	for range testkit.Rounds(3, 20) {
		people := startSending(t, l, 4, true, func(ctx context.Context, _ int, text string) (response, error) {
			req, err := request(ctx, url, "PUT", fmt.Sprint("/note/result/", id), fmt.Sprintf(`{"text":%q}`, text))
			if err != nil {
				return response{}, err
			}
			r, err := do(client, req)
			if r.status == http.StatusOK { // the ledger takes it for a create, with the number in the text as its id
				r.status, r.body = http.StatusCreated, fmt.Sprintf(`{"id":%d}`, numberIn(text))
			}
			return r, err
		})
		l.moreAcked(t, 50)
		p.kill()
		people.stop()
		p.start(t)
	}
	before, changed := "first", map[int64]string{}
	for i, step := range p.history(t, fmt.Sprint("/note/submission/", id)) {
		if len(step.Changes) != 1 || step.Changes[0].Before != before {
			t.Fatalf("step %d is %v, want one from %q", i, step.Changes, before)
		}
		before = step.Changes[0].After
		if n := numberIn(before); changed[n] == "" {
			changed[n] = before
		} else {
			t.Errorf("%q is there twice", before)
		}
	}
	l.check(t, changed)
	testkit.Same(t, "the end of the history", p.submissions(t, "note")[id], before)
}

// numberIn returns the number in a text of the ledger.
func numberIn(text string) (n int64) {
	_, _ = fmt.Sscanf(text, "note %d", &n)
	return n
}

const decidedPage = `---
edit: [ann]
---
` + "```yaml form\n" + `form: leave
lockIf: {field: state, equals: granted}
fields:
  - {id: text, type: textfield, label: Days}
  - {id: state, type: status, label: State, options: [granted], by: editors}
` + "```\n"

// While one person grants a request and another changes it, at two servers, one of them
// is refused: what was granted is what the editor saw.
func TestGrantAgainstChange(t *testing.T) { engines(t, testGrantAgainstChange) }

func testGrantAgainstChange(t *testing.T, s site) {
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), decidedPage)
	servers := []*process{start(t, s, "--access-log=false")}
	if s.database != "" {
		servers = append(servers, start(t, s, "--access-log=false"))
	}
	ann, ben := servers[0], servers[len(servers)-1]
	outcomes := map[string]int{}
	for range 40 {
		r, err := ben.callAs(t.Context(), "ben", "secret", "POST", "/leave/submission", note("3"))
		must(t, err)
		_, id, _ := strings.Cut(r.header.Get("Location"), "/submission/")
		path := "/leave/result/" + id
		grant, err := request(t.Context(), ann.url, "PUT", path, `{"state":"granted"}`)
		must(t, err)
		grant.Header.Set("If-Match", r.header.Get("Etag"))
		var granted, changed response
		var wg sync.WaitGroup
		wg.Go(func() { granted, _ = do(client, grant) })
		wg.Go(func() { changed, _ = ben.callAs(t.Context(), "ben", "secret", "PUT", path, `{"text":"30"}`) })
		wg.Wait()
		var now struct{ Text, State string }
		must(t, json.Unmarshal([]byte(ann.must(t, 200, "GET", path, "").body), &now))
		outcomes[fmt.Sprint(granted.status, changed.status, now)]++
	}
	for outcome := range outcomes {
		if outcome != "200 403 {3 granted}" && outcome != "412 200 {30 }" {
			t.Errorf("grant and change end as %s", outcome)
		}
	}
	t.Log(outcomes)
}
