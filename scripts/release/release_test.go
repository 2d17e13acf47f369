package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sassoftware/go-rpmutils"

	"github.com/formulary/formulary/internal/cli"
	"github.com/formulary/formulary/internal/testkit"
)

// What a version may be, and that nothing is released which no commit has, or another version.
func TestRefused(t *testing.T) {
	root, git := repository(t)
	for _, version := range []string{"", "v0.1.0", "0.1", "0.1.0.0", "01.1.0", "0.1.0-", "0.1.0-rc1", "0.1.0 linux", "../0.1.0", "0.1.0\n"} {
		if _, err := newRelease(root, version); err == nil || !strings.Contains(err.Error(), "make release VERSION=0.1.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
	for _, version := range []string{"0.1.0", "10.20.30", "1.0.0-rc.1"} {
		if _, err := newRelease(root, version); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
	git("tag", "v0.2.0-rc.1")
	git("tag", "v0.2.0")
	if _, err := newRelease(root, "0.2.0"); err != nil {
		t.Errorf("with its tag: %v", err)
	}
	if _, err := newRelease(root, "0.1.0"); err == nil || !strings.Contains(err.Error(), "has the tag v0.2.0, v0.2.0-rc.1, but not v0.1.0") {
		t.Errorf("with the tags of other versions: %v", err)
	}
	git("config", "status.showUntrackedFiles", "no")
	must(t, os.WriteFile(filepath.Join(root, "new"), nil, 0o600))
	if _, err := newRelease(root, "0.2.0"); err == nil || !strings.Contains(err.Error(), "changes that are not committed") || !strings.Contains(err.Error(), "?? new") {
		t.Errorf("with a new file: %v", err)
	}
}

// What git does not show, by its settings, gets into no release. Neither do the user's settings change files.
func TestClone(t *testing.T) {
	root, git := repository(t)
	hook := filepath.Join(t.TempDir(), "post-checkout")
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch hook\n"), 0o700))
	user := filepath.Join(t.TempDir(), "gitconfig")
	must(t, os.WriteFile(user, fmt.Appendf(nil, "[core]\nexcludesFile = %s\nautocrlf = true\nhooksPath = %s\n",
		filepath.Join(root, ".git/hidden"), filepath.Dir(hook)), 0o600))
	must(t, os.WriteFile(filepath.Join(root, ".git/hidden"), []byte("*.go\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", user)
	must(t, os.WriteFile(filepath.Join(root, "hidden.go"), nil, 0o600))
	git("update-index", "--assume-unchanged", "text")
	must(t, os.WriteFile(filepath.Join(root, "text"), []byte("other\n"), 0o600))
	if _, err := newRelease(root, "0.1.0"); err != nil {
		t.Fatalf("git shows it: %v", err)
	}
	to := filepath.Join(t.TempDir(), "clone")
	must(t, clone(root, to))
	files, err := filepath.Glob(to + "/*") // with .git
	must(t, err)
	text, err := os.ReadFile(filepath.Join(to, "text"))
	must(t, err)
	if len(files) != 2 || string(text) != "text\n" {
		t.Errorf("%v, text is %q", files, text)
	}
}

// repository makes one with a commit, in which the file "text" is.
func repository(t *testing.T) (root string, git func(args ...string)) {
	t.Helper()
	root = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)
		_, err := command(root, "git", args...)
		must(t, err)
	}
	must(t, os.WriteFile(filepath.Join(root, "text"), []byte("text\n"), 0o600))
	git("init", "--quiet")
	git("add", "text")
	git("commit", "--quiet", "-m", "x")
	return root, git
}

// Settings of the user change where modules come from, and no bytes.
func TestGoSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	must(t, os.WriteFile(file, []byte("GOFLAGS=-tags=other\nGOFIPS140=latest\nGOEXPERIMENT=nogreenteagc\nGOPROXY=https://proxy.example.org\nGONOSUMDB=example.org\n"), 0o600))
	t.Setenv("GOENV", file)
	for name, value := range map[string]string{"GOFLAGS": "", "GOFIPS140": "", "GOEXPERIMENT": "", "GOPROXY": "", "GONOSUMDB": "", "GOAMD64": "v3", "GODEBUG": "gotypesalias=0", "CGO_ENABLED": "1"} {
		t.Setenv(name, value)
	}
	got, err := (&release{root: "."}).golang(platform{"linux", "amd64"}, "env", "GOFLAGS", "GOFIPS140", "GOEXPERIMENT", "GOAMD64", "GODEBUG", "CGO_ENABLED", "GOPROXY", "GONOSUMDB")
	must(t, err)
	testkit.Same(t, "got", got, "-trimpath\noff\n\nv1\n\n0\nhttps://proxy.example.org\nexample.org")
}

// Names, contents and modes of all that is made for one platform.
func TestRelease(t *testing.T) {
	r, err := describe("../..", "0.1.0")
	must(t, err)
	r.dist = t.TempDir()
	must(t, r.write([]platform{{"linux", "amd64"}}))
	entries, err := os.ReadDir(r.dist)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	same(t, "names", names, []string{
		"SHA256SUMS", "formulary-0.1.0-1.x86_64.rpm", "formulary_0.1.0_amd64.deb", "formulary_0.1.0_linux_amd64.tar.gz",
		"formulary_0.1.0_oci.tar", "formulary_0.1.0_sbom.cdx.json",
	})
	_, err = command(r.dist, "sha256sum", "--check", "--strict", "SHA256SUMS")
	must(t, err)

	archive := r.untar(t, unzip(t, r.open(t, "formulary_0.1.0_linux_amd64.tar.gz")))
	same(t, "archive", list(archive, "formulary_0.1.0_linux_amd64/"), slices.Concat(
		[]string{"-rwxr-xr-x 0 bin/formulary", "-rw-r--r-- 0 completions/_formulary", "-rw-r--r-- 0 completions/formulary.bash", "-rw-r--r-- 0 completions/formulary.fish"},
		readable("-rw-r--r-- 0 "), manuals("-rw-r--r-- 0 man/", ".1")))
	checkLinks(t, archive, "formulary_0.1.0_linux_amd64/")
	binary := find(archive, "formulary_0.1.0_linux_amd64/bin/formulary").data
	checkLicences(t, binary, string(find(archive, "formulary_0.1.0_linux_amd64/THIRD-PARTY.txt").data))
	for name, text := range map[string]string{
		"man/formulary-serve.1":      ".B \\-\\-listen STRING\naddress to listen on. Default: 127.0.0.1:8080. Environment: FORMULARY_LISTEN.\n",
		"man/formulary.1":            ".TH FORMULARY 1 " + r.time.Format(time.DateOnly) + " \"Formulary 0.1.0\"\n.nh\n",
		"completions/formulary.bash": "complete ", "completions/formulary.fish": "complete ", "completions/_formulary": "#compdef formulary\n",
	} {
		if data := find(archive, "formulary_0.1.0_linux_amd64/"+name).data; !strings.Contains(string(data), text) {
			t.Errorf("%s does not have %q:\n%s", name, text, data)
		}
	}
	t.Run("deb", func(t *testing.T) { r.checkDeb(t, binary) })
	t.Run("rpm", func(t *testing.T) { r.checkRPM(t, binary) })
	t.Run("image", func(t *testing.T) { r.checkImage(t, binary) })
	t.Run("sbom", func(t *testing.T) { r.checkSBOM(t) })
}

// A release candidate is older than its release, for dpkg and rpm.
func TestReleaseCandidate(t *testing.T) {
	r := &release{version: "0.1.0-rc.1", time: time.Unix(1_700_000_000, 0).UTC(), root: "../..", dist: t.TempDir()}
	must(t, r.packages(platform{"linux", "amd64"}, nil, t.TempDir()))
	pack, err := rpmutils.ReadRpm(bytes.NewReader(r.open(t, "formulary-0.1.0-rc.1-1.x86_64.rpm")))
	must(t, err)
	if name, err := pack.Header.GetNEVRA(); err != nil || name.String() != "formulary-0:0.1.0~rc.1-1.x86_64.rpm" {
		t.Errorf("%v, %v", name, err)
	}
	control := r.untar(t, unzip(t, members(t, r.open(t, "formulary_0.1.0-rc.1_amd64.deb"))["control.tar.gz"]))
	testkit.Contains(t, "control", string(find(control, "./control").data), "\nVersion: 0.1.0~rc.1\n")
}

// installed are the files that both packages have, with their modes.
var installed = slices.Concat([]string{
	"-rw------- 0 etc/formulary/formulary.env",
	"-rwxr-xr-x 0 usr/bin/formulary",
	"-rw-r--r-- 0 usr/share/doc/formulary/authors.conf",
	"-rw-r--r-- 0 usr/lib/systemd/system/formulary-backup.service",
	"-rw-r--r-- 0 usr/lib/systemd/system/formulary-backup.timer",
	"-rw-r--r-- 0 usr/lib/systemd/system/formulary.service",
	"-rw-r--r-- 0 usr/lib/systemd/system/formulary@.service",
	"-rw-r--r-- 0 usr/lib/sysusers.d/formulary.conf",
	"-rw-r--r-- 0 usr/lib/tmpfiles.d/formulary.conf",
	"-rw-r--r-- 0 usr/share/bash-completion/completions/formulary",
	"-rw-r--r-- 0 usr/share/fish/vendor_completions.d/formulary.fish",
}, manuals("-rw-r--r-- 0 usr/share/man/man1/", ".1.gz"), readable("-rw-r--r-- 0 usr/share/doc/formulary/"))

// readable are the names of what people read about a release, wherever they have it.
func readable(before string) []string {
	return append(repositoryFiles(before, linked...), before+"LICENSE", before+"THIRD-PARTY.txt")
}

// repositoryFiles are names of files in the repository.
func repositoryFiles(before string, patterns ...string) (names []string) {
	for _, pattern := range patterns {
		files, _ := filepath.Glob("../../" + pattern) // the pattern is well-formed
		for _, name := range files {
			names = append(names, before+strings.TrimPrefix(name, "../../"))
		}
	}
	return names
}

var link = regexp.MustCompile(`\]\(([a-zA-Z.][^):# ]*)[#)]`)

// checkLinks looks for what documents link to, among what is released with them.
func checkLinks(t *testing.T, files []file, root string) {
	t.Helper()
	for _, f := range files {
		if !strings.HasSuffix(f.name, ".md") || strings.Contains(f.name, "/pages/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(f.data), -1) {
			to := path.Join(path.Dir(f.name), m[1])
			if !slices.ContainsFunc(files, func(f file) bool { return f.name == to || strings.HasPrefix(f.name, to+"/") }) {
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(f.name, root), m[1])
			}
		}
	}
}

// checkLicences looks for the terms of each module that the binary has, and of Go, in their order.
func checkLicences(t *testing.T, binary []byte, text string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(binary))
	must(t, err)
	var titles []string
	for _, match := range regexp.MustCompile(`(?m)^==== (.*) ====$`).FindAllStringSubmatch(text, -1) {
		titles = append(titles, match[1])
	}
	if !slices.IsSorted(titles) || !slices.Contains(titles, info.GoVersion+"/LICENSE") || !strings.Contains(text, "Copyright 2009 The Go Authors") {
		t.Errorf("%q", titles)
	}
	for _, module := range info.Deps {
		if !slices.ContainsFunc(titles, func(title string) bool { return strings.HasPrefix(title, module.Path+"@"+module.Version+"/") }) {
			t.Errorf("no licence of %s", module.Path)
		}
	}
}

