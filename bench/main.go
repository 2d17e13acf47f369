// Command bench measures Formulary: the real binary, in its own process, over HTTP, in turns with
// other programs that do such work on the same machine. It writes RESULTS.md, and fails when a target is missed.
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
	"strings"
	"syscall"
	"time"
)

const (
	// workDir is beside the code and not in the system's temporary folder, which may be in memory:
	// there a sync would cost nothing.
	workDir     = ".work"
	resultsFile = "RESULTS.md"
	usersFile   = "users.htpasswd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == plainCommand { // it has started itself as a server
		err = servePlain(ctx, os.Args[2:])
	} else {
		err = run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has just been called
	}
}

// filled is a store that a program has filled.
type filled struct {
	program program
	store   string
}

// bench is one run of the whole.
type bench struct {
	interval     time.Duration // of each side in a round
	rounds       int
	rows         int64 // of the large store
	only         *regexp.Regexp
	work         string // folder of this run
	binary       string // the built formulary
	before       string // an older formulary to compare with; "" for none
	pocketBinary string // the built PocketBase, once needed
	made         map[filled]bool
	postgres     *cluster // once needed
}

func run(ctx context.Context) (err error) {
	b, err := newBench()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.tearDown(context.WithoutCancel(ctx))) }()
	complete := b.only.String() == "" && b.before == ""
	if changes := output(ctx, "git", "status", "--porcelain"); complete && changes != "" {
		return fmt.Errorf("commit first, because %s names the commit; or measure a part, with -only or -before:\n%s", resultsFile, changes)
	}
	if err := b.setUp(ctx); err != nil {
		return err
	}
	command := strings.TrimSpace("cd bench && go run . " + strings.Join(os.Args[1:], " "))
	text := fmt.Sprintf("# Results\n\nWritten by `%s`, which repeats it.\n\n%s", command, describeMachine(ctx, b.work))
	var missed []string
	for _, t := range tables {
		var rows string
		for _, m := range t.measurements {
			if !b.only.MatchString(m.name) {
				continue
			}
			fmt.Println(m.name)
			figures, err := b.measure(ctx, &m)
			if err != nil {
				return fmt.Errorf("measure %s: %w", m.name, err)
			}
			for _, f := range figures {
				f.name = strings.ReplaceAll(f.name, "{rows}", grouped(float64(b.rows)))
				rows += f.row()
				if !f.met() {
					missed = append(missed, f.name)
				}
			}
		}
		if rows != "" {
			text += fmt.Sprintf(head, t.title) + rows
		}
	}
	text += "\n" + notes
	fmt.Print("\n", text)
	if complete {
		err = os.WriteFile(resultsFile, []byte(text), 0o644) //nolint:gosec // it is there to be read
	}
	if len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("missed targets: %s", strings.Join(missed, "; ")))
	}
	return err
}

func newBench() (*bench, error) {
	seconds := flag.Float64("seconds", 3, "how long each side is measured in a round")
	rounds := flag.Int("rounds", 5, "rounds of which the median is taken")
	only := flag.String("only", "", "regexp of the measurements to run, which are printed and not written to "+resultsFile)
	before := flag.String("before", "", "an older formulary: its processor time is compared, under the same load at the same time")
	rows := flag.Int64("rows", 1_000_000, "submissions of the large store: for start, memory, results and questions")
	flag.Parse()
	re, err := regexp.Compile(*only)
	if err != nil {
		return nil, fmt.Errorf("flag -only: %w", err)
	}
	if *seconds <= 0 || *rounds < 1 || *rows < listRows || flag.NArg() > 0 {
		return nil, fmt.Errorf("give a positive -seconds and -rounds, -rows from %d on, and no arguments", listRows)
	}
	if *before != "" {
		if *before, err = exec.LookPath(*before); err != nil {
			return nil, fmt.Errorf("flag -before: %w", err)
		}
	}
	interval := time.Duration(*seconds * float64(time.Second))
	return &bench{interval: interval, rounds: *rounds, only: re, rows: *rows, before: *before, made: map[filled]bool{}}, nil
}

// setUp builds the binary and what it serves.
func (b *bench) setUp(ctx context.Context) error {
	if err := os.MkdirAll(workDir, 0o700); err != nil {
		return err
	}
	here, err := filepath.Abs(workDir)
	if err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp(here, "run-"); err != nil {
		return err
	}
	if filesystemOf(ctx, b.work) == "tmpfs" {
		return errors.New("this folder is in memory (tmpfs): durable writes can't be measured here")
	}
	if b.binary, err = b.build(ctx, "formulary", "..", "./cmd/formulary"); err != nil {
		return err
	}
	return makeUser(ctx, b.path(usersFile), b.binary)
}

// build builds a program of a module.
func (b *bench) build(ctx context.Context, name, module, pkg string) (string, error) {
	fmt.Println("building", name)
	binary := b.path(name)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, pkg) //nolint:gosec // paths of our own
	build.Dir = module
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

func (b *bench) tearDown(ctx context.Context) error {
	if b.work == "" {
		return nil
	}
	var err error
	if b.postgres != nil {
		err = b.postgres.pgCtl(ctx, "stop", "-m", "fast")
	}
	return errors.Join(err, os.RemoveAll(b.work))
}

// progress says how a round went.
func progress(round int, format string, args ...any) {
	fmt.Printf("  round %d: %s\n", round+1, fmt.Sprintf(format, args...))
}
