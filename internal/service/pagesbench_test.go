package service

import (
	"fmt"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
)

// BenchmarkPages lists the pages for the home page, all of them with a form.
func BenchmarkPages(b *testing.B) {
	for _, n := range []int64{10_000, 100_000} {
		source := &pagestest.Memory{}
		for id := range n {
			source.Put(&pages.Page{ID: id + 1, Title: fmt.Sprintf("Page %08d", n-id), Forms: []*forms.Form{{ID: "feedback"}}}, pagestest.Everything)
		}
		s := New(Options{Pages: source})
		for _, text := range []string{"", "page 00000042"} {
			b.Run(fmt.Sprintf("%d/%q", n, text), func(b *testing.B) {
				for b.Loop() {
					list, err := s.Pages(b.Context(), owner)
					if err == nil {
						_, err = list.Search(text)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
