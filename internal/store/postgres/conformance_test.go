package postgres

import (
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	var urls sync.Map
	storetest.Run(t, func(t *testing.T, dir string) store.Engine {
		url, known := urls.Load(dir)
		if !known {
			url = newDatabase(t)
			urls.Store(dir, url)
		}
		s, err := Open(ctx, Options{URL: url.(string)})
		must(t, err)
		return s
	}, func(t *testing.T, _ store.Engine, dir, statement string) string {
		url, _ := urls.Load(dir)
		if statement == storetest.Age {
			statement = `WITH aged AS (UPDATE staged_files SET touched = touched - interval '2 hours' RETURNING 1) SELECT count(*)::text FROM aged`
		}
		return queryText(t, url.(string), statement)
	})
}
