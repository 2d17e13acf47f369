package table

import (
	"fmt"
	"testing"
)

func BenchmarkRow(b *testing.B) {
	var ids, pairs []string
	for i := range 5 {
		id := fmt.Sprint("field", i)
		ids, pairs = append(ids, id), append(pairs, id, "some words")
	}
	s := submission(1, pairs...)
	for _, kind := range []struct {
		name string
		make func(*Columns) (tableWriter, error)
	}{
		{"CSV", func(c *Columns) (tableWriter, error) { return NewCSV(c, Options{}) }},
		{"XLSX", func(c *Columns) (tableWriter, error) { return NewXLSX(c, Options{}) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			w, err := kind.make(NewColumns(formOf(ids...)))
			if err != nil {
				b.Fatal(err)
			}
			dst, err := w.Begin(nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = w.Row(dst[:0], s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("first pass", func(b *testing.B) {
		c := NewColumns(formOf(ids...))
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Add(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
