package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// What stays English, and templates that are attributes.
	inEnglish = regexp.MustCompile(`(?s)<section id="keys".*?</section>|<[a-z]+ [^>]*lang="en".*?</(?:li|p|span)>|` +
		`define "(?:state|lang)".*?(?:\{\{- define|\z)`)
	actions    = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	attributes = regexp.MustCompile(`(?:aria-label|title|placeholder|alt|data-name)="([^"]*)"`)
	word       = regexp.MustCompile(`\p{L}{2,}`)
)

// TestTemplatesSayMessages: a template has no words but those of messages.
func TestTemplatesSayMessages(t *testing.T) {
	for name, text := range glob(t, "web/templates/*.html", "web/templates/partials/*.html") {
		checkTemplateText(t, name, text)
	}
}

func checkTemplateText(t *testing.T, name, text string) {
	t.Helper()
	text = actions.ReplaceAllString(inEnglish.ReplaceAllString(text, ""), "")
	for _, attribute := range attributes.FindAllStringSubmatch(text, -1) {
		if word.MatchString(attribute[1]) {
			t.Errorf("%s: %s is no message", name, attribute[0])
		}
	}
	for _, found := range word.FindAllString(tags.ReplaceAllString(text, " "), -1) {
		if found != "UTC" && found != "Formulary" { // names
			t.Errorf("%s: “%s” is no message", name, found)
		}
	}
}

var (
	scriptComment = regexp.MustCompile(`(?m)(?s:/\*.*?\*/)|^\s*//.*$|\s// .*$`)
	warning       = regexp.MustCompile(`(?m)console\.warn\(.*$`) // for whoever maintains a wiki
	quoted        = regexp.MustCompile("\"[^\"\n]*\"|`[^`]*`")
	sentence      = regexp.MustCompile("^[\"`]\\s*(?:“|[A-Z][a-z]+(?:[ .:…!?]|[\"`]$))|[a-z][.…!?][\"`]$")
)

// TestScriptsSayMessages: what looks like a sentence is an argument of t or tn.
func TestScriptsSayMessages(t *testing.T) {
	allowed := []string{`"Enter"`, `"Form “{0}”"`} // a key, and what the server replaces
	for name, text := range glob(t, "web/static/*.js") {
		text = scriptCalls.ReplaceAllString(warning.ReplaceAllString(scriptComment.ReplaceAllString(text, ""), ""), "")
		for _, found := range quoted.FindAllString(text, -1) {
			if sentence.MatchString(found) && !slices.Contains(allowed, found) {
				t.Errorf("%s: %s is no message", name, found)
			}
		}
	}
}

// notShown are functions whose texts no page shows: of headers, logs and errors that are logged.
var notShown = []string{
	"Say", "SayN", "Text", "English", "New", "Errorf", "LogError", "Set", "Add", "Get", "Del", "Warn", "Info", "Error", "MustCompile",
}

// TestCodeSaysMessages: in Go code, too.
func TestCodeSaysMessages(t *testing.T) {
	allowed := []string{
		"Formulary", "Markdown", "Confluence", "Wikitext", // names
		"Choose what to filter by", "“Value” ", // by which messages are recognized
	}
	for name, text := range glob(t, "web/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				selector, ok := node.Fun.(*ast.SelectorExpr)
				return !ok || !slices.Contains(notShown, selector.Sel.Name)
			case *ast.BasicLit:
				if text, ok := literal(node); ok && sentence.MatchString(`"`+text+`"`) && !slices.Contains(allowed, text) {
					t.Errorf("%s: %q is no message", name, text)
				}
			}
			return true
		})
	}
}

// TestSentencesAreFound: the tests above notice what they are for.
func TestSentencesAreFound(t *testing.T) {
	for _, text := range []string{`"Send"`, `"Error: "`, "`Sending: ${percent} %`", `"It was not sent yet."`, `" and is gone."`, `"“"`} {
		if !sentence.MatchString(text) {
			t.Errorf("%s is taken for no sentence", text)
		}
	}
	for _, text := range []string{`"Content-Type"`, `"GET /login"`, `"form[data-form]"`, `"?lang="`, `""`} {
		if sentence.MatchString(text) {
			t.Errorf("%s is taken for a sentence", text)
		}
	}
}
