package e2e

import (
	"testing"
)

// Ctrl-C in a shell also ends the program that the log is piped to.
func TestLogThatIsClosed(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	must(t, p.CloseLog())
	p.must(t, 201, "POST", "/note/submission", note("x"))
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}
