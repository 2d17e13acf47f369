package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// listFormat is a list in one format.
type listFormat struct {
	name, path string
	end        []byte // on the wire
}

var (
	nestedList   = listFormat{"JSON", submissionPath, endOfList}
	ndjsonFormat = listFormat{"NDJSON", resultPath + "?format=ndjson", []byte("}\n\r\n0\r\n\r\n")}
	csvFormat    = listFormat{"CSV", resultPath + "?format=csv", []byte("\r\n\r\n0\r\n\r\n")}
	// A zip file without a comment ends with the comment's length.
	xlsxFormat = listFormat{"XLSX", resultPath + "?format=xlsx", []byte("\x00\x00\r\n0\r\n\r\n")}
)

// formats holds the tables against NDJSON. Their rates include the first pass.
func (b *bench) formats(ctx context.Context) (err error) {
	data, err := b.fill(ctx, "formats", listRows)
	if err != nil {
		return err
	}
	server, err := b.startServer(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	buf := make([]byte, 256<<10)
	read := func(f listFormat) runner {
		return again(listRows, func() error { return readUntil(ctx, server.addr, f.path, f.end, buf) })
	}
	var lines, csv, xlsx []float64 // rows per second
	for round := range b.rounds {
		samples, err := inTurns(ctx, b.interval/2, shortTurn, read(ndjsonFormat), read(csvFormat), read(xlsxFormat))
		if err != nil {
			return err
		}
		lines, csv, xlsx = append(lines, samples[0].perSecond), append(csv, samples[1].perSecond), append(xlsx, samples[2].perSecond)
		progress(round, "NDJSON %s rows, CSV %s: %.2f; XLSX %s: %.2f", rate(lines[round]), rate(csv[round]), csv[round]/lines[round],
			rate(xlsx[round]), xlsx[round]/lines[round])
	}
	b.addFormat(csvFormat, 0.40, csv, lines)
	b.addFormat(xlsxFormat, 0.10, xlsx, lines)
	return nil
}

func (b *bench) addFormat(f listFormat, bound float64, rows, lines []float64) {
	b.results.add(figure{
		name: f.name + " of 100,000 results with its first pass, of NDJSON", target: target{atLeast, bound}, durability: noWrites,
		values:   ratios(rows, lines),
		measured: fmt.Sprintf("%s %s rows, NDJSON %s rows", f.name, rate(median(rows)), rate(median(lines))),
	})
}

// millionFormats tells how much memory each format takes for a million rows.
func (b *bench) millionFormats(ctx context.Context) error {
	data, err := b.million(ctx)
	if err != nil {
		return err
	}
	for _, f := range []listFormat{ndjsonFormat, csvFormat, xlsxFormat} {
		var idles, growths, rates []float64
		for round := range b.rounds {
			r, err := b.startAndRead(ctx, data, f)
			if err != nil {
				return err
			}
			progress(round, "%s of a million: %s rows, idle %s, grew by %s", f.name, rate(r.rows), mebibytes(r.idle), mebibytes(r.growth))
			idles, growths, rates = append(idles, r.idle), append(growths, r.growth/(1<<20)), append(rates, r.rows)
		}
		b.results.add(figure{
			name: "peak memory while 1,000,000 are read as " + f.name + ", above idle", target: target{below, 64}, unit: " MiB",
			values: growths, durability: noWrites,
			measured: fmt.Sprintf("idle RSS %s; read at %s rows", mebibytes(median(idles)), rate(median(rates))),
		})
	}
	return nil
}

// startAndRead reads a list of all rows from a server that has done nothing
// before.
func (b *bench) startAndRead(ctx context.Context, data string, f listFormat) (r startResult, err error) {
	server, err := b.startServer(ctx, data)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	r.start = server.started
	if err := logIn(ctx, server.addr); err != nil {
		return r, err
	}
	if r.idle, err = memory(server.pid(), "VmRSS"); err != nil {
		return r, err
	}
	forgetPeak(server.pid())
	begun := time.Now()
	if err := readUntil(ctx, server.addr, f.path, f.end, make([]byte, 256<<10)); err != nil {
		return r, err
	}
	r.rows = millionRows / time.Since(begun).Seconds()
	peak, err := memory(server.pid(), "VmHWM")
	r.growth = peak - r.idle
	return r, err
}
