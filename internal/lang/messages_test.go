package lang

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// used is a message that the program has.
type used struct {
	one, text string   // one is "" without a plural
	places    []string // files that have it
}

// allMessages returns the messages of the program, each once, in the order of the files that have them.
func allMessages(t *testing.T) (all []*used) {
	known := map[string]*used{}
	for _, pattern := range []string{
		"web/templates/partials/*.html", "web/templates/*.html", "web/examples/*.yaml", "web/*.go", "web/*/*.go", "web/static/*.js", "events/*.go",
		"forms/*.go", "query/*.go", "service/*.go", "request/*.go", "encode/*.go", "wiki/*.go", "lang/*.go",
	} {
		files := glob(t, pattern)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			found := map[string]func(t *testing.T, name, text string) []used{
				".html": inTemplate, ".yaml": inTemplate, ".go": inCode, ".js": inScript,
			}[filepath.Ext(name)](t, name, files[name])
			for _, m := range found {
				m = named(m)
				if known[m.text] == nil {
					known[m.text] = &m
					all = append(all, &m)
				} else if known[m.text].one != m.one {
					t.Errorf("%q in %s has a plural in one place only, or two of them", m.text, name)
				}
				places := &known[m.text].places
				if place := strings.TrimPrefix(name, "../"); !slices.Contains(*places, place) {
					*places = append(*places, place)
				}
			}
		}
	}
	return all
}

var fault = regexp.MustCompile(`^(?:has|is|may|must|takes) `)

// named is the message that forms.Named makes of a fault. Pages show no others.
func named(m used) used {
	if !fault.MatchString(m.text) {
		return m
	}
	made := forms.Named("", &forms.Message{Text: m.text, One: m.one, Args: make([]any, len(placeholder.FindAllString(m.text, -1)))})
	return used{one: made.One, text: made.Text}
}

// glob are the files of patterns below internal, with their texts.
func glob(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range patterns {
		names, err := filepath.Glob("../" + pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			testkit.Must(t, err)
			files[name] = string(text)
		}
	}
	return files
}

// inTemplate finds calls of t and tn.
func inTemplate(_ *testing.T, _, text string) (all []used) {
	for _, call := range templateCalls.FindAllStringSubmatch(text, -1) {
		one, text := textsOf(call)
		all = append(all, used{one: one, text: text})
	}
	return all
}

// inCode finds calls of Say, SayN and Text with literals, and the words of filters, which stand in tables.
func inCode(t *testing.T, name, text string) (all []used) {
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	testkit.Must(t, err)
	ast.Inspect(file, func(node ast.Node) bool {
		if text, ok := node.(*ast.BasicLit); ok {
			if text, _ := literal(text); strings.HasPrefix(text, "filter|") {
				all = append(all, used{text: text})
			}
		}
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		function := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			function = f.Name
		case *ast.SelectorExpr:
			function = f.Sel.Name
		}
		first, ok := literal(call.Args[0])
		switch {
		case !ok:
		case function == "Say" || function == "Text":
			all = append(all, used{text: first})
		case function == "SayN":
			many, _ := literal(call.Args[1])
			all = append(all, used{one: first, text: many})
		}
		return true
	})
	return all
}

// literal is a string, or a concatenation of strings.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		return left + right, ok && also
	}
	return "", false
}

// inScript finds calls of t and tn.
func inScript(t *testing.T, _, text string) (all []used) {
	for _, call := range scriptCalls.FindAllStringSubmatch(text, -1) {
		var m used
		for i, to := range []*string{&m.one, &m.text} {
			testkit.Must(t, json.Unmarshal([]byte(cmp.Or(call[1+i], `""`)), to))
		}
		all = append(all, m)
	}
	return all
}
