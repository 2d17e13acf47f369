package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

var (
	hole     = regexp.MustCompile(`\{\d\}|%(?:\[\d\])?[a-z]`)
	phrase   = regexp.MustCompile(`(?:\p{L}|¤)["”.,:;!?…)]*\s+["“(]*\p{L}|\p{L}["”.,:;!?…)]*\s+["“(]*¤`)
	sentence = regexp.MustCompile(`^\s*(?:“|\p{Lu}\p{Ll}+(?:[ .:…!?]|$))|\p{Ll}[.…!?]$|^\s+\p{L}{2,}|\p{L}{2,}[,:;]?\s+$`)
	markup   = regexp.MustCompile(`</?[a-z][^>]*(?:>|$)|\b(?:aria-current|class|dir|id)="[^"]*(?:"|$)`)
)

// speaks is whether people would read a literal: it has two words, or a word and what is filled in, or it looks like
// the beginning or the end of a sentence.
func speaks(text string) bool {
	text = markup.ReplaceAllString(hole.ReplaceAllString(text, "¤"), "")
	return word.MatchString(text) && phrase.MatchString(text) || sentence.MatchString(text)
}

var (
	// Warnings are for whoever maintains a wiki.
	notSaid = regexp.MustCompile(`(?m)console\.warn\(.*$|\b(?:querySelector(?:All)?|matchMedia|BroadcastChannel)\(\s*"[^"\n]*"`)
	// Comments, regular expressions, literals in quotes, and templates.
	scriptTokens = regexp.MustCompile("(?s:/\\*.*?\\*/)|//[^\n]*|" +
		`[=(,:!&|?;{}\[]\s*/(?:` + inRegexp + `|[^/*\\\n\[])(?:` + inRegexp + `|[^/\\\n\[])*/|` +
		`("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|` +
		"(`(?:[^`\\\\$]|\\\\.|" + scriptHole.String() + "|\\$)*`)")
	scriptHole = regexp.MustCompile("\\$\\{((?:[^{}`]|`[^`]*`|\\{[^{}]*\\})*)\\}")
)

const inRegexp = `\\.|\[(?:[^\]\\\n]|\\.)*\]`

// TestScriptsSayMessages: in scripts, too.
func TestScriptsSayMessages(t *testing.T) {
	allowed := []string{
		`"Enter"`, `"Form “{0}”"`, `"The text of a form stands here as code, so nobody can fill it in. Paste it as a form"`, `"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"`, // a key, and what the server replaces
		`"use strict"`, `"note draft"`, `"(prefers-color-scheme: dark)"`, `"not all"`, // code, a class, styles
		"`clamp(12px, ${size}, 24px)`", "`${family.join(\" \")}, var(--font)`",
		"`formulary ${scheme} ${location.origin} ${fontSize} ${fontFamily}`", // for frame.js
		`':is([data-field] :is(input, select, textarea), [type="hidden"]):not([name="_shown"])'`,
		`"input, select, textarea"`, `"input:not([type=hidden]), select, textarea"`, `"input, select, textarea, button"`, // selectors
		`"pre.form, code.form, code.language-form, [data-formulary-form], .mw-highlight.form, .code.panel > .codeContent"`,
	}
	for name, text := range glob(t, "web/static/*.js") {
		for _, found := range saidByScript(text) {
			if !slices.Contains(allowed, found) {
				t.Errorf("%s: %s is no message", name, found)
			}
		}
	}
}

// saidByScript finds what a script says other than by messages.
func saidByScript(text string) (found []string) {
	text = scriptCalls.ReplaceAllString(notSaid.ReplaceAllString(text, ""), "")
	for _, literal := range scriptTokens.FindAllStringSubmatch(text, -1) {
		for _, hole := range scriptHole.FindAllStringSubmatch(literal[2], -1) {
			found = append(found, saidByScript(hole[1])...)
		}
		text := scriptHole.ReplaceAllString(literal[1]+literal[2], "¤")
		if text != "" && speaks(text[1:len(text)-1]) {
			found = append(found, literal[0])
		}
	}
	return found
}

var (
	// textsOfCall is how many texts of a message a function takes, see inCode.
	textsOfCall = map[string]int{"Say": 1, "SayN": 2, "Text": 1}
	// notShown are functions whose literals no page shows.
	notShown = []string{"errors.New", "fmt.Errorf", "LogError", "regexp.MustCompile", "Header.Set", "Header.Add", "Header.Get", "h.Set", "h.Add"}
)

// TestCodeSaysMessages: in Go code, too.
func TestCodeSaysMessages(t *testing.T) {
	allowed := []string{
		"web.go: Formulary", "author.go: Markdown", "author.go: Confluence", "author.go: Wikitext", "resultquery.go: Excel", // names
		"author.go: err.Error()", // stands in an element with lang="en"
		// Messages are recognized by these.
		"resultquery.go: Choose what to filter by", "resultquery.go: “Value” ", "resultquery.go: columns: the form has no field ",
		"read.go: comes later on the page", "rules.go: one several", "form.go: page for ", "summary.go:  of %q", // hashed, a key of a cache
		"render.go: form-action 'self'; base-uri 'none'; frame-ancestors ",
		"static.go: text/css; charset=utf-8", "static.go: text/javascript; charset=utf-8", "html.go: noopener noreferrer nofollow",
	}
	for name, text := range glob(t, "web/*.go", "web/*/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, found := range saidByCode(t, name, text) {
			if !slices.Contains(allowed, filepath.Base(name)+": "+found) {
				t.Errorf("%s: %q is no message", name, found)
			}
		}
	}
}

