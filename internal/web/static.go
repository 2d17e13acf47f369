package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/formulary/formulary/internal/request"
)

//go:embed static
var staticFS embed.FS

// staticPrefix begins the paths of static files.
const staticPrefix = "/static/"

// staticFiles serves the stylesheets and modules under names that hold a
// fingerprint of their content, so that browsers can keep them for a year.
type staticFiles struct {
	paths   map[string]string // by name: the path with the fingerprint
	content map[string][]byte // by name with the fingerprint
	script  []byte            // embed.js, whose address never changes
}

func newStaticFiles(brandCSS []byte) *staticFiles {
	s := &staticFiles{paths: map[string]string{}, content: map[string][]byte{}, script: readStatic("embed.js")}
	s.add("style.css", readStatic("style.css"))
	s.add("icon.svg", readStatic("icon.svg"))
	s.add("frame.js", readStatic("frame.js"))
	if brandCSS != nil {
		s.add("brand.css", brandCSS)
	}
	for _, name := range []string{"form.js", "author.js", "session.js"} {
		s.addModule(name)
	}
	return s
}

var moduleImport = regexp.MustCompile(`"\./([a-z-]+\.js)"`)

// addModule adds a script after those that it imports, whose names get their
// fingerprints in it.
func (s *staticFiles) addModule(name string) {
	if _, known := s.paths[name]; known {
		return
	}
	s.add(name, moduleImport.ReplaceAllFunc(readStatic(name), func(imported []byte) []byte {
		other := string(moduleImport.FindSubmatch(imported)[1])
		s.addModule(other)
		return []byte(`"./` + path.Base(s.paths[other]) + `"`)
	}))
}

func readStatic(name string) []byte {
	content, err := staticFS.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return content
}

// fingerprintBytes is how much of the hash a name holds.
const fingerprintBytes = 8

func (s *staticFiles) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	full := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:fingerprintBytes]) + ext
	s.paths[name] = staticPrefix + full
	s.content[full] = content
}

// path is the address of a static file.
func (s *staticFiles) path(name string) (string, error) {
	p, known := s.paths[name]
	if !known {
		return "", fmt.Errorf("no static file %s", name)
	}
	return p, nil
}

var staticTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// serveStatic answers with a file.
func (s *Site) serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, known := s.static.content[name]
	if !known {
		s.noRoute(w, r, nil)
		return
	}
	request.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", staticTypes[path.Ext(name)])
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(content)
	}))(w, r)
}

// embedScript serves the script that wikis include. Its address never changes,
// so browsers ask again after an hour.
func (s *staticFiles) embedScript() http.Handler {
	return request.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", staticTypes[".js"])
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		_, _ = w.Write(s.script)
	}))
}
