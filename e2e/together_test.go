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

// Concurrent changes to different fields of one submission, at three servers, are
// all kept.
func TestMergesOverReplicas(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	id := create(t, replicas[0].process, "sheet", `{"fields":{}}`)
	for round := range 10 {
		statuses := atOnce(t, 9, func(i int) (int, error) {
			r, err := replicas[(i+round)%3].call(t.Context(), "PUT", fmt.Sprint("/sheet/result/", id), fmt.Sprintf(`{"f%d":"%d"}`, i, round))
			return r.status, err
		})
		if statuses[http.StatusOK] != 9 {
			t.Fatalf("answers by status: %v", statuses)
		}
		for _, r := range replicas {
			var flat map[string]any
			body := r.must(t, 200, "GET", fmt.Sprint("/sheet/result/", id), "").body
			if err := json.Unmarshal([]byte(body), &flat); err != nil {
				t.Fatal(err)
			}
			for i := range 9 {
				if field := fmt.Sprint("f", i); flat[field] != fmt.Sprint(round) {
					t.Errorf("round %d: %s is %v", round, field, flat[field])
				}
			}
		}
	}
}

func create(t *testing.T, p *process, form, body string) int64 {
	t.Helper()
	var s submission
	if err := json.Unmarshal([]byte(p.must(t, 201, "POST", "/"+form+"/submission", body).body), &s); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// A submission that is deleted at one server while others change it stays deleted.
func TestDeletesAgainstMergesOverReplicas(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	for round := range 20 {
		id := create(t, replicas[round%3].process, "pledge", note("x"))
		path := fmt.Sprint("/pledge/result/", id)
		statuses := atOnce(t, 9, func(i int) (int, error) {
			if i == 4 {
				r, err := replicas[round%3].call(t.Context(), "DELETE", path, "")
				if r.status != http.StatusNoContent {
					t.Errorf("delete: status %d: %s", r.status, r.body)
				}
				return r.status, err
			}
			r, err := replicas[i%3].call(t.Context(), "PUT", path, fmt.Sprintf(`{"text":"%d"}`, i))
			return r.status, err
		})
		if statuses[http.StatusOK]+statuses[http.StatusNotFound] != 8 {
			t.Errorf("changes by status: %v, want 200 and 404", statuses)
		}
		for _, r := range replicas {
			r.must(t, 404, "GET", path, "")
			if left := r.submissions(t, "pledge"); len(left) > 0 {
				t.Fatalf("there is still %v", left)
			}
		}
	}
}

// Servers on different databases of one cluster are isolated.
func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	cluster, s := pgtest.Shared(t), newSite(t)
	one, other := start(t, s.on(cluster.Database(t))), start(t, s.on(cluster.Database(t)))
	one.must(t, 201, "POST", "/pledge/submission", note("x"))
	other.must(t, 201, "POST", "/pledge/submission", note("x"))
}
