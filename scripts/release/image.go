package main

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user in the image. By number: Kubernetes' runAsNonRoot can't look up a name.
const nobody = 65532

// image writes one image for all platforms, as an OCI image layout. It has what deploy/docker/Dockerfile makes, and
// licences.
func (r *release) image(contents map[platform][]file, dir string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	byArch := func(a, b platform) int { return strings.Compare(a.arch, b.arch) }
	for _, p := range slices.SortedFunc(maps.Keys(contents), byArch) {
		img, err := r.imageOf(p, contents[p])
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The names by which containerd and podman know it.
	err = written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          "docker.io/library/formulary:" + r.version,
	}))
	if err != nil {
		return err
	}
	files, err := tree(dir)
	if err != nil {
		return err
	}
	return r.create("formulary_"+r.version+"_oci.tar", func(b *bytes.Buffer) error { return r.tarball(b, files) })
}

// imageOf is the image of one platform, with some files at its top. The binary has the time zones inside.
func (r *release) imageOf(p platform, top []file) (v1.Image, error) {
	list := []file{
		{name: "data", mode: fs.ModeDir | 0o700, owner: nobody},
		{name: "etc", mode: fs.ModeDir | 0o755},
		{name: "etc/ssl", mode: fs.ModeDir | 0o755},
		{name: "etc/ssl/certs", mode: fs.ModeDir | 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
	}
	for _, f := range top {
		f.name = path.Base(f.name)
		list = append(list, f)
	}
	var files bytes.Buffer
	if err := r.tarball(&files, list); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release VERSION=" + r.version},
	})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, r.config(p, img))
}

func (r *release) config(p platform, img v1.Image) *v1.ConfigFile {
	before, err := img.ConfigFile()
	if err != nil {
		panic(fmt.Sprintf("the image was made here: %v", err))
	}
	c := before.DeepCopy()
	c.OS, c.Architecture, c.Created = p.os, p.arch, v1.Time{Time: r.time}
	c.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nobody, nobody),
		Env: []string{
			"FORMULARY_LISTEN=:8080", "FORMULARY_DATA=/data", "FORMULARY_PAGES=/pages",
			"FORMULARY_USERS=/etc/formulary/users.htpasswd", "GOMEMLIMIT=1GiB",
		},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Entrypoint:   []string{"/formulary"},
		Cmd:          []string{"serve"},
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/formulary", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second,
			StartPeriod: 30 * time.Second,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title": "Formulary", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return c
}

// authorities are the certificates that Mozilla trusts, as a module of the Go project has them. Those that are
// trusted with conditions, which a file can't have, are left out.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return b.Bytes()
}

// tree reads a directory, sorted by name.
func tree(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(source string, d fs.DirEntry, err error) error {
		if err != nil || source == dir {
			return err
		}
		name, err := filepath.Rel(dir, source)
		if err != nil {
			return err
		}
		f := file{name: filepath.ToSlash(name), mode: fs.ModeDir | 0o755}
		if !d.IsDir() {
			f.mode = 0o644
			if f.data, err = os.ReadFile(source); err != nil { //nolint:gosec // the directory is this program's own
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	return files, err
}
