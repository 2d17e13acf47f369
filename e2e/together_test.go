package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/store/pgtest"
)

// Three servers that start at the same moment on an empty database migrate it
// once, and all of them serve.
func TestThreeStartAtOnce(t *testing.T) {
	t.Parallel()
	for range 3 {
		replicas := startReplicas(t, newSharedSite(t), 3)
		for i, r := range replicas {
			r.must(t, 201, "POST", "/note/submission", note(fmt.Sprint(i)))
		}
		for _, r := range replicas {
			if stored := r.submissions(t, "note"); len(stored) != 3 {
				t.Errorf("%d submissions, want 3: %v", len(stored), stored)
			}
			r.kill()
		}
	}
}

// A server with another key would let every user vote once more.
func TestAnotherAnonymousKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := newSharedSite(t)
	first := start(t, s)
	first.must(t, 201, "POST", "/vote/submission", ballot)
	other := s
	other.key = filepath.Join(t.TempDir(), "other.key")
	said := mustRefuse(t, "the key of anonymous submissions is not the one that this store was used with", other.serve()...)
	if !strings.Contains(said, "start once with --new-anonymous-key") {
		t.Errorf("no advice in the output: %s", said)
	}
	first.must(t, 400, "POST", "/vote/submission", ballot)
	// If the old key is lost, a flag allows a new one.
	second := start(t, other, "--new-anonymous-key")
	second.must(t, 201, "POST", "/vote/submission", ballot)
	mustRefuse(t, "the key of anonymous submissions", s.serve()...)
}

// With PostgreSQL, --data is the directory of the key, and is created for it.
func TestKeyInADataDirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSharedSite(t)
	s.key = ""
	data := filepath.Join(t.TempDir(), "new", "data")
	for _, status := range []int{201, 400} { // the second server has the key of the first
		p := start(t, s, "--data", data)
		p.must(t, status, "POST", "/vote/submission", ballot)
		p.kill()
	}
}

const ballot = `{"fields":{"choice":{"fieldId":"choice","value":"a"}}}`

// Of concurrent creates by one user at three servers one is stored, on anonymous
// forms, too.
func TestOneSubmissionOverReplicas(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	for path, body := range map[string]string{"/pledge/submission": note("mine"), "/vote/submission": ballot} {
		for range 5 {
			statuses := atOnce(t, 60, func(i int) (int, error) {
				r, err := replicas[i%3].call(t.Context(), "POST", path, body)
				return r.status, err
			})
			if statuses[http.StatusCreated] != 1 || statuses[http.StatusBadRequest] != 59 {
				t.Errorf("%s: answers by status: %v, want one 201 and 59 of 400", path, statuses)
			}
			for id := range replicas[0].submissions(t, path[1:len(path)-len("/submission")]) {
				// A delete frees it, for all of them.
				replicas[1].must(t, 204, "DELETE", fmt.Sprint(path[:len(path)-len("submission")], "result/", id), "")
			}
		}
	}
}

// Of concurrent creates at three servers a form takes as many as its limit says.
func TestLimitOverReplicas(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	create := func(i int) (int, error) {
		r, err := replicas[i%3].call(t.Context(), "POST", "/seats/submission", note("mine"))
		return r.status, err
	}
	if statuses := atOnce(t, 200, create); statuses[http.StatusCreated] != 30 || statuses[http.StatusBadRequest] != 170 {
		t.Errorf("answers by status: %v, want 30 of 201 and 170 of 400", statuses)
	}
	stored := replicas[0].submissions(t, "seats")
	if len(stored) != 30 {
		t.Errorf("%d are stored", len(stored))
	}
	for id := range stored {
		replicas[1].must(t, 204, "DELETE", fmt.Sprint("/seats/result/", id), "")
		break
	}
	if statuses := atOnce(t, 6, create); statuses[http.StatusCreated] != 1 || statuses[http.StatusBadRequest] != 5 {
		t.Errorf("after a delete: %v", statuses)
	}
}

// atOnce makes calls at the same time, and counts the answers by their status.
func atOnce(t *testing.T, count int, call func(i int) (int, error)) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	statuses, begin := map[int]int{}, make(chan struct{})
	for i := range count {
		wg.Go(func() {
			<-begin
			status, err := call(i)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	close(begin)
	wg.Wait()
	return statuses
}

func create(t *testing.T, p *process, form, body string) int64 {
	t.Helper()
	var s submission
	if err := json.Unmarshal([]byte(p.must(t, 201, "POST", "/"+form+"/submission", body).body), &s); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// Servers on different databases of one cluster are isolated.
func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	cluster, s := pgtest.Shared(t), newSite(t)
	one, other := start(t, s.on(cluster.Database(t))), start(t, s.on(cluster.Database(t)))
	one.must(t, 201, "POST", "/pledge/submission", note("x"))
	other.must(t, 201, "POST", "/pledge/submission", note("x"))
}
