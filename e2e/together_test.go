package e2e

import (
	"encoding/json"
	"path/filepath"
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

func create(t *testing.T, p *process, form, body string) int64 {
	t.Helper()
	var s submission
	must(t, json.Unmarshal([]byte(p.must(t, 201, "POST", "/"+form+"/submission", body).body), &s))
	return s.ID
}