func (r *release) checkDeb(t *testing.T, binary []byte) {
	members := members(t, r.open(t, "formulary_0.1.0_amd64.deb"))
	control := r.untar(t, unzip(t, members["control.tar.gz"]))
	same(t, "control", list(control, "./"), []string{
		"-rw-r--r-- 0 conffiles", "-rw-r--r-- 0 control", "-rw-r--r-- 0 md5sums", "-rwxr-xr-x 0 postinst", "-rwxr-xr-x 0 postrm", "-rwxr-xr-x 0 prerm",
	})
	testkit.Same(t, "conffiles", string(find(control, "./conffiles").data), "/etc/formulary/formulary.env\n")
	if got := string(find(control, "./control").data); !strings.Contains(got, "\nVersion: 0.1.0\n") || !strings.Contains(got, "\nArchitecture: amd64\n") ||
		!strings.Contains(got, "\nDepends: systemd\n") || !strings.Contains(got, "\nRecommends: ca-certificates\n") {
		t.Errorf("control: %s", got)
	}
	inside := r.untar(t, unzip(t, members["data.tar.gz"]))
	files := slices.DeleteFunc(slices.Clone(inside), func(f file) bool { return f.mode.IsDir() })
	same(t, "data", list(files, "./"), append([]string{
		"-rw-r--r-- 0 usr/share/doc/formulary/copyright", "-rw-r--r-- 0 usr/share/zsh/vendor-completions/_formulary",
	}, installed...))
	checkInstalled(t, binary, func(name string) []byte { return find(inside, "./"+name).data })
}

