package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/formulary/formulary/internal/testkit"
)

func (r *release) checkImage(t *testing.T, binary []byte) {
	root, err := layout.ImageIndexFromPath(unpack(t, r.untar(t, r.open(t, "formulary_0.1.0_oci.tar"))))
	must(t, err)
	manifest, err := root.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "0.1.0" {
		t.Fatalf("%+v", manifest)
	}
	index, err := root.ImageIndex(manifest.Manifests[0].Digest)
	must(t, err)
	images, err := index.IndexManifest()
	must(t, err)
	if len(images.Manifests) != 1 || images.Manifests[0].Platform.String() != "linux/amd64" {
		t.Fatalf("%+v", images)
	}
	image, err := index.Image(images.Manifests[0].Digest)
	must(t, err)
	config, err := image.ConfigFile()
	must(t, err)
	checkConfig(t, config)
	layers, err := image.Layers()
	must(t, err)
	content, err := layers[0].Uncompressed()
	must(t, err)
	data, err := io.ReadAll(content)
	must(t, err)
	files := r.untar(t, data)
	same(t, "layer", list(files, ""), []string{
		"drwx------ 65532 data/", "drwxr-xr-x 0 etc/", "drwxr-xr-x 0 etc/ssl/", "drwxr-xr-x 0 etc/ssl/certs/",
		"-rw-r--r-- 0 etc/ssl/certs/ca-certificates.crt", "-rwxr-xr-x 0 formulary",
		"-rw-r--r-- 0 LICENSE", "-rw-r--r-- 0 THIRD-PARTY.txt",
	})
	if count := strings.Count(string(find(files, "etc/ssl/certs/ca-certificates.crt").data), "BEGIN CERTIFICATE"); count < 100 {
		t.Errorf("%d certificates", count)
	}
	if !bytes.Equal(find(files, "formulary").data, binary) {
		t.Error("the binary is another one than in the archive")
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		r.runImage(t, files, config.Config)
	}
}

// checkConfig holds the configuration of the image against the Dockerfile.
func checkConfig(t *testing.T, config *v1.ConfigFile) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/docker/Dockerfile")
	must(t, err)
	setting := func(pattern string) string {
		match := regexp.MustCompile(`(?ms)^` + pattern).FindStringSubmatch(strings.ReplaceAll(string(text), "\\\n", ""))
		if match == nil {
			t.Fatalf("the Dockerfile has no %s", pattern)
		}
		return match[1]
	}
	c := config.Config
	same(t, "ENV", c.Env, strings.Fields(setting(`ENV ([^\n]*)`)))
	for name, pair := range map[string][2]string{
		"user":       {c.User, setting(`USER (\S+)`)},
		"entrypoint": {fmt.Sprintf("%q", c.Entrypoint), setting(`ENTRYPOINT (\S+)`)},
		"command":    {fmt.Sprintf("%q", c.Cmd), setting(`CMD (\S+)`)},
		"volumes":    {fmt.Sprint(c.Volumes), "map[" + setting(`VOLUME (\S+)`) + ":{}]"},
		"ports":      {fmt.Sprint(c.ExposedPorts), "map[" + setting(`EXPOSE (\S+)`) + "/tcp:{}]"},
	} {
		testkit.Same(t, name, pair[0], pair[1])
	}
	health, err := json.Marshal(c.Healthcheck)
	must(t, err)
	testkit.Same(t, "Healthcheck",
		string(health),
		`{"Test":["CMD","/formulary","health"],"Interval":10000000000,"Timeout":5000000000,"StartPeriod":30000000000}`,
	)
	for arg, variable := range map[string]string{"VERSION": "version", "COMMIT": "commit", "COMMIT_DAY": "commitDay"} {
		setting(`(ARG ` + arg + `=)$`)
		setting(`RUN [^\n]*(-X \$cli\.` + variable + `=\$` + arg + `)[ "]`)
	}
	setting(`HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD \["/formulary", "(health)"\]`)
}

// runImage starts the image as its configuration says, with its files below a directory and another port, as
// "docker run -p" would choose it. Its own health check says that it serves.
func (r *release) runImage(t *testing.T, files []file, c v1.Config) {
	t.Helper()
	root := unpack(t, append(files,
		file{name: "pages", mode: fs.ModeDir}, file{name: "etc/formulary", mode: fs.ModeDir}, // mounted by the operator
		file{name: "etc/formulary/users.htpasswd", mode: 0o600}))
	env := []string{"FORMULARY_LISTEN=" + testkit.FreeAddress(t), "FORMULARY_LOG_FORMAT=json"}
	for _, v := range c.Env {
		if !strings.HasPrefix(v, "FORMULARY_LISTEN=") {
			env = append(env, strings.Replace(v, "=/", "="+root+"/", 1))
		}
	}
	start := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(root, args[0]), args[1:]...)
		cmd.Env = env
		return cmd
	}
	got, err := start(c.Entrypoint[0], "version").Output()
	must(t, err)
	if want := fmt.Sprintf("formulary 0.1.0 %s %s go", r.commit, r.time.Format(time.DateOnly)); !strings.HasPrefix(string(got), want) {
		t.Errorf("%q, want %q", got, want)
	}
	server := testkit.Serve(t, start(append(c.Entrypoint, c.Cmd...)...))
	must(t, start(c.Healthcheck.Test[1:]...).Run())
	must(t, server.Terminate(t))
	if _, err := os.Stat(filepath.Join(root, "data/formulary.db")); err != nil {
		t.Errorf("the volume of the image has no database: %v", err)
	}
}

// unpack writes files below a directory of their own.
func unpack(t *testing.T, files []file) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range files {
		if path := filepath.Join(dir, f.name); f.mode.IsDir() {
			must(t, os.MkdirAll(path, 0o700))
		} else {
			must(t, os.WriteFile(path, f.data, f.mode))
		}
	}
	return dir
}
