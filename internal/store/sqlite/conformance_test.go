package sqlite

import (
	"context"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string) store.Engine {
		s, err := Open(context.Background(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