// saidByCode finds what Go code says other than by messages.
func saidByCode(t *testing.T, name, text string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	testkit.Must(t, err)
	said := map[ast.Node]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			said[node.Tag] = true
		case *ast.CallExpr:
			of, name := nameOf(node.Fun)
			if name == "Error" && len(node.Args) == 0 {
				found = append(found, of+".Error()") // an error is in English
			}
			for i, arg := range node.Args {
				_, ok := literal(arg)
				said[arg] = ok && (i < textsOfCall[name] || slices.Contains(notShown, name) || slices.Contains(notShown, of+"."+name))
			}
		case *ast.SelectorExpr:
			if of, name := nameOf(node); of == "forms" && name == "English" {
				found = append(found, "forms.English")
			}
		case *ast.CompositeLit:
			if of, name := nameOf(node.Type); of == "forms" && name == "Message" {
				found = append(found, "forms.Message")
			}
		case *ast.BasicLit:
			if text, ok := literal(node); ok && speaks(text) && !strings.HasPrefix(text, "filter|") && !said[node] {
				found = append(found, text)
			}
		}
		return !said[node]
	})
	return found
}

// nameOf is the name of a function or type, and what it is of: of fmt.Errorf, fmt and Errorf.
func nameOf(e ast.Expr) (of, name string) {
	switch e := e.(type) {
	case *ast.Ident:
		return "", e.Name
	case *ast.SelectorExpr:
		_, of = nameOf(e.X)
		return of, e.Sel.Name
	case *ast.CallExpr:
		return nameOf(e.Fun)
	}
	return "", ""
}

// TestSentencesAreFound: the tests above notice what they are for.
func TestSentencesAreFound(t *testing.T) {
	inCode := func(text string) []string {
		return saidByCode(t, "a.go", "package web\nfunc f() { use("+text+") }")
	}
	for _, tt := range []struct {
		in    func(text string) []string
		said  bool
		texts []string
	}{
		{saidByScript, true, []string{
			`a = "Send"`, `a = "Error: "`, "a = `Sending: ${percent} %`", `a = "It was not sent yet."`, `a + " and is gone."`, `a = "“" + b`,
			`a = 'The server is gone now.'`, `a = "the server is gone"`, `a = "A server is gone"`, "a = `${message} of your forms`",
			"a = `${n} forms`", "a = `${b ? 'is gone' : ''}`", "a = `${b ? `is gone` : ``}`", `n + " forms"`, `"all " + n`, `t('The server is gone.')`,
			"t(`The server is gone.`)", `t("The server" + " is gone.")`, `if (/["']/.test(a) && b("the server is gone")`, `"http://a" + "is gone"`,
		}},
		{saidByScript, false, []string{
			`a = t("The server is gone.")`, `a = tn("{0} form", "{0} forms", n)`, `a = "Content-Type"`, `a = "form[data-form]"`, `a = "?lang="`, `a = ""`,
			`// the "server is gone"`, `/* the 'server is gone' */`, "a = `${b} ${c}`", "a = `${t(\"It is gone.\")} ${b}`", `querySelector("main p")`, `a = /'(is gone)'/`,
		}},
		{inCode, true, []string{
			`"results of this form"`, `"A form of yours"`, "`is gone`", `"Send"`, `"It is gone."`, `fmt.Sprintf("%d results of yours", 5)`,
			`fmt.Sprintf("%d results", 5)`, `fmt.Sprintf("%[1]s results", a)`, `n + " results"`, `"about " + n`,
			`&forms.Message{Text: "this form is gone"}`, `&forms.Message{Text: gone}`, `forms.English("This form is gone.")`,
			`forms.English(gone)`, `forms.Say("{0}", "a form of yours")`, `forms.Say("Read by " + name)`,
			`forms.SayN("{0} form", "{0} forms", n, "of yours")`, `fmt.Errorf("render: %w", use("this form is gone"))`,
			`query.Set("error", "this form is gone")`, `service.ErrLocked.Error()`,
		}},
		{inCode, false, []string{
			`forms.Say("This form is gone.")`, `forms.Say("This form " + "is gone.")`, `forms.SayN("{0} form", "{0} forms", n)`,
			`c.Lang.Text("This form is gone.")`, `errors.New("is gone")`, `fmt.Errorf("render %s: %w", name, err)`, `c.LogError("this form is gone", err)`,
			`w.Header().Set("Vary", "Accept, Cookie")`, `"Content-Type"`, `"GET /login"`, `"?lang="`, `""`, `"filter|is after"`, `"<p class=\"one two\">"`,
			`struct { A int "a key" }{}`,
		}},
	} {
		for _, text := range tt.texts {
			if found := tt.in(text); (len(found) > 0) != tt.said {
				t.Errorf("%s: found %q", text, found)
			}
		}
	}
}
