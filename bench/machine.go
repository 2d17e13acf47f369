package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// describeMachine lists what the figures depend on besides the code.
func describeMachine(ctx context.Context, dir string) string {
	return fmt.Sprintf("- commit %s\n- %s\n- %s, %d cores\n- %s\n- data on %s\n",
		output(ctx, "git", "describe", "--always", "--dirty"), output(ctx, "go", "env", "GOVERSION"),
		output(ctx, "sed", "-n", "0,/^model name.*: /s///p", "/proc/cpuinfo"), runtime.NumCPU(),
		output(ctx, "uname", "-srm"), filesystemOf(ctx, dir))
}

// filesystemOf names the type of the file system of a folder.
func filesystemOf(ctx context.Context, dir string) string {
	return strings.TrimSpace(strings.TrimPrefix(output(ctx, "df", "--output=fstype", dir), "Type"))
}

func output(ctx context.Context, command string, args ...string) string {
	out, err := exec.CommandContext(ctx, command, args...).Output() //nolint:gosec // the commands above
	if err != nil {
		return command + " failed: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}
