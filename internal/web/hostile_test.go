package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/testkit"
)

// hostileTexts try to become markup, script, an address or a style.
var hostileTexts = []string{
	`<script>alert(1)</script>`, `</script><script>alert(1)</script>`, `"><svg onload=alert(1)>`, `'><svg/onload=alert(1)>`, `" onmouseover="alert(1)`,
	`' onfocus='alert(1)' autofocus='`, "` onload=alert(1) `", `javascript:alert(1)`, `JaVaScRiPt:alert(1)`, `data:text/html,<script>alert(1)</script>`,
	`</textarea><script>alert(1)</script>`, `</title><script>alert(1)</script>`, `</option></select><img src=x onerror=alert(1)>`, `<!--`, `--><script>alert(1)</script>`,
	`<![CDATA[<script>alert(1)</script>]]>`, `<base href=//evil.example/>`, `<form action=//evil.example><input name=password>`, `{{template "top"}}`,
	`\u003cscript\u003ealert(1)\u003c/script\u003e`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `%22%3E%3Cscript%3E`, `//evil.example`, `\\evil.example`, `/../../`,
	"\u202e\u2066txt.exe", "\u2028alert(1)\u2029", `',alert(1),'`, `<math><mtext><img src=x onerror=alert(1)>`, `?next=//evil.example`,
}

// hostilePage is a page whose title, labels, help, options and section names
// are the text, with the same form a second time as an anonymous one. A group
// may view it.
func hostilePage(group, text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	option, err := json.Marshal(strings.ReplaceAll(text, ";", ","))
	if err != nil {
		panic(err)
	}
	form := func(id string) string {
		return fmt.Sprintf("```yaml form\nform: %s\nfields:\n"+
			"  - {id: text, type: textbox, label: %[2]s, help: %[2]s, required: true}\n"+
			"  - {id: line, type: textfield, label: %[2]s}\n"+
			"  - {id: pick, type: dropdown, label: %[2]s, options: [%[3]s, other]}\n"+
			"  - {id: radio, type: radio, label: %[2]s, options: [%[3]s, other]}\n"+
			"  - {id: boxes, type: checkbox, label: %[2]s, options: [%[3]s, other]}\n"+
			"  - {id: state, type: status, label: %[2]s, options: [%[3]s, other]}\n"+
			"  - {id: file, type: file, label: %[2]s}\n"+
			"  - {id: number, type: textfield, label: %[2]s, validate: numeric}\n"+
			"  - {id: more, type: textfield, label: %[2]s, showIf: {field: pick, equals: %[3]s}}\n```\n", id, quoted, option)
	}
	return fmt.Sprintf("---\ntitle: %s\nview: [\"@%s\"]\n---\n", quoted, group) + form("one") + "\n" + form("two")
}

// harmless is a text that is shown like the given one: what is long looks different.
func harmless(text string) string {
	if len(text) <= shortCell {
		return "harmless"
	}
	return strings.Repeat("x", 2*shortCell)
}

// TestHostileTexts compares the pages with those for harmless texts: the same
// elements with the same attributes must be there. Each text has a page and a user
// of its own on one site.
func TestHostileTexts(t *testing.T) {
	texts := append(slices.Clone(hostileTexts), harmless(""), harmless(strings.Repeat("x", shortCell+1)))
	files := map[string]string{}
	for i, text := range texts {
		files[fmt.Sprintf("%d.md", i+1)] = hostilePage(fmt.Sprint("readers", i+1), text)
	}
	e := newEnv(t, files)
	views := map[string]map[string]*answer{}
	for i, text := range texts {
		e.Users.Add(text, fmt.Sprint("readers", i+1))
		views[text] = e.viewsOf(i+1, text)
	}
	for _, text := range hostileTexts {
		for name, page := range views[text] {
			page.wantInert(name)
			if got, want := skeleton(page.root), skeleton(views[harmless(text)][name].root); got != want {
				t.Errorf("%s: %q changes the page at …%s", name, text, firstDifference(got, want))
			}
		}
	}
}

