// Command release writes what people install to dist/: archives, packages for Debian and Red Hat, an image for
// containers, a list of what is inside (SBOM) and the checksums of all. "make release VERSION=0.1.0" calls it. It
// needs Go and git. The same commit and the same Go give the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run takes the version and, to try something, the platforms that are wanted, such as linux/amd64.
func run(args []string) error {
	version := ""
	if len(args) > 0 {
		version = args[0]
	}
	r, err := newRelease("../..", version)
	if err != nil {
		return err
	}
	wanted := slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool {
		return len(args) > 1 && !slices.Contains(args[1:], p.os+"/"+p.arch)
	})
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	return r.write(wanted)
}

// platform is a pair of GOOS and GOARCH.
type platform struct{ os, arch string }

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// release is a commit with the version that it gets.
type release struct {
	version, commit string
	time            time.Time // of the commit
	root, dist      string    // directories
}

// file is a part of an archive, a package or the image.
type file struct {
	name  string // with slashes, and none at the beginning
	mode  fs.FileMode
	owner int // user and group
	data  []byte
}

var versions = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-rc\.[1-9]\d*)?$`)

// newRelease refuses what could not be made again: a directory with changes that no commit has.
func newRelease(root, version string) (*release, error) {
	if !versions.MatchString(version) {
		return nil, fmt.Errorf("%q is no version: use make release VERSION=0.1.0, or 0.1.0-rc.1 before it", version)
	}
	changes, err := command(root, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("there are changes that are not committed: commit them, or take them back\n%s", changes)
	}
	return describe(root, version)
}

// describe reads what is to know of the commit.
func describe(root, version string) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	head, err := command(root, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, stamp, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return nil, err
	}
	return &release{version, commit, time.Unix(seconds, 0).UTC(), root, filepath.Join(root, "dist")}, nil
}

// command returns what a command prints, without the last line end.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...) //nolint:noctx,gosec // it ends by Ctrl-C, and this program chooses it
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, &stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// write makes the files of a release for some platforms, and their checksums in the end.
func (r *release) write(platforms []platform) error {
	work, err := os.MkdirTemp("", "formulary-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(r.dist, 0o755); err != nil { //nolint:gosec // all may read it
		return err
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	images := map[platform][]byte{} // by platform, the binary
	for _, p := range platforms {
		fmt.Println("building for", p.os, p.arch)
		path := filepath.Join(work, "formulary_"+p.os+"_"+p.arch)
		binary, err := r.compile(p, path)
		if err != nil {
			return err
		}
		if err := r.archive(p, append([]file{binary}, documents...)); err != nil {
			return err
		}
		if p.os != "linux" {
			continue
		}
		images[p] = binary.data
		if err := r.packages(p, append([]file{binary}, documents...), filepath.Join(work, p.arch)); err != nil {
			return err
		}
		if p.arch == "amd64" {
			if err := r.sbom(path); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.image(images, filepath.Join(work, "oci")), r.sums())
}

// compile builds the binary of a platform. What it knows of its commit is set here: what Go finds out by itself
// depends on the state of the directory.
func (r *release) compile(p platform, path string) (file, error) {
	const cli = "github.com/formulary/formulary/internal/cli"
	flags := fmt.Sprintf("-s -w -buildid= -X %s.version=%s -X %s.commit=%s -X %s.commitDay=%s",
		cli, r.version, cli, r.commit, cli, r.time.Format(time.DateOnly))
	_, err := command(r.root, "env", "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off",
		goCommand(), "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", path, "./cmd/formulary")
	if err != nil {
		return file{}, err
	}
	data, err := os.ReadFile(path)
	return file{name: "formulary", mode: 0o755, data: data}, err
}

func goCommand() string {
	if name := os.Getenv("GO"); name != "" {
		return name
	}
	return "go"
}

// read returns a file of the repository under another name.
func (r *release) read(path, name string, mode fs.FileMode) (file, error) {
	data, err := os.ReadFile(filepath.Join(r.root, path))
	return file{name: name, mode: mode, data: data}, err
}

// create writes one file of the release.
func (r *release) create(name string, write func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(r.dist, name), b.Bytes(), 0o644) //nolint:gosec // all may read it
}

// sums writes the checksums of all files, as sha256sum -c reads them.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.dist) // sorted by name
	if err != nil {
		return err
	}
	return r.create("SHA256SUMS", func(b *bytes.Buffer) error {
		for _, entry := range entries {
			data, err := os.ReadFile(filepath.Join(r.dist, entry.Name()))
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "%x  %s\n", sha256.Sum256(data), entry.Name())
		}
		return nil
	})
}
