package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/request"
)

//go:embed static
var staticFS embed.FS

// staticPrefix begins the paths of static files.
const staticPrefix = "/static/"

// stylesheets are put together in this order.
var stylesheets = []string{"tokens.css", "base.css", "form.css", "results.css", "author.css", "print.css"}

// scripts are the modules that pages load, and those that modules import.
var scripts = []string{
	"answers.js", "author.js", "conditions.js", "controls.js", "docs.js", "dom.js", "drafts.js", "files.js", "form.js",
	"frame.js", "home.js", "messages.js", "print.js", "questions.js", "results.js", "session.js", "signin.js",
	"storage.js",
	"text.js", "times.js",
	"translate.js", "undo.js", "upload.js",
}

// staticFiles serves the stylesheets and scripts below a path with a fingerprint of
// all of them. Browsers can keep them for a year, and modules can import each other
// by their names.
type staticFiles struct {
	fingerprint string
	content     map[string]*request.Asset // by name
	imports     map[string][]string       // by name of a module: the modules that it names
}

var importedModule = regexp.MustCompile(`(?m)^import .* from "\./(.+)";$`)

func newStaticFiles(brandCSS []byte) *staticFiles {
	var style []byte
	for _, name := range stylesheets {
		style = append(style, readStatic(name)...)
	}
	s := &staticFiles{
		content: map[string]*request.Asset{"style.css": request.NewAsset(style)}, imports: map[string][]string{},
	}
	for _, name := range append(scripts, "docs.css", "icon.svg", "icons.svg") {
		s.content[name] = request.NewAsset(readStatic(name))
		for _, module := range importedModule.FindAllSubmatch(s.content[name].Content, -1) {
			s.imports[name] = append(s.imports[name], string(module[1]))
		}
	}
	if brandCSS != nil {
		s.content["brand.css"] = request.NewAsset(brandCSS)
	}
	hash := sha256.New()
	lang.WriteFiles(hash)
	for _, name := range slices.Sorted(maps.Keys(s.content)) {
		content := s.content[name].Content
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content) // a hash takes all
	}
	s.fingerprint = hex.EncodeToString(hash.Sum(nil)[:8])
	return s
}

func readStatic(name string) []byte { return readEmbedded(staticFS, "static/"+name) }

func readEmbedded(files embed.FS, name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return content
}

// path is that of a static file for a page in a language, after the base path.
func (s *staticFiles) path(name string, l *lang.Language) (string, error) {
	if s.content[name] == nil {
		return "", fmt.Errorf("no static file %s", name)
	}
	fingerprint := s.fingerprint
	if l.Tag != lang.English && path.Ext(name) == ".js" { // the modules that it imports are beside it
		fingerprint += "-" + l.Tag
	}
	return staticPrefix + fingerprint + "/" + name, nil
}

// imported are the modules that the modules of a page import, directly or not. A browser
// would find each only when it has read the one before.
func (s *staticFiles) imported(own ...string) []string {
	all := slices.Clone(own)
	for i := 0; i < len(all); i++ { // all grows
		for _, name := range s.imports[all[i]] {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all[len(own):]
}

var staticTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// serveStatic answers with a file. During a rolling upgrade, a page of one version may ask a server of another. The
// fingerprint in its address differs then, and browsers must not keep the answer.
func (s *Site) serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content := s.static.content[name]
	fingerprint, tag, _ := strings.Cut(r.PathValue("fingerprint"), "-")
	if l := lang.Find(tag); l != nil && name == "messages.js" {
		content = s.speak[l]().messages
	}
	if content == nil {
		s.noRoute(w, r, nil) //nolint:contextcheck // it has the request
		return
	}
	w.Header().Set("Content-Type", staticTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if fingerprint != s.static.fingerprint {
		w.Header().Set("Cache-Control", "no-cache")
	}
	content.Send(w, r)
}

// serveEmbedScript answers with the script that wikis include. Its address never
// changes, so browsers ask again after an hour.
func (s *Site) serveEmbedScript(w http.ResponseWriter, r *http.Request) {
	h, l := w.Header(), s.browserLanguage(r) // whoever caches it knows no cookie
	h.Set("Content-Language", l.Tag)
	h.Add("Vary", "Accept-Language")
	h.Set("Content-Type", staticTypes[".js"])
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	s.speak[l]().embed.Send(w, r)
}
