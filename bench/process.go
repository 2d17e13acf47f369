package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a server under measurement, and what can be asked of it.
type process struct {
	protocol
	cmd     *exec.Cmd
	addr    string
	log     string        // file that its output goes to
	started time.Duration // from its start to its first answer
	exited  chan struct{}
	exitErr error // to be read when exited
}

// protocol is how a program is asked to do what is measured.
type protocol struct {
	hello         message // sent before each measurement, for what is slow only once, such as bcrypt
	create        message
	read          message                   // of one among readRows
	lists         func(rows int64) []string // the paths that together list so many rows
	questions     map[string]string         // paths
	authorization string
}

// start runs a server that takes --listen, and waits until /healthz answers.
func start(ctx context.Context, how protocol, log, binary string, args ...string) (*process, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p := &process{protocol: how, addr: addr, log: log, exited: make(chan struct{})}
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

// freeAddr finds a port that is free now. If another process takes it before the server does, the start fails.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// awaitHealthy asks until there is an answer. A refused connection costs next to nothing, so it
// is tried often: the time that this takes is a figure.
func (p *process) awaitHealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := once(ctx, p.addr, getMessage("/healthz", "none"))
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("server ended at once: %w\n%s", p.exitErr, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("server does not answer: %w\n%s", err, p.tail())
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// stop ends the server the way an operator does.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
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
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}

// cpuTime is the processor time that a server has taken, user and system. Linux has a clock for it in
// each process; the number of the clock is made from that of the process.
func (p *process) cpuTime() time.Duration {
	const scheduled = 2 // as the scheduler counts it, to the nanosecond
	var used unix.Timespec
	// It fails if the server has ended. Then its requests fail, too, and nothing is reported.
	_ = unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|scheduled), &used) //nolint:gosec // process ids are small
	return time.Duration(used.Nano())
}

// memory reads a size such as VmRSS of a server, in MiB.
func (p *process) memory(name string) (float64, error) {
	text, err := os.ReadFile(p.procFile("status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in %s", name, p.procFile("status"))
}

// resetPeak makes the present size the peak. Where the kernel does not offer it the peak is that
// since the start, which can only be more.
func (p *process) resetPeak() { _ = os.WriteFile(p.procFile("clear_refs"), []byte("5"), 0o200) }

func (p *process) procFile(name string) string {
	return "/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/" + name
}
