package markup

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pageBytes makes TestPathological a measurement: run it with -v and
// -pagebytes 4194304.
var pageBytes = flag.Int("pagebytes", 80<<10, "size of the pathological pages")

// fill repeats unit to make a page.
func fill(head, unit, tail string) string {
	n := max(0, *pageBytes-len(head)-len(tail)) / len(unit)
	return head + strings.Repeat(unit, n) + tail
}

// inForm puts body under the fields of a form.
func inForm(body string) string { return "```form\nform: a\nfields:\n" + body + "\n```\n" }

// inForms puts body under the fields of as many forms as make a page.
func inForms(body string) string {
	block := inForm(body)
	return strings.Repeat(block, max(1, *pageBytes/len(block)))
}

// large repeats unit up to the limit of a block.
func large(head, unit, tail string) string {
	n := (min(*pageBytes, MaxBlockBytes) - 100 - len(head) - len(tail)) / len(unit)
	return head + strings.Repeat(unit, n) + tail
}

// TestPathological parses pages that are made to take long. One that takes more
// than linear time exceeds the test's timeout when it is run with large pages.
func TestPathological(t *testing.T) {
	for _, c := range pathological() {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			p := Parse(c.format, 1, []byte(c.src), nil)
			t.Logf("%v, %d diagnostics", time.Since(start), len(p.Diagnostics))
			checkPage(t, p)
			if c.want != "" && (len(p.Diagnostics) == 0 || !strings.Contains(p.Diagnostics[0].Message, c.want)) {
				t.Errorf("%.3v, want %q first", p.Diagnostics[:min(3, len(p.Diagnostics))], c.want)
			}
		})
	}
}

