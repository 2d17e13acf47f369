package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/formulary/formulary/internal/testkit"
)

// documents are those that Check has seen, for html-validate.
var documents sources

// sources collects HTML documents, each once.
type sources struct {
	mu   sync.Mutex
	seen map[string]bool
	list []source
}

type source struct {
	Name string `json:"name"`
	HTML string `json:"html"`
}

func (s *sources) add(name, html string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if !s.seen[html] {
		s.seen[html] = true
		s.list = append(s.list, source{name, html})
	}
}

// validate has html-validate read all documents, in one process, and returns
// what is wrong in them. validate.js has the rules.
func (s *sources) validate(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(s.list)
	if err != nil {
		return nil, err
	}
	dir, err := packageDir()
	if err != nil {
		return nil, err
	}
	// html-validate needs a newer Node than Debian has: npm brings one for Linux,
	// that of this machine's processor. Elsewhere it is the one that is installed.
	node := "node"
	if brought, _ := filepath.Glob(filepath.Join(dir, "node_modules", "node-linux-*", "bin", "node")); len(brought) > 0 {
		node = brought[0]
	}
	cmd := exec.CommandContext(ctx, node, "validate.js")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(list)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("html-validate: %w (if it is missing, run 'make test-deps'): %s", err, &stderr)
	}
	var problems []string
	if err := json.Unmarshal(out, &problems); err != nil {
		return nil, fmt.Errorf("html-validate: %w: %s", err, out)
	}
	return problems, nil
}

// packageDir returns the directory of this package, wherever in the repository the
// test runs.
func packageDir() (string, error) {
	root, err := testkit.Root()
	return filepath.Join(root, "e2e", "browsertest"), err
}
