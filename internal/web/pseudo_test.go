package web

import (
	"html/template"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
	"time"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

// The pseudo-language is English with brackets around each message, but not around the arguments. Letters outside of
// brackets are data, or a text that is no message.
var (
	msgid     = regexp.MustCompile(`msgid(?:_plural)? "(.*)"`)
	msgstr    = regexp.MustCompile(`msgstr(?:\[\d\])? ""`)
	saidPart  = regexp.MustCompile(`\{\d\}|<[^>]*>|[^{<]*\pL[^{<]*`)
	bracketed = regexp.MustCompile(`⟦[^⟧]*⟧`)
	word      = regexp.MustCompile(`\pL{2,}`)
)

// pseudoLanguage is the pseudo-language under the name of German.
func pseudoLanguage(t *testing.T) *lang.Language {
	t.Helper()
	pot, err := os.ReadFile("../lang/messages/messages.pot")
	testkit.Must(t, err)
	entries := strings.Split(string(pot), "\n\n")
	for i, entry := range entries[1:] {
		ids := msgid.FindAllStringSubmatch(entry, -1)
		entries[i+1] = msgstr.ReplaceAllStringFunc(entry, func(line string) string {
			text := saidPart.ReplaceAllStringFunc(ids[0][1], func(part string) string {
				if part[0] == '{' || part[0] == '<' {
					return part
				}
				return "⟦" + part + "⟧"
			})
			ids = ids[1:]
			return strings.Replace(line, `""`, `"`+text+`"`, 1)
		})
	}
	return lang.Find("de").With(func() string { return strings.Join(entries, "\n\n") })
}

// TestPagesSayMessages opens pages and states of error in the pseudo-language: with more rights and fewer, signed in and out,
// and in a frame.
func TestPagesSayMessages(t *testing.T) {
	lang.Match("de") // knows the order of languages from now on
	all, pseudo := lang.All, slices.Clone(lang.All())
	pseudo[slices.Index(pseudo, lang.Find("de"))] = pseudoLanguage(t)
	lang.All = func() []*lang.Language { return pseudo }
	t.Cleanup(func() { lang.All = all })

	data := strings.Fields(`alice bob carol Survey Rating Comment State Paper Kind Days Day mail Why txt Times set closed open Tue Mon
		over full early Ballot Once survey pdf Vote Text yes no nothing gt filter day Private PUT UTC Formulary
		card numeric all any true question Nov Jan TXT TXTa Excel NDJSON CSV Wikitext Markdown Confluence`)
	phrases := strings.NewReplacer("A few words.", "", "Before the form.", "", "After the form.", "",
		"equals, not-equals, one-of, contains, empty, not-empty, greater-than, less-than, between", "")
	pages := maps.Clone(wiki)
	pages["5-times.md"] = timesPage
	e, proxied := newEnv(t, pages), newProxiedEnv(t, "")
	e.submit("alice", 5, "full", "a", "x")
	for _, p := range append(e.tour("de"), e.faults("de", proxied)...) {
		text := regexp.MustCompile(`https?://\S+`).ReplaceAllString(readerText(p.root), "")
		for _, found := range word.FindAllString(phrases.Replace(bracketed.ReplaceAllString(text, "")), -1) {
			if !slices.Contains(data, found) {
				t.Errorf("%s (%d) says %q", p.path, p.status, found)
			}
		}
		if found := regexp.MustCompile(`\{\d\}|\|`).FindString(text); found != "" {
			t.Errorf("%s (%d) says %q", p.path, p.status, found)
		}
	}
}

// TestTemplatesSayMessages reads all branches of templates in the pseudo-language, also branches that no page takes in tests.
func TestTemplatesSayMessages(t *testing.T) {
	for _, tmpl := range parseTemplates("", newStaticFiles(nil), time.UTC, pseudoLanguage(t)).Templates() {
		if tmpl.Tree == nil {
			continue // the name of the set
		}
		for _, found := range saidByTemplate(tmpl.Tree.Root) {
			t.Errorf("%s says %q", tmpl.Name(), found)
		}
	}
}

// technical are attributes that people don't read.
var technical = strings.Fields(`action aria-current aria-describedby aria-hidden aria-invalid aria-labelledby aria-required
	autocapitalize autocomplete autocorrect blocking charset class content data-at data-copy data-field dir enctype for form href hreflang id inputmode lang
	method name popovertarget preserveaspectratio rel role scope spellcheck step target type`)

// saidByTemplate finds the words of a template outside of brackets.
func saidByTemplate(root *parse.ListNode) (found []string) {
	var source strings.Builder
	allBranches(&source, root)
	text := source.String()
	if regexp.MustCompile(`^\s[\w-]+="`).MatchString(text) {
		text = "<p" + text + ">" // attributes
	}
	say := func(text string) {
		for _, word := range word.FindAllString(bracketed.ReplaceAllString(text, ""), -1) {
			if word != "UTC" && word != "Formulary" { // names
				found = append(found, word)
			}
		}
	}
	english := "" // the element that is in English
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind, token := z.Next(), z.Token()
		if kind == html.ErrorToken {
			return found
		}
		inEnglish := slices.Contains(token.Attr, html.Attribute{Key: "lang", Val: "en"}) || slices.Contains(token.Attr, html.Attribute{Key: "id", Val: "keys"})
		switch {
		case english != "":
			if kind == html.EndTagToken && token.Data == english {
				english = ""
			}
		case inEnglish:
			english = token.Data
		case kind == html.TextToken:
			say(token.Data)
		}
		if english == "" {
			for _, a := range token.Attr {
				typed := func(kind string) bool { return slices.Contains(token.Attr, html.Attribute{Key: "type", Val: kind}) }
				hidden := a.Key == "value" && (token.Data == "button" || token.Data == "option" || typed("checkbox")) || typed("hidden")
				if !slices.Contains(technical, a.Key) && !hidden {
					say(a.Val)
				}
			}
		}
	}
}

