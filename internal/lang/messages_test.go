package lang

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
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

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

var update = flag.Bool("update", false, "write messages/en.yaml")

// used is a message that the program has.
type used struct {
	one, text string // one is "" without a plural
	where     string // the first file that has it
}

// TestEnglishListsAllMessages holds messages/en.yaml, the list for translators, against what templates,
// Go code and scripts say. Lines of comment above a message stay when -update writes it.
func TestEnglishListsAllMessages(t *testing.T) {
	const name = "messages/en.yaml"
	before, err := os.ReadFile(name)
	testkit.Must(t, err)
	after := listMessages(t, before, allMessages(t))
	if *update {
		testkit.Must(t, os.WriteFile(name, after, 0o644))
	} else if !bytes.Equal(before, after) {
		t.Error("messages/en.yaml is not what the program says: go test ./internal/lang -update writes it")
	}
}

func listMessages(t *testing.T, before []byte, messages []used) []byte {
	head, rest, _ := bytes.Cut(before, []byte("\n---\n"))
	notes, note := map[string]string{}, ""
	for line := range strings.Lines(string(rest)) {
		switch {
		case strings.HasPrefix(line, "# in "), line == "\n":
			note = ""
		case strings.HasPrefix(line, "#"):
			note += line
		case strings.HasPrefix(line, `"`):
			notes[strings.TrimRight(strings.SplitAfter(line, `":`)[0], ":\n")], note = note, ""
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n---\n", head)
	where := ""
	for _, m := range messages {
		if m.where != where {
			where = m.where
			fmt.Fprintf(&b, "\n# in %s\n", where)
		}
		b.WriteString(notes[quote(t, m.text)])
		if m.one == "" {
			fmt.Fprintf(&b, "%s: %s\n", quote(t, m.text), quote(t, withoutContext(m.text)))
		} else {
			fmt.Fprintf(&b, "%s:\n  one: %s\n  other: %s\n", quote(t, m.text), quote(t, m.one), quote(t, m.text))
		}
	}
	return b.Bytes()
}

func quote(t *testing.T, text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	testkit.Must(t, e.Encode(text))
	return strings.TrimSpace(b.String())
}

// allMessages are those of the program, each once.
func allMessages(t *testing.T) (all []used) {
	seen := map[string]string{}
	add := func(m used) {
		one, known := seen[m.text]
		if known && one != m.one {
			t.Errorf("%q in %s has a plural in one place only, or two of them", m.text, m.where)
		}
		if !known {
			seen[m.text] = m.one
			all = append(all, m)
		}
	}
	for _, pattern := range []string{
		"web/templates/partials/*.html", "web/templates/*.html", "web/examples/*.yaml", "web/*.go", "web/*/*.go", "web/static/*.js", "events/*.go",
		"forms/*.go", "service/*.go", "request/*.go", "encode/*.go", "wiki/*.go", "lang/*.go",
	} {
		files := glob(t, pattern)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			found := map[string]func(t *testing.T, name, text string) []used{
				".html": inTemplate, ".yaml": inTemplate, ".go": inCode, ".js": inScript,
			}[filepath.Ext(name)](t, name, files[name])
			for _, m := range found {
				m = named(m)
				m.where = strings.TrimPrefix(name, "../")
				add(m)
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

var tags = regexp.MustCompile(`<[^>]*>`)

// TestTranslations holds each language against English: the same messages, with the same placeholders and tags,
// in the plural forms that the language has.
func TestTranslations(t *testing.T) {
	messages := allMessages(t)
	for _, l := range All()[1:] {
		t.Run(l.Tag, func(t *testing.T) {
			translated := l.messages()
			for _, m := range messages {
				found, ok := translated[m.text]
				if !ok {
					t.Errorf("%q is missing", m.text)
					continue
				}
				want := []string{other}
				if m.one != "" {
					want = l.pluralForms()
				}
				if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
					t.Errorf("%q has the plural forms %q, want %q", m.text, got, want)
				}
				for form, text := range found {
					checkTranslation(t, m, form, text)
				}
			}
			if len(translated) > len(messages) {
				t.Errorf("%d messages, of which %d are not used any more", len(translated), len(translated)-len(messages))
			}
		})
	}
}

// pluralForms are those that whole numbers take, in alphabetical order.
func (l *Language) pluralForms() (all []string) {
	for n := range 1000 {
		all = append(all, l.plural(n))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func checkTranslation(t *testing.T, m used, form, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%q has no text", m.text)
	}
	if isEnglish(m, text) {
		t.Errorf("%q is not translated", m.text)
	}
	has := func(pattern *regexp.Regexp, text string) string {
		found := pattern.FindAllString(text, -1)
		slices.Sort(found)
		return strings.Join(slices.Compact(found), " ")
	}
	english := []string{withoutContext(m.text)}
	if m.one != "" {
		english = append(english, m.one)
	}
	same := func(pattern *regexp.Regexp) bool {
		return slices.ContainsFunc(english, func(e string) bool { return has(pattern, e) == has(pattern, text) })
	}
	few := form == "one" || form == "two" || form == "zero" // which may say the number in words
	inWords := few && has(placeholder, "{0} "+text) == has(placeholder, m.text)
	if !same(placeholder) && !inWords {
		t.Errorf("%q has other placeholders: %q", m.text, text)
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(text+m.text+m.one, ""), "{}") {
		t.Errorf("%q: %q has braces that are no placeholder", m.text, text)
	}
	if !same(tags) {
		t.Errorf("%q has other tags: %q", m.text, text)
	}
	if strings.ContainsAny(tags.ReplaceAllString(text, ""), "\"&<>|") {
		t.Errorf("%q: %q would have to be escaped where it is part of a template", m.text, text)
	}
	if strings.TrimSpace(english[0]) == english[0] && strings.TrimSpace(text) != text {
		t.Errorf("%q: %q has spaces around it", m.text, text)
	}
}

// isEnglish is whether a translation with three words or more is the English text.
func isEnglish(m used, text string) bool {
	words := word.FindAllString(tags.ReplaceAllString(text, ""), -1)
	return len(words) > 2 && (text == withoutContext(m.text) || text == m.one)
}

// TestEnglishIsFound: TestTranslations notices what it is for.
func TestEnglishIsFound(t *testing.T) {
	m := used{one: "{0} file of yours", text: "example|{0} files of yours"}
	for text, want := range map[string]bool{"{0} file of yours": true, "{0} files of yours": true, "{0} Ihrer Dateien": false} {
		if isEnglish(m, text) != want {
			t.Errorf("%q: not %t", text, want)
		}
	}
	if m := (used{text: "Status: <b>{0}</b>"}); isEnglish(m, m.text) {
		t.Error("a word may be the same")
	}
}

// TestFilesOfMessages checks what is not messages.
func TestFilesOfMessages(t *testing.T) {
	for _, l := range All() {
		for name, text := range map[string]string{
			"name": l.Name, "decimal": l.Decimal, "group": l.Group,
			"day": l.DayLayout, "month": l.MonthLayout, "time": l.TimeLayout,
		} {
			if text == "" {
				t.Errorf("messages/%s.yaml has no %s", l.Tag, name)
			}
		}
		if strings.Contains(l.DayLayout, "Jan") && slices.Contains(l.Months[:], "") {
			t.Errorf("messages/%s.yaml lacks months", l.Tag)
		}
		text, err := files.ReadFile("messages/" + l.Tag + ".yaml")
		_, rest, _ := bytes.Cut(text, []byte("\n---\n"))
		var all map[string]any // refuses a key that is there twice
		if err != nil || yaml.Unmarshal(rest, &all) != nil {
			t.Errorf("messages/%s.yaml can't be read", l.Tag)
		}
	}
}
