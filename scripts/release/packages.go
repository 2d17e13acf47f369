package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packageFormat is what Debian and Red Hat do differently.
type packageFormat struct {
	packager nfpm.Packager
	name     string            // of the package's file
	arch     map[string]string // as the name has it
	moved    map[string]string // where files are that others have elsewhere
	added    []file
	scripts  nfpm.Scripts // files in deploy/packages
}

// copyright is what Debian wants to have in a package, in its own format. Debian has the text of the licence.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Formulary
Comment: THIRD-PARTY.txt has the licences of what is linked in.

Files: *
Copyright: The Formulary contributors
License: Apache-2.0
 On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.
`

func (r *release) packageFormats() []packageFormat {
	return []packageFormat{
		{
			packager: deb.Default, name: "formulary_" + r.version + "_%s.deb",
			arch: map[string]string{"amd64": "amd64", "arm64": "arm64"},
			moved: map[string]string{
				"completions/_formulary": "usr/share/zsh/vendor-completions/_formulary",
			},
			added:   []file{{name: "usr/share/doc/formulary/copyright", mode: 0o644, data: []byte(copyright)}},
			scripts: nfpm.Scripts{PostInstall: "deb.postinst", PreRemove: "deb.prerm", PostRemove: "deb.postrm"},
		},
		{
			packager: rpm.DefaultRPM, name: "formulary-" + r.version + "-1.%s.rpm",
			arch: map[string]string{"amd64": "x86_64", "arm64": "aarch64"},
			moved: map[string]string{
				"LICENSE":                "usr/share/licenses/formulary/LICENSE",
				"completions/_formulary": "usr/share/zsh/site-functions/_formulary",
			},
			scripts: nfpm.Scripts{PostInstall: "rpm.post", PreRemove: "rpm.preun", PostRemove: "rpm.postun"},
		},
	}
}

// packages writes the packages of a platform. It puts their files below dir first, since nfpm reads them from there.
func (r *release) packages(p platform, documents []file, dir string) error {
	settings, err := r.settings()
	if err != nil {
		return err
	}
	for _, format := range r.packageFormats() {
		list := slices.Concat(settings, documents, format.added)
		contents, err := r.contents(list, format.moved, filepath.Join(dir, format.arch["amd64"]))
		if err != nil {
			return err
		}
		scripts := format.scripts
		for _, script := range []*string{&scripts.PostInstall, &scripts.PreRemove, &scripts.PostRemove} {
			*script = filepath.Join(r.root, "deploy/packages", *script)
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "formulary", Arch: p.arch, Platform: p.os, Version: r.version, MTime: r.time,
			Section: "web", Priority: "optional", License: "Apache-2.0",
			Maintainer: "The Formulary contributors <formulary@formulary.invalid>", Vendor: "Formulary",
			Description: "Forms on wiki pages\nServes the forms that stand on wiki pages, and keeps what people submit.",
			Overridables: nfpm.Overridables{
				Contents: contents, Scripts: scripts, Depends: []string{"systemd"}, Recommends: []string{"ca-certificates"},
			},
		})
		info.Deb.Compression, info.RPM.Compression = "gzip:9", "gzip:9"
		info.RPM.BuildHost, info.RPM.Summary = "formulary", "Forms on wiki pages"
		err = r.create(fmt.Sprintf(format.name, format.arch[p.arch]), func(b *bytes.Buffer) error {
			return format.packager.Package(info, b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inPackages are the paths that files of deploy/systemd name, as packages have them.
var inPackages = strings.NewReplacer("/usr/local/bin/", "/usr/bin/", "docs/", "/usr/share/doc/formulary/docs/")

// settings are the files of deploy/systemd, as packages have them.
func (r *release) settings() ([]file, error) {
	var list []file
	for name, to := range map[string]string{
		"formulary.service":        "usr/lib/systemd/system/formulary.service",
		"formulary@.service":       "usr/lib/systemd/system/formulary@.service",
		"formulary-backup.service": "usr/lib/systemd/system/formulary-backup.service",
		"formulary-backup.timer":   "usr/lib/systemd/system/formulary-backup.timer",
		"formulary.sysusers.conf":  "usr/lib/sysusers.d/formulary.conf",
		"formulary.tmpfiles.conf":  "usr/lib/tmpfiles.d/formulary.conf",
		"formulary.env":            environment,
		"formulary-authors.conf":   "usr/share/doc/formulary/authors.conf",
	} {
		f, err := r.read("deploy/systemd/"+name, to, 0o644)
		if err != nil {
			return nil, err
		}
		if to == environment {
			f.mode = 0o600
		}
		f.data = []byte(inPackages.Replace(string(f.data)))
		list = append(list, f)
	}
	return list, nil
}

// environment is the file that belongs to the operator: upgrades leave it alone.
const environment = "etc/formulary/formulary.env"

// contents writes files below dir, and returns where a package has them. nfpm sorts them.
func (r *release) contents(list []file, moved map[string]string, dir string) (files.Contents, error) {
	var contents files.Contents
	for _, f := range list {
		to := place(f.name)
		if elsewhere, ok := moved[f.name]; ok {
			to = elsewhere
		}
		if strings.HasSuffix(to, ".gz") {
			var b bytes.Buffer
			if err := zip(&b, func(w io.Writer) error { _, err := w.Write(f.data); return err }); err != nil {
				return nil, err
			}
			f.data = b.Bytes()
		}
		source := filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(source), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(source, f.data, 0o600); err != nil {
			return nil, err
		}
		info := &files.ContentFileInfo{Mode: f.mode, MTime: r.time}
		c := &files.Content{Source: source, Destination: "/" + to, FileInfo: info}
		if to == environment {
			c.Type = files.TypeConfigNoReplace
		}
		contents = append(contents, c)
	}
	return contents, nil
}

var linkedFile = regexp.MustCompile(`^(docs|deploy|examples|bench)/`)

// place is where a package has a file of the archive. Files with a place of their own stay there.
func place(name string) string {
	dir, base := path.Split(name)
	switch {
	case name == "bin/formulary":
		return "usr/bin/formulary"
	case dir == "", linkedFile.MatchString(name):
		return "usr/share/doc/formulary/" + name
	case name == "completions/formulary.bash":
		return "usr/share/bash-completion/completions/formulary"
	case name == "completions/formulary.fish":
		return "usr/share/fish/vendor_completions.d/formulary.fish"
	case dir == "man/":
		return "usr/share/man/man1/" + base + ".gz"
	}
	return name
}
