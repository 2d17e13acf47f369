package cli

import (
	"fmt"
	"io"
	"time"
)

// progress prints a line now and then about how far long work has come.
type progress struct {
	w     io.Writer
	shown time.Time
	stage string
}

const lineEvery = 5 * time.Second

// show may be called often. The first and the last state of a stage are always shown.
func (p *progress) show(stage, unit string, done, total int64) {
	if stage == p.stage && done < total && time.Since(p.shown) < lineEvery {
		return
	}
	p.stage, p.shown = stage, time.Now()
	_, _ = fmt.Fprintf(p.w, "%s: %d of %d %s\n", stage, done, total, unit)
}
