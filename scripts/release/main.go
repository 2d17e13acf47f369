// Command release writes what people install to dist/: archives, packages for Debian and Red Hat, an image for
// containers, a list of what is inside (SBOM) and the checksums of all. "make release VERSION=0.1.0" calls it. It
// needs Go and git. The same commit and the same Go give the same bytes.
//
// It runs twice: first where people work, then in a clone of the commit.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
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
	dist := flag.String("dist", "", "write here, from the directory as it is: for this program in its clone")
	flag.Parse()
	version, wanted := flag.Arg(0), flag.Args()[min(1, flag.NArg()):]
	var err error
	if *dist == "" {
		err = fromClone("../..", version, wanted)
	} else {
		err = fromHere("../..", *dist, version, wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// fromClone makes a release in a clone of the commit, by the program that is there. So no file gets in that git
// ignores, and no change that it was told not to see.
func fromClone(root, version string, wanted []string) error {
	r, err := newRelease(root, version)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "formulary-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := clone(r.root, filepath.Join(work, "formulary")); err != nil {
		return err
	}
	settings, err := goSettings()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	args := append([]string{"run", ".", "-dist", r.dist, version}, wanted...)
	cmd := exec.Command(goCommand(), args...) //nolint:noctx,gosec // it ends by Ctrl-C, and this program chooses it
	cmd.Dir, cmd.Env = filepath.Join(work, "formulary/scripts/release"), append(os.Environ(), settings...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// clone copies the commit of a repository. The user's settings of git must not change the files.
func clone(root, to string) error {
	_, err := command(".", "git", "clone", "--quiet", "--no-tags", "--template=", "-c", "core.hooksPath=/dev/null",
		"-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", root, to)
	return err
}

// fromHere makes a release of the files that are below root. To try something, the platforms that are wanted can be
// named, such as linux/amd64.
func fromHere(root, dist, version string, wanted []string) error {
	r, err := describe(root, version)
	if err != nil {
		return err
	}
	r.dist = dist
	return r.write(slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool {
		return len(wanted) > 0 && !slices.Contains(wanted, p.os+"/"+p.arch)
	}))
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
	changes, err := command(root, "git", "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("there are changes that are not committed: commit them, or take them back\n%s", changes)
	}
	tags, err := command(root, "git", "tag", "--points-at", "HEAD", "--list", "v*")
	if err != nil {
		return nil, err
	}
	if tags != "" && !slices.Contains(strings.Split(tags, "\n"), "v"+version) {
		return nil, fmt.Errorf("the commit has the tag %s, but not v%s", strings.ReplaceAll(tags, "\n", ", "), version)
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
	images := map[platform][]file{}
	for _, p := range platforms {
		fmt.Println("building for", p.os, p.arch)
		files, err := r.installables(p, documents, work)
		if err != nil {
			return err
		}
		if p.os == "linux" {
			images[p] = files[:3] // binary, THIRD-PARTY.txt, LICENSE
		}
	}
	if err := r.image(images, filepath.Join(work, "oci")); err != nil {
		return err
	}
	return r.sums()
}

// installables writes the archive of a platform, for Linux also packages, and the list of what is inside. It returns
// what they have in common.
func (r *release) installables(p platform, documents []file, work string) ([]file, error) {
	path := filepath.Join(work, "formulary_"+p.os+"_"+p.arch)
	binary, err := r.compile(p, path)
	if err != nil {
		return nil, err
	}
	licences, err := r.licences(p)
	if err != nil {
		return nil, err
	}
	files := append([]file{binary, licences}, documents...)
	if p.os != "linux" {
		return files, r.archive(p, files)
	}
	if p.arch == "amd64" {
		err = r.sbom(path)
	}
	archive, packages := r.archive(p, files), r.packages(p, files, filepath.Join(work, p.arch))
	return files, errors.Join(err, archive, packages)
}

// read returns a file of the repository under another name.
func (r *release) read(path, name string, mode fs.FileMode) (file, error) {
	data, err := os.ReadFile(filepath.Join(r.root, path))
	return file{name: name, mode: mode, data: data}, err
}

// readAll returns the files below a directory that match patterns, under their own names.
func readAll(dir string, patterns ...string) (list []file, err error) {
	root := os.DirFS(dir)
	for _, pattern := range patterns {
		names, err := fs.Glob(root, pattern) // sorted
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, err
			}
			list = append(list, file{name: name, mode: 0o644, data: data})
		}
	}
	return list, nil
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
