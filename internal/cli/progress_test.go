package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// steps is a copy that takes its time, as progress is told of it.
func steps(p *progress) {
	p.show("copying", "submissions", 1000, 4000)
	p.show("copying", "submissions", 2000, 4000) // too early to be worth a line
	time.Sleep(lineEvery)
	p.show("copying", "submissions", 3000, 4000)
	p.show("copying", "submissions", 4000, 4000)
	p.show("verifying", "submissions", 4000, 4000)
	p.end()
	p.end()
}

func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		steps(newProgress(&out))
		want := "copying: 1000 of 4000 submissions (25 %)\n" +
			"copying: 3000 of 4000 submissions (75 %)\n" +
			"copying: 4000 of 4000 submissions (100 %)\n" +
			"verifying: 4000 of 4000 submissions (100 %)\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		steps(&progress{w: &out, terminal: true})
		const rest = "\x1b[K"
		want := "\rcopying   [=======                       ]  25 %  1000 of 4000 submissions" + rest +
			"\rcopying   [======================        ]  75 %  3000 of 4000 submissions" + rest +
			"\rcopying   [==============================] 100 %  4000 of 4000 submissions" + rest + "\n" +
			"\rverifying [==============================] 100 %  4000 of 4000 submissions" + rest + "\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// An empty store is copied completely; a store that grew meanwhile is never more
// than complete.
func TestProgressAtTheEdges(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.show("copying", "submissions", 0, 0)
	p.show("reading", "bytes", 12, 10)
	want := "copying: 0 of 0 submissions (100 %)\nreading: 12 of 10 bytes (100 %)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
