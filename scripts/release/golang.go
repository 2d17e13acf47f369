package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// places are the settings of Go that say where modules come from and where files are kept. They are the user's.
var places = []string{
	"GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH", "GOTOOLCHAIN",
	"GOPATH", "GOMODCACHE", "GOCACHE", "GOTMPDIR",
}

// goSettings is the environment of the go command. No other setting of the user's may change the bytes, be it in
// the environment or written by "go env -w". An empty GOFLAGS would leave that of Go's own go.env.
func goSettings() ([]string, error) {
	values, err := command(".", goCommand(), append([]string{"env"}, places...)...)
	if err != nil {
		return nil, err
	}
	settings := []string{
		"GOENV=off", "GOFLAGS=-trimpath", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG=", "GOWORK=off", "GO111MODULE=",
		"GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GO_EXTLINK_ENABLED=",
	}
	for i, value := range strings.Split(values, "\n") {
		settings = append(settings, places[i]+"="+value)
	}
	return settings, nil
}

// golang runs the go command for a platform.
func (r *release) golang(p platform, args ...string) (string, error) {
	settings, err := goSettings()
	if err != nil {
		return "", err
	}
	settings = append(settings, "GOOS="+p.os, "GOARCH="+p.arch, goCommand())
	return command(r.root, "env", append(settings, args...)...)
}

func goCommand() string {
	if name := os.Getenv("GO"); name != "" {
		return name
	}
	return "go"
}

// compile builds the binary of a platform. What it knows of its commit is set here: what Go finds out by itself
// depends on the state of the directory.
func (r *release) compile(p platform, path string) (file, error) {
	const cli = "github.com/formulary/formulary/internal/cli"
	flags := fmt.Sprintf("-s -w -buildid= -X %s.version=%s -X %s.commit=%s -X %s.commitDay=%s",
		cli, r.version, cli, r.commit, cli, r.time.Format(time.DateOnly))
	_, err := r.golang(p, "build", "-buildvcs=false", "-ldflags", flags, "-o", path, "./cmd/formulary")
	if err != nil {
		return file{}, err
	}
	data, err := os.ReadFile(path)
	return file{name: "bin/formulary", mode: 0o755, data: data}, err
}
