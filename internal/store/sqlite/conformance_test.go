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
		must(t, err)
		return s
	}, func(t *testing.T, s store.Engine, _, statement string) string {
		if statement == storetest.Age {
			statement = `UPDATE staged_files SET touched = touched - 7200000`
		}
		return writerQuery(t, s.(*Store), statement)
	})
}
