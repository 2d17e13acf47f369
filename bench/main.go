// Command bench measures Formulary: the real binary, in a process of its own,
// over HTTP, beside something bare that does the least such work can take on
// the same machine in the same minute. It writes RESULTS.md and fails when a
// target is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// workDir lies beside the code and not in the system's temporary folder, which
// may be in memory: there, getting a commit to the disk would cost nothing.
const workDir = ".work"

const resultsFile = "RESULTS.md"

var errMissed = errors.New("a target was missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runCommand(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has just been called
	}
}

// runCommand is the benchmark, unless it has started itself as a server.
func runCommand(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case bareCommand:
			return serveBare(ctx, args[1:])
		case pgxCommand:
			return servePgx(ctx, args[1:])
		}
	}
	return run(ctx)
}

// bench is one run of the whole.
type bench struct {
	interval time.Duration // that each side is measured for in a round
	rounds   int
	only     *regexp.Regexp
	work     string // folder of this run
	binary   string // the built formulary
	before   string // an older formulary to compare with; "" for none
	site     site
	results  results
	full     string // data directory with a million submissions, once made

	rows       int64    // stored in PostgreSQL where many are
	pocketBase string   // the built PocketBase, once needed
	postgres   *cluster // once needed
}

// measurements in the order they run. Those of the million share a database
// that takes a while to fill, and the first of them wants it untouched. From
// peer-create on the figures are beside the peers.
var measurements = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"create-64", (*bench).createMany},
	{"create-keys", (*bench).createWithKeys},
	{"create-1", (*bench).createSerially},
	{"create-uploads", (*bench).createDuringUploads},
	{"update-64", (*bench).updateMany},
	{"read-64", (*bench).readMany},
	{"list", (*bench).list},
	{"formats", (*bench).formats},
	{"million-start", (*bench).millionStart},
	{"million-formats", (*bench).millionFormats},
	{"million-filter", (*bench).millionFilter},
	{"pages-form", (*bench).pagesForm},
	{"pages-results", (*bench).pagesResults},
	{"pages-sessions", (*bench).pagesSessions},
	{"million-create", (*bench).millionCreate},
	{"million-slow-reader", (*bench).millionSlowReader},
	{"peer-create", (*bench).peerCreate},
	{"peer-read", (*bench).peerRead},
	{"peer-list", (*bench).peerList},
	{"peer-slow-disk", (*bench).peerSlowDisk},
	{"pg-create", (*bench).pgCreate},
	{"pg-create-uploads", (*bench).pgCreateDuringUploads},
	{"pg-read", (*bench).pgRead},
	{"pg-list", (*bench).pgList},
	{"pg-filter", (*bench).pgFilter},
	{"pg-pages-form", (*bench).pgPagesForm},
	{"pg-pages-results", (*bench).pgPagesResults},
	{"pg-replicas", (*bench).pgReplicas},
	{"pg-rows", (*bench).pgRows},
	{"before", (*bench).compareBefore},
}

func run(ctx context.Context) (err error) {
	b, err := newBench()
	if err != nil {
		return err
	}
	if err := b.setUp(ctx); err != nil {
		return errors.Join(err, b.tearDown())
	}
	defer func() { err = errors.Join(err, b.tearDown()) }()

	partial := false
	for _, m := range measurements {
		if !b.only.MatchString(m.name) {
			partial = true
			continue
		}
		fmt.Println(m.name)
		if err := m.run(b, ctx); err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
	}
	return b.report(ctx, partial)
}

func newBench() (*bench, error) {
	seconds := flag.Float64("seconds", 3, "how long each side is measured in a round")
	rounds := flag.Int("rounds", 5, "rounds of which the median is taken")
	only := flag.String("only", "", "regexp of the measurements to run; what is not all of them is printed, but not written to "+resultsFile)
	before := flag.String("before", "", "an older formulary: its creates, reads and lists are measured in turns with today's")
	rows := flag.Int64("rows", 10_000_000, "submissions that pg-rows stores; the results pages are of as many, up to a million")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), "Run in the folder bench/ as: go run . [flags]")
		flag.PrintDefaults()
		for _, m := range measurements {
			_, _ = fmt.Fprintln(flag.CommandLine.Output(), "    ", m.name)
		}
	}
	flag.Parse()
	re, err := regexp.Compile(*only)
	if err != nil {
		return nil, fmt.Errorf("flag -only: %w", err)
	}
	if *seconds <= 0 || *rounds < 1 || *rows < fewRows || flag.NArg() > 0 {
		return nil, fmt.Errorf("give a positive -seconds and -rounds, -rows from %d on, and no arguments", fewRows)
	}
	if _, err := os.Stat(filepath.Join("..", "cmd", "formulary")); err != nil {
		return nil, fmt.Errorf("run it in the folder bench/: %w", err)
	}
	return &bench{interval: time.Duration(*seconds * float64(time.Second)), rounds: *rounds, only: re, rows: *rows, before: *before}, nil
}

// setUp builds the binary and what it serves.
func (b *bench) setUp(ctx context.Context) error {
	if err := os.MkdirAll(workDir, 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(workDir, "run-")
	if err != nil {
		return err
	}
	if b.work, err = filepath.Abs(work); err != nil {
		return err
	}
	if fs := filesystemOf(b.work); fs == "tmpfs" {
		return errors.New("this folder is in memory (tmpfs): durable writes can't be measured here")
	}
	if b.binary, err = b.build(ctx, "formulary", "..", "./cmd/formulary"); err != nil {
		return err
	}
	b.site, err = makeSite(ctx, b.work, b.binary)
	return err
}

// build builds a program in the folder of its module.
func (b *bench) build(ctx context.Context, name, module, pkg string, flags ...string) (string, error) {
	fmt.Println("building", name)
	binary := filepath.Join(b.work, name)
	args := slices.Concat([]string{"build", "-trimpath", "-o", binary}, flags, []string{pkg})
	build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // paths of our own
	build.Dir = module
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

func (b *bench) tearDown() error {
	if b.work == "" {
		return nil
	}
	err := errors.Join(b.postgres.stop(), os.RemoveAll(b.work))
	_ = os.Remove(workDir) // another run may still be in it
	return err
}

func (b *bench) report(ctx context.Context, partial bool) error {
	text := b.results.markdown(describeMachine(ctx, b.work), b.command())
	fmt.Print("\n", text)
	if !partial {
		if err := os.WriteFile(resultsFile, []byte(text), 0o644); err != nil { //nolint:gosec // it is there to be read
			return err
		}
	}
	if missed := b.results.missed(); len(missed) > 0 {
		return fmt.Errorf("%w: %s", errMissed, strings.Join(missed, "; "))
	}
	return nil
}

// command is what repeats the run.
func (b *bench) command() string {
	args := strings.Join(os.Args[1:], " ")
	if args == "" {
		return "make bench"
	}
	return "cd bench && go run . " + args
}

// progress says how a round went.
func progress(round int, format string, args ...any) {
	fmt.Printf("  round %d: %s\n", round+1, fmt.Sprintf(format, args...))
}
