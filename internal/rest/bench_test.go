package rest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
)

// sink is a ResponseWriter that keeps nothing.
type sink struct {
	header http.Header
	bytes  int64
	status int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return len(p), nil
}

// serve measures a request past the network.
func serve(b *testing.B, e *env, path string) {
	b.Helper()
	handler := mount(e.api)
	req := e.newRequest(b, testRequest{user: "alice", method: http.MethodGet, path: path})
	b.ReportAllocs()
	for b.Loop() {
		w := &sink{header: http.Header{}}
		handler.ServeHTTP(w, req)
		if w.status != 0 && w.status != http.StatusOK {
			b.Fatalf("status %d", w.status)
		}
		b.SetBytes(w.bytes)
	}
}

func BenchmarkGet(b *testing.B) {
	e := newEnv(b, enginetest.SQLite, house())
	path, _ := e.create(b, "alice", allPath, nestedBody("name", "Ann", "note", "some words", "size", "M"))
	b.Run("submission", func(b *testing.B) { serve(b, e, path) })
	b.Run("result", func(b *testing.B) { serve(b, e, result(path)) })
}

func BenchmarkList(b *testing.B) {
	e := newEnv(b, enginetest.SQLite, house())
	for i := range 1000 {
		e.create(b, "alice", allPath, nestedBody("name", fmt.Sprint(i), "note", "some words", "size", "M"))
	}
	b.Run("submissions", func(b *testing.B) { serve(b, e, allPath+"/submission") })
	b.Run("results", func(b *testing.B) { serve(b, e, allPath+"/result") })
	b.Run("filter", func(b *testing.B) { serve(b, e, allPath+"/result?filter[name][less-than]=10") }) // one in a hundred
	b.Run("search", func(b *testing.B) { serve(b, e, allPath+"/result?q=99") })
	b.Run("sort", func(b *testing.B) { serve(b, e, allPath+"/result?sort=-name&limit=10") })
	b.Run("page", func(b *testing.B) { serve(b, e, allPath+"/result?limit=100") })
	b.Run("summary", func(b *testing.B) { serve(b, e, allPath+"/summary") })
}

// BenchmarkCreate has many callers at once, as the writer is made for.
func BenchmarkCreate(b *testing.B) {
	for _, on := range []enginetest.Engine{enginetest.SQLite, enginetest.Postgres} {
		b.Run(on.Name, func(b *testing.B) {
			e := newEnv(b, on, house())
			b.Run("plain", func(b *testing.B) { create(b, e, func(*http.Request) {}) })
			b.Run("key", func(b *testing.B) {
				create(b, e, func(r *http.Request) { r.Header["Idempotency-Key"] = []string{rand.Text()} })
			})
		})
	}
}

// create measures creates of a request that prepare completes.
func create(b *testing.B, e *env, prepare func(*http.Request)) {
	handler := mount(e.api)
	body := nestedBody("name", "Ann", "note", "some words", "size", "M")
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := &sink{header: http.Header{}}
			r := e.newRequest(b, testRequest{user: "alice", method: http.MethodPost, path: allPath + "/submission", body: body})
			prepare(r)
			handler.ServeHTTP(w, r)
			if w.status != http.StatusCreated {
				b.Errorf("status %d", w.status)
			}
		}
	})
}