// TestWordsOfTemplatesAreFound: the test above notices what it is for.
func TestWordsOfTemplatesAreFound(t *testing.T) {
	pseudo := pseudoLanguage(t)
	for said, texts := range map[bool][]string{
		true: {
			`<p>gone</p>`, `<input type="submit" value="Search now please">`, `<input type=submit value=Search>`,
			`{{"All your forms are here."}}`, `{{- "forms"}}`, `{{printf "All %d forms." .Found}}`, `{{printf "%d forms" .Found}}`,
			`{{if .A}}{{or .Title "Untitled"}}{{end}}`, `{{t "{0} more" (printf "all %d forms" .Found)}}`,
			`<optgroup label="All your forms">`, `<p title='All your forms'>`, `<p title=Forms>`, `<p title = "Forms">`,
			`<p {{if .A}}title="Forms"{{end}}>`, `<p title="{{.N}} forms">`, `<p aria-description="of yours">`,
			"{{t `<b title=\"All your forms\">{0}</b>` .Found}}", ` title="Forms"`, `{{if .A}}{{else}}gone{{end}}`, `{{t "No such message"}}`,
		},
		false: {
			`{{t "Send"}}`, `<p title="{{t "Send"}}">`, `{{tn "{0} problem" "{0} problems" .Found}}`, `{{/* All your forms */}}`,
			`{{if eq .Kind "radios" "status"}}{{template "a" .}}{{end}}`, `<a class="one two" href="{{say "/author"}}">{{- ""}}</a>`,
			`<button name="a" value="set-all">`, `<p lang="en">All your forms</p>`, `{{.At}} UTC`,
		},
	} {
		for _, text := range texts {
			tmpl, err := template.New("").Funcs(pseudo.Funcs()).Funcs(template.FuncMap{"say": pseudo.Say}).Parse(pseudo.Translate(text))
			testkit.Must(t, err)
			if found := saidByTemplate(tmpl.Tree.Root); (len(found) > 0) != said {
				t.Errorf("%s: found %q", text, found)
			}
		}
	}
}

var sentence = regexp.MustCompile(`^\p{Lu}\p{Ll}|\pL\s|\s\pL`)

// allBranches writes what a template may say: its text, and texts in actions that look like sentences.
func allBranches(w *strings.Builder, node parse.Node) {
	branches := func(b parse.BranchNode) {
		allBranches(w, b.Pipe)
		allBranches(w, b.List)
		if b.ElseList != nil {
			w.WriteString(" ")
			allBranches(w, b.ElseList)
		}
	}
	switch node := node.(type) {
	case *parse.ListNode:
		for _, n := range node.Nodes {
			allBranches(w, n)
		}
	case *parse.TextNode:
		w.Write(node.Text)
	case *parse.IfNode:
		branches(node.BranchNode)
	case *parse.RangeNode:
		branches(node.BranchNode)
	case *parse.WithNode:
		branches(node.BranchNode)
	case *parse.ActionNode:
		if literal, ok := node.Pipe.Cmds[0].Args[0].(*parse.StringNode); ok {
			w.WriteString(literal.Text)
		}
		allBranches(w, node.Pipe)
	case *parse.TemplateNode:
		if node.Pipe != nil {
			allBranches(w, node.Pipe)
		}
	case *parse.PipeNode:
		for _, c := range node.Cmds {
			for _, arg := range c.Args {
				allBranches(w, arg)
			}
		}
	case *parse.StringNode:
		if sentence.MatchString(node.Text) {
			w.WriteString(node.Text)
		}
	}
}
