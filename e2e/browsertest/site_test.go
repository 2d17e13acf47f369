package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"

// document has nothing that a tool could find.
const document = `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>%s</title>
  <link rel="icon" href="/icon.svg">
  <link rel="stylesheet" href="/site.css">
  <script type="module" src="/site.js"></script>
</head>
<body>
<main>
<h1>%[1]s</h1>
%[2]s
</main>
</body>
</html>
`

const form = `<form method="post" action="/form">
  <p><label for="name">Name</label> <input id="name" name="name" type="text" autocomplete="name"></p>
  <button type="submit">Send</button> <a href="/clean">Elsewhere</a>
</form>
<p id="script">JavaScript is off</p>`

const css = `body { font: 1rem/1.5 sans-serif; margin: 1rem; color: #111; background: #fff }
.pale { color: #ddd }
.half { width: 700px }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #111 } a { color: #8bf } .dim { color: #333 } }
@media print { body { margin: 3rem } }
`

const js = `const line = document.getElementById("script");
if (line) line.textContent = "JavaScript is on";
`

// pages are the bodies of documents that have one fault each.
var pages = map[string]string{
	"clean":   `<p>All is well.</p>`,
	"form":    form,
	"axe":     `<p class="pale">A pale text.</p>`,
	"html":    `<p><div>A block in a paragraph.</div></p>`,
	"console": `<script src="/error.js"></script>`,
	"throw":   `<script src="/throw.js"></script>`,
	"csp":     `<script>document.title = "run"</script>`,
	"missing": `<p><img src="/none.png" alt="nothing"></p>`,
	"shift":   `<p>A line that moves.</p><script src="/shift.js"></script>`,
	"parsing": `<p>A line that moves far.</p><script src="/parsing.js"></script><script src="/wait.js"></script><p>The rest.</p>`,
	"dark":    `<p class="dim">A dim text.</p>`,
	"narrow":  `<p class="half">A line for wide windows.</p>`,
}

var files = map[string]struct{ kind, text string }{
	"site.css": {"text/css", css},
	"site.js":  {"text/javascript", js},
	"icon.svg": {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`},
	"error.js": {"text/javascript", `console.error("a message", 7)`},
	"throw.js": {"text/javascript", `throw new Error("an exception")`},
	"shift.js": {"text/javascript", `addEventListener("load", () => ` + move + `)`},
	// It moves the page while the rest of the document waits for wait.js.
	"parsing.js": {"text/javascript", move + `
		new PerformanceObserver(() => { new Image().src = "/moved" }).observe({type: "layout-shift"})`},
}

// move pushes the lines of the page down after it was drawn.
const move = `requestAnimationFrame(() => requestAnimationFrame(() => {
	const box = document.createElement("p");
	box.textContent = "pushes the others down";
	if (document.title.startsWith("parsing")) box.style.height = "20rem"; // farther than 0.01
	document.querySelector("main").prepend(box, document.createElement("hr"));
	document.title = "moved";
}))`

// newSite serves the pages.
func newSite(t testing.TB) string {
	mux := http.NewServeMux()
	moved := make(chan struct{}, 1)
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case moved <- struct{}{}:
		default: // a second shift
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /wait.js", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-moved:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if file, ok := files[name]; ok {
			w.Header().Set("Content-Type", file.kind)
			_, _ = fmt.Fprint(w, file.text)
			return
		}
		body, ok := pages[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		send(w, http.StatusOK, name, body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func send(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, document, title, body)
}

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failures runs a test until its end and returns how it fails.
func failures(t *testing.T, test func(t testing.TB)) []string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-done
	return r.failures
}
