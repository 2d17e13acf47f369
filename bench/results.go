package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// target is what a figure has to reach. The zero target is none.
type target struct {
	relation relation
	bound    float64
}

type relation string

const (
	atLeast relation = "≥"
	atMost  relation = "≤"
	below   relation = "<"
)

func (t target) met(value float64) bool {
	switch t.relation {
	case atLeast:
		return value >= t.bound
	case atMost:
		return value <= t.bound
	case below:
		return value < t.bound
	}
	return true
}

// figure is a row of the results.
type figure struct {
	name       string
	target     target
	values     []float64 // what the target is about, per round
	unit       string    // of values; none for a ratio
	worst      bool      // the largest counts, not the median
	measured   string    // absolute values behind it
	durability string
}

func (f figure) value() float64 {
	if f.worst {
		return slices.Max(f.values)
	}
	return median(f.values)
}

func (f figure) met() bool { return len(f.values) == 0 || f.target.met(f.value()) }

func (f figure) row() string {
	goal, result, verdict := "none", "—", "—"
	if len(f.values) > 0 {
		goal = fmt.Sprintf("%s %s%s", f.target.relation, number(f.target.bound), f.unit)
		result = fmt.Sprintf("**%s**%s (%s–%s)", number(f.value()), f.unit, number(slices.Min(f.values)), number(slices.Max(f.values)))
		verdict = "pass"
		if !f.met() {
			verdict = "**miss**"
		}
	}
	return "| " + strings.Join([]string{f.name, goal, result, verdict, f.measured, f.durability}, " | ") + " |\n"
}

// results are two tables: Formulary by itself, and beside its peers.
type results struct{ figures, peers []figure }

func (r *results) add(f figure)     { r.figures = append(r.figures, f) }
func (r *results) addPeer(f figure) { r.peers = append(r.peers, f) }

func (r *results) missed() []string {
	var names []string
	for _, f := range slices.Concat(r.figures, r.peers) {
		if !f.met() {
			names = append(names, f.name)
		}
	}
	return names
}

const notes = `
## How to read it

- Ratios are taken within a round, in which the things that are compared take turns of a quarter of a second, and the
  median over the rounds is what counts; the range over the rounds follows in brackets. Absolute values are medians of
  their own. A turn is at least one list, and creates beside the slow reader and creates alone are measured one after the
  other. Creates during uploads and creates alone take turns of a second; at the end of a turn the files that are being
  sent end, too, and the server has stored them before the other side begins.
- Load generator and server share the machine's cores, as do the load generator and the bare server: absolute rates
  would be higher with the generator elsewhere. It speaks just enough HTTP over keep-alive connections.
- *Bare* is net/http with a route table that reads the request's body and answers with a fixed body of the same length:
  no authentication, no validation, no storage, no log.
- The server runs with its default settings. Each request carries Basic credentials (bcrypt of cost 10, verified once
  and then remembered), and the access log goes to a file on the disk that holds the database.
- *Durable* means that SQLite has synced the write-ahead log before a request is answered. What the disk makes of that
  is its own matter: on a virtual machine it is the host that decides. The rate of raw inserts, each with a sync of its
  own, tells what a sync costs here. Concurrent creates share one.
- The raw insert loops run within the generator's process, through the same SQLite engine. One stores the same rows in the
  server's own tables, as all raw sides here do; the other has no index by user to keep. A single connection waits for every
  answer before it asks again: what is measured is the way there and back, for which the raw loops have no counterpart.
- The raw scan loop reads the same file within the generator's process and sends its bytes nowhere. Lists are asked for
  without compression.
- Every create and update sends a value that was not sent before: SQLite skips a write that changes nothing.
  Creates with an Idempotency-Key send a new key each instead.
- The million is there before the creates that are measured upon it, and grows by them. The side with none stored
  begins every round with an empty data directory.
- Start and lists find the database in the page cache: this is a restart, not a cold boot.
- The slow reader takes 64 KiB every 50 ms.
- Pages are asked for by 64 users, each with a session and a connection, without compression; with it is told beside. They
  take turns with the API's reads of one among 10,000 on the same server. The results page has the 50 newest rows and the
  summary of all, which the server keeps for a while.
`

func (r *results) markdown(m machine, command string) string {
	var b strings.Builder
	b.WriteString("# Results\n\nWritten by `" + command + "`, which repeats it.\n\n")
	fmt.Fprintf(&b, "- %s\n- %s, %d cores\n- %s\n- data on %s\n\n", m.goVersion, m.cpu, m.cores, m.kernel, m.filesystem)
	writeTable(&b, r.figures)
	if len(r.peers) > 0 {
		b.WriteString("\n## Beside the peers\n\n")
		writeTable(&b, r.peers)
	}
	b.WriteString(notes)
	if len(r.peers) > 0 {
		b.WriteString(peerNotes)
	}
	return b.String()
}

func writeTable(b *strings.Builder, figures []figure) {
	b.WriteString("| figure | target | result | | measured | durability |\n|---|---|---|---|---|---|\n")
	for _, f := range figures {
		b.WriteString(f.row())
	}
}

func each[T any](all []T, value func(T) float64) []float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = value(v)
	}
	return values
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// number shows two decimals of what is small, and one of what is not.
func number(v float64) string {
	if math.Abs(v) < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func rate(perSecond float64) string { return grouped(perSecond) + "/s" }

// grouped writes a whole number with a comma after every three digits.
func grouped(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func short(d time.Duration) string {
	if d < time.Millisecond {
		return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
func megabytes(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }
