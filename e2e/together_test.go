package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

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

// Of concurrent creates by one user at three servers as many are stored as a form allows, on
// anonymous forms, too.
func TestLimitsOverReplicas(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	for _, tt := range []struct {
		form, body string
		allowed    int
	}{{"pledge", note("mine"), 1}, {"vote", ballot, 1}, {"seats", note("mine"), 30}} {
		for range 3 {
			statuses := atOnce(t, 60, func(i int) (int, error) {
				r, err := replicas[i%3].call(t.Context(), "POST", "/"+tt.form+"/submission", tt.body)
				return r.status, err
			})
			if statuses[http.StatusCreated] != tt.allowed || statuses[http.StatusBadRequest] != 60-tt.allowed {
				t.Errorf("%s: answers by status: %v, want %d of 201 and the others of 400", tt.form, statuses, tt.allowed)
			}
			for id := range replicas[0].submissions(t, tt.form) {
				// A delete frees it, for all of them.
				replicas[1].must(t, 204, "DELETE", fmt.Sprint("/", tt.form, "/result/", id), "")
			}
		}
	}
	if said := replicas[0].output(); strings.Contains(said, `"msg":"request"`) {
		t.Errorf("with --access-log=false the log has requests:\n%s", said)
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
	must(t, json.Unmarshal([]byte(p.must(t, 201, "POST", "/"+form+"/submission", body).body), &s))
	return s.ID
}
