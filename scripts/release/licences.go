package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// terms are the names of files that say how a module may be passed on.
var terms = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|notice|copying|patents)`)

// licences are the terms of all that is linked into the binary of a platform: of Go, and of each module, with those
// of folders in it that packages come from.
func (r *release) licences(p platform) (file, error) {
	const each = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	packages, err := r.golang(p, "list", "-deps", "-f", each, "./cmd/formulary")
	if err != nil {
		return file{}, err
	}
	toolchain, err := r.golang(p, "env", "GOVERSION", "GOROOT")
	if err != nil {
		return file{}, err
	}
	version, root, _ := strings.Cut(toolchain, "\n")
	texts := map[string]string{} // by title, the file
	if err := collect(texts, version, root, root); err != nil {
		return file{}, err
	}
	for line := range strings.SplitSeq(packages, "\n") {
		parts := strings.Split(line, "\t")
		if err := collect(texts, parts[0], parts[1], parts[2]); err != nil {
			return file{}, err
		}
	}
	var b bytes.Buffer
	b.WriteString("Formulary is linked with Go and with these modules.\n")
	for _, title := range slices.Sorted(maps.Keys(texts)) {
		text, err := os.ReadFile(texts[title])
		if err != nil {
			return file{}, err
		}
		fmt.Fprintf(&b, "\n==== %s ====\n\n%s\n", title, bytes.TrimSpace(text))
	}
	return file{name: "THIRD-PARTY.txt", mode: 0o644, data: b.Bytes()}, nil
}

// collect adds the terms of a module that apply to a folder in it: those of the folder itself, and of all above it.
func collect(texts map[string]string, module, root, dir string) error {
	found := 0
	for ; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !terms.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			found++
			path := filepath.Join(dir, e.Name())
			texts[module+filepath.ToSlash(strings.TrimPrefix(path, root))] = path
		}
		if dir == root {
			break
		}
	}
	if found == 0 {
		return fmt.Errorf("%s has no licence: %w", module, fs.ErrNotExist)
	}
	return nil
}
