package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine is what the figures depend on besides the code.
type machine struct {
	goVersion, cpu, kernel, filesystem string
	cores                              int
}

func describeMachine(ctx context.Context, dir string) machine {
	return machine{
		goVersion:  goVersion(ctx),
		cpu:        cpuModel(),
		cores:      runtime.NumCPU(),
		kernel:     kernel(),
		filesystem: filesystemOf(dir),
	}
}

// goVersion is that of the go command, which has built the server; this
// program may have been built by another.
func goVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return runtime.Version()
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor of unknown model"
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "kernel of unknown version"
	}
	return "Linux " + strings.TrimSpace(string(text))
}

// filesystemOf names the type of the file system that a folder is on.
func filesystemOf(dir string) string {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	longest, name := "", "a file system of unknown type"
	for line := range strings.Lines(string(text)) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 1 {
			continue
		}
		point := fields[4]
		within := dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")
		if within && len(point) >= len(longest) { // of two mounts on one point the later counts
			longest, name = point, kind[0]
		}
	}
	return name
}