// A page takes little more memory than its bytes, whatever its lines contain. What
// takes an object per line is refused before it fills the memory.
func TestLargestPagesTakeLittleMemory(t *testing.T) {
	for limit, units := range map[uint64][]string{
		16 << 20: {"[", "![", "<", "*a_", "[a](", "`a ``b ", "http://a.b ", "- [ ] ", "x"},
		128 << 20: {
			"[\n", "# a\n", "a\n=\n", "- a\n", "- - a\n", "> a\n\n", "1)\n", "|a\n|-\n", "<div>\n\n", "[a]: /u\n\n",
			"~~~ form\na\n~~~\n", strings.Repeat(">", 99) + "\n",
		},
	} {
		for _, unit := range units {
			src := []byte(oneForm + strings.Repeat(unit, (MaxPageBytes-len(oneForm))/len(unit)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p := Parse(Markdown, 1, src, nil)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > limit {
				t.Errorf("a page of %.20q takes %d MiB, want at most %d", unit, n>>20, limit>>20)
			}
			if strings.Contains(unit, "\n") == (p.Text != nil) {
				t.Errorf("a page of %.20q has text: %t", unit, p.Text != nil)
			}
		}
	}
}

type pathologicalPage struct {
	name   string
	format Format
	src    string
	want   string // a part of the first message; "" when it depends on the page's size
}

func pathological() []pathologicalPage {
	const deep = "nested too deeply"
	pages := []pathologicalPage{
		{"quotes", Markdown, fill("", ">", ""), deep},
		{"lines of quotes", Markdown, fill("", strings.Repeat(">", 99)+"\n", ""), ""},
		{"lazy lines", Markdown, fill(strings.Repeat(">", 50)+" a\n", "a\n", ""), ""},
		{"dashes are a rule", Markdown, fill("", "- ", ""), ""},
		{"dashes", Markdown, fill("", "- ", "a"), deep},
		{"stars", Markdown, fill("", "* ", "a"), deep},
		{"numbers", Markdown, fill("", "1. ", "a"), deep},
		{"blank lines in lists", Markdown, fill(strings.Repeat("- ", 45)+"a\n", "\n", ""), "too many lines"},
		{"list in list", Markdown, listInList(), deep},
		{"paragraph", Markdown, fill("", "a\n", ""), ""},
		{"headings", Markdown, fill("", "# a\n", ""), ""},
		{"broken fields", Markdown, inForms(large("", "- id: [\n", "")), "not YAML"},
		{"fields before a broken one", Markdown, inForms(large("- id: [\n", "- id: x\n", "")), "not YAML"},
		{"open fence", Markdown, fill("```form\n", "\n", ""), "never closed"},
		{"fences", Markdown, fill("", "```\n", ""), ""},
		{"form fences", Markdown, fill("", "```form\n```\n", ""), "empty"},
		{"html tags", Markdown, fill("", "<a\n", ""), ""},
		{"html attributes", Markdown, fill("<a ", "b ", ""), ""},
		{"long line", Markdown, fill("", "x", ""), ""},
		{"tabs", Markdown, fill("-", "\t", "a"), ""},
		{"brackets", Markdown, fill("", "[", ""), ""},
		{"front matter", Markdown, fill("---\n", "a: b\n", "---\n"), "front matter of more than"},
		{"groups", Markdown, "---\nview: [" + strings.Repeat("@'',", 15000) + "@a]\n---\n", ""},

		{"yaml brackets", Markdown, inForms(large("  ", "[", "")), "commas and brackets"},
		{"yaml braces", Markdown, inForms(large("  ", "{a: ", "")), "nested more than"},
		{"yaml dashes", Markdown, inForms(large("", "- ", "")), "nested more than"},
		{"yaml list", Markdown, inForms(large("  [", "a,", "]")), "must be a mapping"},
		{"yaml keys", Markdown, inForms(large("  - {", "a: b,", "}")), "unknown key"},
		{"yaml fields", Markdown, inForms(large("  [", "{id: a,type: b},", "]")), "unknown type"},
		{"yaml comments", Markdown, inForms(large("  - {id: a, type: date}\n", "  # x\n", "")), ""},
		{"yaml escapes", Markdown, inForms(large("  \"", "\\\"", "")), "not YAML"},
		{"yaml aliases", Markdown, inForms(large("  - &a {id: a, type: radio, options: [b;c]}\n  - &b {section: s, fields: [*a,*a]}\n  - section: t\n    fields: [", "*a,", "]")), ""},
		{"yaml indentation", Markdown, inForms(deepMappings()), "nested more than"},
		{"accept", Markdown, inForms(large("  - {id: a, type: file, accept: \"", ".a,", "\"}")), "more than 50 types"},
		{"bomb", Markdown, "```form\nform: a\nfields:\n" + bomb() + "```\n", ""},
		{"rules", Markdown, inForms(manyRules()), ""},
		{"lists", Markdown, inForms(manyLists()), ""},
		{"long texts", Markdown, inForms(longTexts()), ""},
		{"large definitions", Markdown, strings.Repeat(smallPage(), max(1, *pageBytes/len(smallPage()))), ""},
		{"bad line", Markdown, inForms(strings.Repeat("  - id: a\n", 1500) + "   b: c\n"), "not YAML"},

		{"elements", Confluence, fill("", "<a/>", ""), ""},
		{"deep elements", Confluence, fill("", "<a>", ""), "nested more than"},
		{"deep macros", Confluence, fill("", `<ac:structured-macro ac:name="form">`, ""), "nested more than"},
		{"form macros", Confluence, fill("", `<ac:macro ac:name="form"/>`, ""), "no fields"},
		{"field macros", Confluence, fill(`<ac:macro ac:name="form">`, `<ac:macro ac:name="form-field"/>`, "</ac:macro>"), "formId"},
		{"parameters", Confluence, fill(`<ac:macro ac:name="form">`, `<ac:parameter ac:name="x"/>`, "</ac:macro>"), "unknown parameter"},
		{"entities", Confluence, fill(`<ac:macro ac:name="code"><ac:plain-text-body>form:`, "&lt;", "</ac:plain-text-body></ac:macro>"), ""},
		{"cdata", Confluence, fill(`<ac:macro ac:name="code"><ac:plain-text-body>form:`, "<![CDATA[a]]>", "</ac:plain-text-body></ac:macro>"), ""},
		{"doctype", Confluence, fill("<!DOCTYPE ", "<", ""), "not well-formed"},
		{"entity bomb", Confluence, `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><p>&b;</p>`, "not well-formed"},
		{"attributes", Confluence, fill("<a ", `xmlns:b="x" `, "/>"), ""},

		{"less than", Wikitext, fill("", "<", ""), ""},
		{"open tags", Wikitext, fill("", "<pre ", ""), ""},
		{"tags", Wikitext, fill("", "<nowiki><pre><source><syntaxhighlight>", ""), ""},
		{"form tags", Wikitext, fill("", "<pre class=form>", ""), "never closed"},
		{"comments", Wikitext, fill("", "<!--", ""), ""},
		{"tag attributes", Wikitext, fill("<pre ", "a='", "></pre>"), ""},
		{"ampersands", Wikitext, fill("<pre class=form>", "&", "</pre>"), ""},
		{"closing tags", Wikitext, fill("<pre class=form>", "</pre", ""), "never closed"},
	}
	for name, unit := range hostileTexts {
		pages = append(pages, pathologicalPage{"repeated " + name, formText, smallForm + "  - id: " + repeated(unit), ""})
	}
	return pages
}

func listInList() string {
	var b strings.Builder
	for i := 0; b.Len() < *pageBytes/2; i++ {
		b.WriteString(strings.Repeat("\t", i/2) + strings.Repeat("  ", i%2) + "- a\n")
	}
	return b.String() + strings.Repeat("\n", *pageBytes/2)
}

func deepMappings() string {
	var b strings.Builder
	for i := 0; b.Len() < min(*pageBytes, MaxBlockBytes)-2000; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// bomb is a form of 90,000 fields by way of aliases.
func bomb() string {
	return "  - section: a\n    fields: &f [" + strings.Repeat("{id: x, type: date}, ", 300) + "]\n" +
		"  - &s {section: b, fields: *f}\n" + strings.Repeat("  - *s\n", 300)
}

func numbers(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func manyRules() string {
	return "  - {id: x, type: radio, options: [" + numbers(1000, "%d,") + "]}\n" +
		"  - {id: y, type: date, showIf: {all: [" + numbers(1000, "{field: x, not-equals: %d},") + "]}}\n"
}

func manyLists() string {
	return "  - {id: x, type: radio, options: &o [" + numbers(1000, "%d,") + "]}\n" +
		"  - {id: y, type: date, showIf: {all: [" + strings.Repeat("{field: x, equals: *o},", 45) + "{field: x, equals: 77777}]}}\n"
}

// repeat writes n for N, and what is between « and » n times, with its number for %d.
func repeat(template string, n int) string {
	before, rest, _ := strings.Cut(strings.ReplaceAll(template, "N", strconv.Itoa(n)), "«")
	item, after, found := strings.Cut(rest, "»")
	var b strings.Builder
	for i := 0; found && i < n; i++ {
		b.WriteString(strings.ReplaceAll(item, "%d", strconv.Itoa(i)))
	}
	return before + b.String() + after
}

// TestLimits tries a form at each limit, and one beyond it.
func TestLimits(t *testing.T) {
	const field = "\nfields: [{id: x, type: textfield}]\n"
	const rules = "fields: [{id: x, type: textfield}, {id: y, type: date, showIf: "
	for template, c := range map[string]struct {
		limit int
		want  string
	}{
		"fields: [{id: x, type: checkbox, default: [«%d,»]}]\n": {MaxOptions, "more than 1000 values"},
		"limit: N" + field: {MaxLimit, "from 1 to 10000"},
		"fields: [{id: x, type: textbox, maxLength: N}]\n":                  {MaxMaxLength, "from 1 to 1000000"},
		"notify: [«a%d@example.org,»]" + field:                              {MaxNotify, "more than 20 addresses"},
		"notify: «x»@example.org" + field:                                   {maxAddressLen - len("@example.org"), "longer than 254 bytes"},
		"title: «x»" + field:                                                {MaxTextBytes, "longer than 4096 bytes"},
		"intro: «x»" + field:                                                {MaxTextBytes, "longer than 4096 bytes"},
		"thanks: «x»" + field:                                               {MaxTextBytes, "longer than 4096 bytes"},
		"fields: [{id: x, type: textbox, default: «x»}]\n":                  {MaxTextBytes, "longer than 4096 bytes"},
		"fields: [{id: x, type: textfield, validate: numeric, min: «9»}]\n": {maxBoundLen, "more than 40 digits"},
		"fields: [«{id: f%d, type: date},»]\n":                              {MaxFields, "more than 1000 fields"},
		"fields: [{id: x, type: radio, options: [«o%d,»]}]\n":               {MaxOptions, "more than 1000 options"},
		rules + "{any: [«{field: x, equals: v%d},»]}}]\n":                   {MaxRules, "more than 1000 rules"},
		rules + "{field: x, equals: [«%d,»]}}]\n":                           {MaxOptions, "more than 1000 values"},
		rules + "{any: [«{field: x, contains: v%d},»]}}]\n":                 {MaxScans, "more than 100 rules about field \"x\""},
		field + "#«x»\n":                                                    {MaxBlockBytes - len("form: a\n"+field+"#\n"), "more than 262144 bytes"},
	} {
		t.Run(template, func(t *testing.T) {
			at := Parse(Markdown, 1, []byte("```form\nform: a\n"+repeat(template, c.limit)+"```\n"), nil)
			if len(at.Diagnostics) != 0 || at.Blocks[0].Form == nil {
				t.Errorf("at the limit: %v", at.Diagnostics)
			}
			p := Parse(Markdown, 1, []byte("```form\nform: a\n"+repeat(template, c.limit+1)+"```\n"), nil)
			if len(p.Diagnostics) != 1 || !strings.Contains(p.Diagnostics[0].Message, c.want) || p.Blocks[0].FormID != "a" || p.Blocks[0].Form != nil {
				t.Errorf("beyond the limit: %v %v", p.Blocks, p.Diagnostics)
			}
		})
	}
}

func TestTooManyForms(t *testing.T) {
	src := numbers(MaxForms+2, "```form\nform: f%d\nfields: [{id: x, type: date}]\n```\n")
	p := Parse(Markdown, 1, []byte(src), nil)
	if len(p.Blocks) != MaxForms+1 || p.Blocks[MaxForms-1].Form == nil || p.Blocks[MaxForms].FormID != "" {
		t.Errorf("%d blocks, the last %+v", len(p.Blocks), p.Blocks[len(p.Blocks)-1])
	}
	if len(p.Diagnostics) != 1 || !strings.Contains(p.Diagnostics[0].Message, "more than 200 forms") {
		t.Errorf("got %v", p.Diagnostics)
	}
}

func TestTooManyDiagnostics(t *testing.T) {
	p := Parse(Markdown, 1, []byte("```form\nform: a\nfields: ["+strings.Repeat("x, ", 2*MaxDiagnostics)+"]\n```\n"), nil)
	last := p.Diagnostics[len(p.Diagnostics)-1]
	if len(p.Diagnostics) != MaxDiagnostics+1 || last.Severity != Error || !strings.Contains(last.Message, "not listed") {
		t.Errorf("%d diagnostics, the last %v", len(p.Diagnostics), last)
	}
}

// What aliases repeat counts each time: values, texts, and what a definition has.
func TestAliasesCountEachTime(t *testing.T) {
	list := "  - {id: x, type: radio, options: &o [" + numbers(1000, "%d,") + "]}\n"
	help := "fields: [{id: x, type: date, help: &h " + strings.Repeat("h", 4000) + "}," + numbers(200, "{id: f%d, type: date, help: *h},") + "]\n"
	for want, src := range map[string]string{
		"more than 50000 values, counting what aliases repeat":            inForm(list + "  - {id: y, type: date, showIf: {all: [" + strings.Repeat("{field: x, equals: *o},", 60) + "]}}"),
		"more than 1048576 bytes of text, counting what aliases repeat":   inForm(longTexts()),
		"more than the 1048576 allowed: a section's condition counts":     smallPage(),
		"definitions of the page's forms have more than 8388608 bytes up": numbers(11, "```form\nform: f%d\n"+help+"```\n"),
	} {
		p := Parse(Markdown, 1, []byte(src), nil)
		found := slices.ContainsFunc(p.Diagnostics, func(q Diagnostic) bool { return q.Severity == Error && strings.Contains(q.Message, want) })
		if !found || p.Blocks[len(p.Blocks)-1].Form != nil || len(p.Blocks) > 1 && p.Blocks[0].Form == nil {
			t.Errorf("want %q: %.3v", want, p.Diagnostics)
		}
	}
}

// smallPage is a page of 12 KB with a form whose definition has 35 MB: a section
// whose condition names a long list fifty times, and has 200 fields.
func smallPage() string {
	return "```form\nform: a\nfields:\n" +
		"  - {id: x, type: radio, options: &o [" + numbers(900, "%d,") + "]}\n" +
		"  - section: s\n    showIf: {any: [" + strings.Repeat("{field: x, equals: *o},", 50) + "]}\n" +
		"    fields: [" + numbers(200, "{id: f%d, type: date},") + "]\n```\n"
}

// TestPageDefinitionSize: only the form that exceeds the limit is refused.
func TestPageDefinitionSize(t *testing.T) {
	section := "fields:\n  - {id: x, type: textbox}\n  - section: s\n    showIf: {field: x, equals: " + strings.Repeat("v", 4000) + "}\n" +
		"    fields: [" + numbers(200, "{id: f%d, type: date},") + "]\n"
	one := DefinitionSize(Parse(Markdown, 1, []byte("```form\nform: a\n"+section+"```\n"), nil).Blocks[0].Form)
	fit := MaxPageDefinitionBytes / one
	var src strings.Builder
	for i := range fit + 1 {
		fmt.Fprintf(&src, "```form\nform: f%d\n%s```\n", i, section)
	}
	src.WriteString("```form\nform: small\nfields: [{id: x, type: date}]\n```\n")
	p := Parse(Markdown, 1, []byte(src.String()), nil)
	if fit < 5 || len(p.Diagnostics) != 1 || !strings.Contains(p.Diagnostics[0].Message, "more than 8388608 bytes") || p.Diagnostics[0].Hint == "" {
		t.Errorf("%d forms fit: %v", fit, p.Diagnostics)
	}
	for i, b := range p.Blocks {
		if (b.Form == nil) != (i == fit) {
			t.Errorf("block %d of %d is %v", i, len(p.Blocks), b.Form)
		}
	}
}

func longTexts() string {
	return "  - {id: x, type: radio, label: &a " + strings.Repeat("x", MaxTextBytes) + ", options: &o [" + strings.Repeat("*a,", 900) + "]}\n" +
		numbers(50, "  - {id: x%d, type: radio, options: *o}\n")
}

// hostileTexts would take the YAML parser much longer than a form of the same
// length, or need much more memory, if nesting were not bounded. Each is a unit
// that is repeated.
var hostileTexts = map[string]string{
	"brackets": "[", "braces": "{", "mappings": "{a: ", "brackets in lists": "[a, [", "dashes": "- ", "question marks": "? ", "complex keys": "[? ",
	"anchors of lists": "&a [", "tags of lists": "!a [", "anchors": "&a ", "anchored values": "&a ,", "aliases": "*a ", "tags": "!a ",
	"double quotes": `"'`, "single quotes": `'"`, "quoted lists": `["`, "escapes": `\"`, "colons": "a: ", "keys": "a:\n", "commas": "a,", "empty lists": "[],",
	"nested lists": strings.Repeat("[", maxYAMLNesting-1) + strings.Repeat("]", maxYAMLNesting-1) + ",", "directives": "%TAG !a! b\n", "documents": "--- a\n",
	"literals": "- |\n", "comments": "- a # b\n", "tabs": "\t", "indents": " a:\n",
}

func repeated(unit string) string { return strings.Repeat(unit, (MaxBlockBytes-100)/len(unit)) }

// What is nested too deeply is refused while it is scanned: the parser builds nothing
// of it.
func TestDeepNestingIsRefusedWhileScanning(t *testing.T) {
	for _, unit := range []string{"[", "{", "{a: ", "- ", "? ", "&a [", "!a ["} {
		_, diagnostics := ParseForm(1, "", []byte(repeated(unit)), nil)
		if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, "nested more than 20 deep") && !strings.Contains(diagnostics[0].Message, "commas and brackets") {
			t.Errorf("%q: %v", unit, diagnostics)
		}
	}
	deepest := "form: a\nfields: " + strings.Repeat("[", maxYAMLNesting) + strings.Repeat("]", maxYAMLNesting)
	if _, diagnostics := ParseForm(1, "", []byte(deepest), nil); len(diagnostics) != 1 || strings.Contains(diagnostics[0].Message, "nested") {
		t.Errorf("at the limit: %v", diagnostics)
	}
}
