package cli

import (
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/store/postgres"
)

// A task that waits for a PostgreSQL that does not answer can't be told to end. The server ends without it.
func TestServerEndsBesideATaskThatWaits(t *testing.T) {
	t.Parallel()
	var tasks sync.WaitGroup
	tasks.Add(1)
	if err := closeServed(&postgres.Store{}, &tasks); err != nil {
		t.Error(err)
	}
}