// viewsOf are all pages that show a text which somebody else has chosen: by the
// page, the user's name, the answers, or the name of a file.
func (e *env) viewsOf(id int, text string) map[string]*answer {
	e.t.Helper()
	b := e.signedIn(text)
	page := fmt.Sprint("/page/", id)
	form := page + "/form/one"
	views := map[string]*answer{
		"home": b.get("/"), "page": b.get(page), "form": b.get(form), "embedded": e.framed(text, "/embed"+form),
	}
	views["form"].want(200)
	option := strings.ReplaceAll(text, ";", ",")
	typed := with(views["form"].values(), "text", text, "line", text, "pick", option, "radio", option, "boxes", option, "state", option, "more", text)
	file := chosenFile{"file", text + ".txt", text}
	views["refused"] = b.send(form, with(typed, "number", text), file)
	views["sent"] = b.send(form, typed, file)
	path := strings.TrimSuffix(views["sent"].path, "?sent")
	change := b.get(path + "/change")
	views["change"] = change
	b.send(path+"/change", with(change.values(), "text", text+" 2"))
	views["conflict"] = b.send(path+"/change", with(change.values(), "text", text+" 3"))
	views["delete"] = b.get(path + "/delete")
	views["results"] = b.get(form + "/results")
	views["found"] = b.get(form + "/results?q=" + url.QueryEscape(text) + "&filter[line]=" + url.QueryEscape(strings.TrimSpace(text))) // as it is stored
	parameters := "/results?sort=%[1]s&username=%[1]s&limit=%[1]s&filter[%[1]s]=%[1]s&_field=%[1]s&_operator=%[1]s&_value=%[1]s"
	b.get(form + fmt.Sprintf(parameters, url.QueryEscape(text))).wantInert("results, refused")
	views["searched"] = b.get("/?q=" + url.QueryEscape(text))
	views["sign-in"] = e.browser().postForm("/login", url.Values{"username": {text}, "password": {"x"}, "next": {text}})
	views["expired"] = e.browser().send(form, typed)
	views["not found"] = b.get(page + "/form/" + url.PathEscape(strings.NewReplacer("/", "", "?", "").Replace(text)))
	written := strings.SplitN(hostilePage("", text), "```", 3)[1][len("yaml form\n"):]
	views["author"] = b.write(written)
	b.write(text + ": [" + text).wantInert("author, broken")
	testkit.Same(e.t, "the author's text", views["author"].textarea("text"), written)
	for name, page := range views {
		if page.status >= 500 {
			e.t.Errorf("%s: %q: status %d", name, text, page.status)
		}
	}
	return views
}

// framed is a page within a wiki's page, over TLS, for somebody who has signed in
// there.
func (e *env) framed(user, path string) *answer {
	e.t.Helper()
	page := e.browserAt("https://forms.example").postForm("/embed/login", credentials(user, path))
	page.want(200)
	return page
}

// skeleton is the elements of a page and the names of their attributes.
func skeleton(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || attribute(n, "class") == "long" { // names of files are cleaned, and may be shorter then
			continue
		}
		if n.Data == "mark" && len(n.Attr) == 0 { // nor are cleaned names found
			continue
		}
		b.WriteString("<" + n.Data)
		for _, a := range n.Attr {
			b.WriteString(" " + a.Key)
			if a.Key == "type" || a.Key == "class" || a.Key == "role" {
				b.WriteString("=" + a.Val)
			}
		}
		b.WriteString(">")
	}
	return b.String()
}

func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-60)
	return fmt.Sprintf("%s, was …%s", got[from:min(len(got), i+80)], want[from:min(len(want), i+80)])
}

// wantInert refuses what could run or load something, or lead elsewhere.
func (a *answer) wantInert(name string) {
	a.t.Helper()
	for n := range a.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"iframe", "object", "embed", "base", "style", "template", "math"}, n.Data) {
			a.t.Errorf("%s: <%s>", name, n.Data)
		}
		if n.Data == "script" && attribute(n, "type") != "application/json" && !strings.HasPrefix(attribute(n, "src"), staticPrefix) {
			a.t.Errorf("%s: a script that is not ours", name)
		}
		for _, at := range n.Attr {
			switch {
			case strings.HasPrefix(at.Key, "on"), at.Key == "style", at.Key == "srcdoc", at.Key == "formaction":
				a.t.Errorf("%s: <%s %s>", name, n.Data, at.Key)
			case at.Key == "href" || at.Key == "src" || at.Key == "action":
				u, err := url.Parse(at.Val)
				if err != nil || u.Host != "" || u.Scheme != "" {
					a.t.Errorf("%s: <%s %s=%q>", name, n.Data, at.Key, at.Val)
				}
			}
		}
	}
}
