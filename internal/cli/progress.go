package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress shows how far long work has come: a bar that moves on a terminal,
// and a line now and then elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	shown    time.Time
	stage    string
	open     bool // a bar stands on the line
}

const (
	barWidth  = 30
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// show is called as often as one likes. The last state of a stage is always shown.
func (p *progress) show(stage, unit string, done, total int64) {
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	if stage == p.stage && done < total && time.Since(p.shown) < every {
		return
	}
	if stage != p.stage {
		p.end()
	}
	p.stage, p.shown = stage, time.Now()
	part := 1.0
	if total > 0 {
		part = min(1, float64(done)/float64(total))
	}
	if !p.terminal {
		_, _ = fmt.Fprintf(p.w, "%s: %d of %d %s (%.0f %%)\n", stage, done, total, unit, 100*part)
		return
	}
	full := int(part * barWidth)
	_, _ = fmt.Fprintf(p.w, "\r%-9s [%s%s] %3.0f %%  %d of %d %s\x1b[K",
		stage, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*part, done, total, unit)
	p.open = true
}

// end leaves the line of a bar.
func (p *progress) end() {
	if p.open {
		_, _ = fmt.Fprintln(p.w)
		p.open = false
	}
}

// progressLogger is for what the store has to say while it is opened.
func progressLogger(streams Streams) *slog.Logger {
	return slog.New(slog.NewTextHandler(streams.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