// members reads a package of Debian: the format of ar(5).
func members(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	members := map[string][]byte{}
	for rest := data[len("!<arch>\n"):]; len(rest) > 60; {
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		must(t, err)
		members[strings.TrimRight(string(rest[:16]), " /")] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	return members
}

func (r *release) checkRPM(t *testing.T, binary []byte) {
	pack, err := rpmutils.ReadRpm(bytes.NewReader(r.open(t, "formulary-0.1.0-1.x86_64.rpm")))
	must(t, err)
	if name, err := pack.Header.GetNEVRA(); err != nil || name.String() != "formulary-0:0.1.0-1.x86_64.rpm" {
		t.Errorf("%v, %v", name, err)
	}
	infos, err := pack.Header.GetFiles()
	must(t, err)
	const config, noReplace = 1, 1 << 4
	var files []string
	for _, f := range infos {
		files = append(files, fmt.Sprintf("%v 0 %s", fs.FileMode(f.Mode()).Perm(), strings.TrimPrefix(f.Name(), "/")))
		want := 0
		if strings.HasPrefix(f.Name(), "/etc/") {
			want = config | noReplace
		}
		if f.Flags()&(config|noReplace) != want || f.UserName() != "root" || f.GroupName() != "root" || int64(f.Mtime()) != r.time.Unix() {
			t.Errorf("%s: flags %d, owner %s:%s, time %d", f.Name(), f.Flags(), f.UserName(), f.GroupName(), f.Mtime())
		}
	}
	same(t, "files", files, append([]string{
		"-rw-r--r-- 0 usr/share/licenses/formulary/LICENSE", "-rw-r--r-- 0 usr/share/zsh/site-functions/_formulary",
	}, slices.DeleteFunc(slices.Clone(installed), func(f string) bool { return strings.HasSuffix(f, "/doc/formulary/LICENSE") })...))
	for tag, text := range map[int]string{
		rpmutils.POSTIN: "systemd-tmpfiles --create formulary.conf", rpmutils.PREUN: "stop formulary.service formulary-backup.timer 'formulary@*.service'", rpmutils.POSTUN: "try-restart formulary.service",
	} {
		if script, err := pack.Header.GetString(tag); err != nil || !strings.Contains(script, text) {
			t.Errorf("script %d: %q, %v", tag, script, err)
		}
	}
	dir := t.TempDir()
	must(t, pack.ExpandPayload(dir))
	checkInstalled(t, binary, func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		return data
	})
}

