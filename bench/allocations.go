package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// allocations counts what the server allocates for a request. That does not depend on the machine,
// nor on what else runs there.
func (b *bench) allocations(ctx context.Context) error {
	const requests = 20_000
	fourFields, _, _ := strings.Cut(fields, `,"topics"`)
	e := sqlite
	for _, s := range b.sides(e, "--metrics") {
		server, err := s.start(ctx, "allocations")
		if err != nil {
			return err
		}
		create, read := postMessage(submissionPath, basicAuth(), `{"fields":`+fourFields+`}}`, 201), server.read
		err = sendAll(ctx, server, create, readRows) // for read; and pools and caches are filled
		for _, m := range []struct {
			name    string
			message message
			most    float64
		}{{"create of four fields", create, 60}, {"read of one", read, 36}} {
			before, errBefore := mallocs(ctx, server)
			err = errors.Join(err, errBefore, sendAll(ctx, server, m.message, requests))
			after, errAfter := mallocs(ctx, server)
			err = errors.Join(err, errAfter)
			count := (after - before) / requests
			f := figure{name: "allocations of a " + m.name + " on SQLite, " + s.name, measured: number(count), durability: e.durability}
			if s.name == "Formulary" {
				f.target, f.values = target{"≤", m.most}, []float64{count}
			}
			b.figures = append(b.figures, f)
		}
		if err := errors.Join(err, server.stop()); err != nil {
			return err
		}
	}
	return nil
}

// mallocs is how many objects the server has allocated since its start.
func mallocs(ctx context.Context, server *process) (float64, error) {
	const name = "\ngo_memstats_mallocs_total "
	var page bytes.Buffer
	_, err := getPage(ctx, server, "/metrics", "Accept", "text/plain", &page)
	_, rest, found := strings.Cut(page.String(), name)
	if err != nil || !found {
		return 0, errors.Join(err, fmt.Errorf("no %s in the metrics", strings.TrimSpace(name)))
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(value, 64)
}
