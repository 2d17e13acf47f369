package panics

import (
	"errors"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestToError(t *testing.T) {
	refused := errors.New("refused")
	testkit.ErrorIs(t, "an error became", ToError(func() error { return refused }), refused)
	err := ToError(func() error { panic("at the disco") })
	if err == nil || !strings.Contains(err.Error(), "at the disco") || !strings.Contains(err.Error(), "panics_test.go") {
		t.Errorf("a panic became %v, want its text and the stack", err)
	}
}