// checkInstalled looks at what a package has adapted.
func checkInstalled(t *testing.T, binary []byte, read func(name string) []byte) {
	t.Helper()
	if !bytes.Equal(read("usr/bin/formulary"), binary) {
		t.Error("the binary is another one than in the archive")
	}
	for name, line := range map[string]string{
		"usr/lib/systemd/system/formulary.service":        "\nExecStart=/usr/bin/formulary serve\n",
		"usr/lib/systemd/system/formulary@.service":       "\nExecStart=/usr/bin/formulary serve --listen 127.0.0.1:%i\n",
		"usr/lib/systemd/system/formulary-backup.service": "exec /usr/bin/formulary backup",
		"etc/formulary/formulary.env":                     "see /usr/share/doc/formulary/docs/wikis.md.\nFORMULARY_PAGES=/var/lib/formulary/pages\n",
	} {
		if text := string(read(name)); !strings.Contains(text, line) || strings.Contains(text, "/usr/local") {
			t.Errorf("%s does not have %q:\n%s", name, line, text)
		}
	}
	if page := unzip(t, read("usr/share/man/man1/formulary.1.gz")); !bytes.HasPrefix(page, []byte(".TH FORMULARY 1 ")) {
		t.Errorf("manual page: %s", page)
	}
}

func (r *release) checkSBOM(t *testing.T) {
	var bom struct {
		SerialNumber string
		Metadata     struct{ Timestamp time.Time }
		Components   []struct{ Name, Version string }
	}
	must(t, json.Unmarshal(r.open(t, "formulary_0.1.0_sbom.cdx.json"), &bom))
	names := map[string]string{}
	for _, c := range bom.Components {
		names[c.Name] = c.Version
	}
	if names["std"] == "" || names["github.com/jackc/pgx/v5"] == "" || names["github.com/goreleaser/nfpm/v2"] != "" {
		t.Errorf("components: %v", names)
	}
	if bom.SerialNumber != "" || !bom.Metadata.Timestamp.Equal(r.time) {
		t.Errorf("serial number %q, time %v", bom.SerialNumber, bom.Metadata.Timestamp)
	}
}

