package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a server under measurement.
type process struct {
	cmd     *exec.Cmd
	addr    string
	log     string        // file that its output goes to
	hello   message       // asked before each measurement, for what is slow but once
	started time.Duration // from its start to its first answer
	exited  chan struct{}
	exitErr error // to be read when exited
}

// startServer starts formulary with its default settings on a data directory.
// The access log is on by default, and goes to a file on the same disk.
func (b *bench) startServer(ctx context.Context, data string) (*process, error) {
	return b.startBinary(ctx, b.binary, data)
}

func (b *bench) startBinary(ctx context.Context, binary, data string) (*process, error) {
	return start(ctx, data+".log", binary, b.serverArgs("--data", data)...)
}

// serverArgs are for formulary on the benchmark's pages, and more.
func (b *bench) serverArgs(more ...string) []string {
	return append([]string{"serve", "--pages", b.site.pages, "--users", b.site.users}, more...)
}

// dataDir names a data directory that is not there yet.
func (b *bench) dataDir(name string) string { return filepath.Join(b.work, name) }

// start runs a server that takes --listen, and waits until /healthz answers.
func start(ctx context.Context, log, binary string, args ...string) (*process, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p := &process{addr: addr, log: log, hello: logInMessage(), exited: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, binary, append(args, "--listen", addr)...) //nolint:gosec // a binary of our own
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 15 * time.Second

	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.exitErr = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitHealthy(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.started = time.Since(begun)
	return p, nil
}

// freeAddr finds a port that is free now. That somebody takes it before the
// server does is possible, and seen at once.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// awaitHealthy asks until there is an answer. A refused connection costs next
// to nothing, so it is tried often: the time that this takes is a figure.
func (p *process) awaitHealthy(ctx context.Context) error {
	probe := message{name: "/healthz", start: "GET /healthz", rest: " HTTP/1.1\r\nHost: bench\r\n\r\n", status: 200}
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := once(ctx, p.addr, probe)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("server ended at once: %w\n%s", p.exitErr, p.tail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Microsecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server does not answer: %w\n%s", err, p.tail())
		}
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the server the way an operator does.
func (p *process) stop() error {
	select {
	case <-p.exited:
	default:
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
	}
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
	if p.exitErr != nil {
		return fmt.Errorf("stop server: %w\n%s", p.exitErr, p.tail())
	}
	return nil
}

// tail is the end of the server's log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// cpuTime is the processor time that a process has taken, user and system; 0
// is this process. Each process has a clock for it, and the number of that
// clock is made from the process's.
func cpuTime(pid int) (time.Duration, error) {
	const scheduled = 2 // as the scheduler counts it, to the nanosecond
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &used); err != nil { //nolint:gosec // process ids are small
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// memory reads a size such as VmRSS of a process, in bytes.
func memory(pid int, name string) (float64, error) {
	text, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return float64(kib) * 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of process %d", name, pid)
}

// forgetPeak makes the present size the peak. Where the kernel does not offer
// it the peak is that since the start, which can only be more.
func forgetPeak(pid int) { _ = os.WriteFile(procFile(pid, "clear_refs"), []byte("5"), 0o200) }

func procFile(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}
