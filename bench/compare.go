package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// prepare makes a store, unless it is there, and starts the program on it.
func (b *bench) prepare(ctx context.Context, m *measurement, p program) (*process, error) {
	s := m.store
	if s.name == "" {
		s.name = m.name
	}
	if s.rows < 0 {
		s.rows = b.rows
	}
	key := filled{p, s.name}
	if !b.made[key] {
		if s.rows > 0 {
			fmt.Printf("  %s: storing %s submissions\n", p, grouped(float64(s.rows)))
		}
		if err := p.make(ctx, b, s); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		b.made[key] = true
		unix.Sync() // now, and not during a measurement
	}
	server, err := p.start(ctx, b, s.name)
	if err != nil {
		err = fmt.Errorf("%s: %w", p, err)
	}
	return server, err
}

// measure returns the figures of a measurement.
func (b *bench) measure(ctx context.Context, m *measurement) ([]figure, error) {
	if m.sizes != nil {
		return b.measureSizes(ctx, m)
	}
	if b.before != "" {
		return b.comparePairs(ctx, m)
	}
	contenders := m.contenders(b)
	samples := make([][]sample, len(contenders)) // of each round
	for round := range b.rounds {
		taken, err := b.round(ctx, m, contenders, func(runners ...runner) ([]sample, error) {
			return inTurns(ctx, b.interval, runners...)
		})
		if err != nil {
			return nil, err
		}
		var texts []string
		for i, s := range taken {
			samples[i] = append(samples[i], s)
			texts = append(texts, fmt.Sprintf("%s %s (%.2f)", contenders[i].name, rate(s.perSecond), taken[0].perSecond/s.perSecond))
		}
		progress(round, "%s", strings.Join(texts, ", "))
	}
	return m.figures(contenders, samples), nil
}

// round starts the servers, calls take with the tasks on them, and stops the servers.
func (b *bench) round(
	ctx context.Context, m *measurement, contenders []rival, take func(...runner) ([]sample, error),
) (samples []sample, err error) {
	servers := map[program]*process{}
	for _, c := range contenders {
		if servers[c.program] != nil {
			continue
		}
		server, errStart := b.prepare(ctx, m, c.program)
		if errStart != nil {
			return nil, errStart
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		servers[c.program] = server
	}
	var runners []runner
	for _, c := range contenders {
		run, end, err := c.task(ctx, servers[c.program])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		defer end()
		runners = append(runners, run)
	}
	return take(runners...)
}

// figures are a row for each rival, or one for a limit of time.
func (m *measurement) figures(contenders []rival, samples [][]sample) (rows []figure) {
	var texts []string
	for i, c := range contenders {
		of := func(value func(sample) float64) float64 { return median(each(samples[i], value)) }
		texts = append(texts, fmt.Sprintf("%s %s, half within %s, 99 %% within %s", c.name, rate(of(perSecond)), short(of(p50)), short(of(p99))))
	}
	f := figure{name: m.title, measured: strings.Join(texts, "; ")}
	if m.within > 0 {
		f.target, f.unit = target{"≤", m.within}, " ms"
		f.values = each(samples[0], func(s sample) float64 { return s.p50 * 1000 })
		return []figure{f}
	}
	for i, c := range contenders[1:] {
		f.target, f.unit, f.than = target{"≥", c.atLeast}, " ×", c.name
		f.values = ratios(each(samples[0], perSecond), each(samples[i+1], perSecond))
		rows = append(rows, f)
		f.measured = "as above"
	}
	return rows
}

// measureSizes measures without a load. With -before the older binary takes turns, without a control.
func (b *bench) measureSizes(ctx context.Context, m *measurement) ([]figure, error) {
	contenders := m.contenders(b)
	rows := make([]figure, len(m.sizes))
	for round := range 3 * b.rounds { // they are short, and vary
		var values [2][]float64 // of Formulary and of the older binary
		for i, c := range contenders[:min(len(contenders), 2)] {
			server, err := b.prepare(ctx, m, c.program)
			if err != nil {
				return nil, err
			}
			for _, s := range m.sizes {
				v, errSize := s.of(ctx, server)
				values[i], err = append(values[i], v), errors.Join(err, errSize)
			}
			if err = errors.Join(err, server.stop()); err != nil {
				return nil, err
			}
			progress(round, "%s %.1f", c.name, values[i])
		}
		for k, s := range m.sizes {
			f := &rows[k]
			*f = figure{name: s.title, target: target{"≤", s.atMost}, unit: s.unit, values: append(f.values, values[0][k])}
			if b.before != "" {
				f.target, f.unit, f.than = target{"≤", noMore}, " ×", before
				f.values[round] /= values[1][k]
			}
		}
	}
	return rows, nil
}
