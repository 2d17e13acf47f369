package lang

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/feature/plural"
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
	if err != nil {
		t.Fatal(err)
	}
	after := listMessages(t, before, allMessages(t))
	if *update {
		if err := os.WriteFile(name, after, 0o644); err != nil {
			t.Fatal(err)
		}
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
	if err := e.Encode(text); err != nil {
		t.Fatal(err)
	}
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
		"web/templates/partials/*.html", "web/templates/*.html", "web/*.go", "web/static/*.js", "events/*.go",
		"forms/*.go", "service/*.go", "request/*.go", "encode/*.go", "wiki/*.go", "lang/*.go",
	} {
		names, err := filepath.Glob("../" + pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]func(*testing.T, string, []byte) []used{
				".html": inTemplate, ".go": inCode, ".js": inScript,
			}[filepath.Ext(name)](t, name, text)
			for _, m := range found {
				m.where = strings.TrimPrefix(name, "../")
				add(m)
			}
		}
	}
	return all
}

func inTemplate(t *testing.T, name string, text []byte) (all []used) {
	for _, action := range actionsOf(t, name, text) {
		args := action.Pipe.Cmds[0].Args
		switch args[0].String() {
		case "t":
			all = append(all, used{text: message(args[1])})
		case "tn":
			all = append(all, used{one: message(args[1]), text: message(args[2])})
		}
	}
	return all
}

// treesOf parses a template, in the order of the file.
func treesOf(t *testing.T, name string, text []byte) (trees []*parse.Tree) {
	set := map[string]*parse.Tree{}
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(string(text), "", "", set); err != nil {
		t.Fatal(err)
	}
	for _, tree := range set {
		trees = append(trees, tree)
	}
	slices.SortFunc(trees, func(a, b *parse.Tree) int { return int(a.Root.Pos - b.Root.Pos) })
	return trees
}

func actionsOf(t *testing.T, name string, text []byte) (actions []*parse.ActionNode) {
	for _, tree := range treesOf(t, name, text) {
		walk(tree.Root, func(node parse.Node) {
			if action, ok := node.(*parse.ActionNode); ok {
				actions = append(actions, action)
			}
		})
	}
	return actions
}

// walk visits the nodes of a template.
func walk(list *parse.ListNode, visit func(parse.Node)) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		visit(node)
		var b *parse.BranchNode
		switch node := node.(type) {
		case *parse.IfNode:
			b = &node.BranchNode
		case *parse.RangeNode:
			b = &node.BranchNode
		case *parse.WithNode:
			b = &node.BranchNode
		default:
			continue
		}
		walk(b.List, visit)
		walk(b.ElseList, visit)
	}
}

// inCode finds calls of Say, SayN and Text with literals.
func inCode(t *testing.T, name string, text []byte) (all []used) {
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
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
func inScript(t *testing.T, _ string, text []byte) (all []used) {
	for _, call := range scriptCalls.FindAllSubmatch(text, -1) {
		var m used
		texts := []*string{&m.text}
		if string(call[1]) == "tn" {
			texts = []*string{&m.one, &m.text}
		}
		for i, to := range texts {
			if err := json.Unmarshal(call[2+i], to); err != nil {
				t.Fatal(err)
			}
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
				want := []plural.Form{plural.Other}
				if m.one != "" {
					want = l.pluralForms()
				}
				for form, text := range found {
					if needed := slices.Contains(want, plural.Form(form)); needed != (text != "") {
						t.Errorf("%q: is there a text for the plural form %d? %t, and there should be: %t", m.text, form, text != "", needed)
					} else if needed {
						checkTranslation(t, m, plural.Form(form), text)
					}
				}
			}
			if len(translated) > len(messages) {
				t.Errorf("%d messages, of which %d are not used any more", len(translated), len(translated)-len(messages))
			}
		})
	}
}

// pluralForms are those that whole numbers take.
func (l *Language) pluralForms() (all []plural.Form) {
	for n := range 1000 {
		if form := l.plural(n); !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	return all
}

func checkTranslation(t *testing.T, m used, form plural.Form, text string) {
	t.Helper()
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
	few := form == plural.One || form == plural.Two || form == plural.Zero // which may say the number in words
	inWords := few && has(placeholder, "{0} "+text) == has(placeholder, m.text)
	if !same(placeholder) && !inWords {
		t.Errorf("%q has other placeholders: %q", m.text, text)
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
