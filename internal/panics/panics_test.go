package panics

import (
	"errors"
	"strings"
	"testing"
)

func TestToError(t *testing.T) {
	refused := errors.New("refused")
	if err := ToError(func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("an error became %v", err)
	}
	err := ToError(func() error { panic("at the disco") })
	if err == nil || !strings.Contains(err.Error(), "at the disco") || !strings.Contains(err.Error(), "panics_test.go") {
		t.Errorf("a panic became %v, want its text and the stack", err)
	}
}