// manuals are the names of all manual pages: one of each command, and that of all.
func manuals(before, after string) []string {
	names := []string{before + "formulary" + after}
	for _, c := range cli.Root(cli.Streams{}).Commands {
		names = append(names, before+"formulary-"+c.Name+after)
	}
	return names
}

func must(t *testing.T, err error) {
	t.Helper()
	testkit.Must(t, err)
}

// same compares two lists in any order.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// list writes files as ls -l does: mode, owner, name.
func list(files []file, prefix string) (lines []string) {
	for _, f := range files {
		lines = append(lines, fmt.Sprintf("%v %d %s", f.mode, f.owner, strings.TrimPrefix(f.name, prefix)))
	}
	return lines
}

func find(files []file, name string) file {
	i := slices.IndexFunc(files, func(f file) bool { return f.name == name })
	if i < 0 {
		return file{}
	}
	return files[i]
}

func (r *release) open(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dist, name))
	must(t, err)
	return data
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	data, err = io.ReadAll(z)
	must(t, err)
	return data
}

// untar reads an archive, in which everything has the time of the commit.
func (r *release) untar(t *testing.T, data []byte) (files []file) {
	t.Helper()
	for reader := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must(t, err)
		data, err := io.ReadAll(reader)
		must(t, err)
		if !h.ModTime.Equal(r.time) || h.Uid != h.Gid {
			t.Errorf("%s: %v, %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		files = append(files, file{name: h.Name, mode: h.FileInfo().Mode(), owner: h.Uid, data: data})
	}
}
