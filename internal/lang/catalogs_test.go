package lang

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modernc.org/quickjs"

	"github.com/formulary/formulary/internal/testkit"
)

var update = flag.Bool("update", false, "write messages/: see make messages")

const potFile = "messages/messages.pot"

// TestCatalogs holds messages.pot, the list for translators, against what templates, Go code and scripts say.
func TestCatalogs(t *testing.T) {
	messages := allMessages(t)
	before := readCatalog(t, potFile)
	if after := writePOT(before, messages); *update {
		writeCatalog(t, potFile, after)
	} else if before != after {
		t.Errorf("%s is not what the program says: make messages writes it", potFile)
	}
	if !*update {
		return
	}
	for _, l := range All()[1:] {
		name := "messages/" + l.Tag + ".po"
		writeCatalog(t, name, writePO(readCatalog(t, name), messages, l.Plurals))
	}
}

func readCatalog(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	testkit.Must(t, err)
	return string(text)
}

func writeCatalog(t *testing.T, name, text string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
}

// writePOT returns the list of messages. Comments for translators stay.
func writePOT(before string, messages []*used) string {
	comments := notesOf(before, "#. ")
	text := headOf(before)
	for _, m := range messages {
		text += "\n" + comments[m.text] + "#: " + strings.Join(m.places, " ") + "\n" + m.write(nil, "one", other)
	}
	return text
}

// writePO returns the messages of a language. A new message that is much like one that is gone has its translation, to be reviewed.
func writePO(before string, messages []*used, plurals []string) string {
	notes, text := notesOf(before, "# ", "#, ", "#| "), headOf(before)
	gone := map[string]entry{}
	known := map[string]entry{}
	for _, e := range parse(before)[1:] {
		known[e.key()] = e
		if !slices.ContainsFunc(messages, func(m *used) bool { return m.text == e.key() }) {
			gone[e.key()] = e
		}
	}
	for _, m := range messages {
		translated, ok := known[m.text]
		note := notes[m.text]
		if !ok || (translated["msgid_plural"] != "") != (m.one != "") {
			note = ""
			if translated = m.mostAlike(gone); translated != nil {
				note = "#, fuzzy\n#| msgid " + quote(translated["msgid"]) + "\n"
			}
		}
		text += "\n" + note + m.write(translated, plurals...)
	}
	return text
}

// write returns the entry of a message, with its texts in a language.
func (m *used) write(translated entry, plurals ...string) string {
	english := withoutContext(m.text)
	context, text := strings.TrimSuffix(m.text, english), ""
	if context != "" {
		text = "msgctxt " + quote(strings.TrimSuffix(context, "|")) + "\n"
	}
	if m.one == "" {
		return text + "msgid " + quote(english) + "\nmsgstr " + quote(translated["msgstr"]) + "\n"
	}
	text += "msgid " + quote(m.one) + "\nmsgid_plural " + quote(english) + "\n"
	for i := range plurals {
		keyword := fmt.Sprintf("msgstr[%d]", i)
		text += keyword + " " + quote(translated[keyword]) + "\n"
	}
	return text
}

// mostAlike finds the message that has most words in common, nil if less than two thirds of them.
func (m *used) mostAlike(gone map[string]entry) (found entry) {
	most := 2.0 / 3
	for text, e := range gone {
		if (e["msgid_plural"] != "") != (m.one != "") || e["msgctxt"] != strings.TrimSuffix(strings.TrimSuffix(m.text, withoutContext(m.text)), "|") {
			continue
		}
		a, b := word.FindAllString(m.text, -1), word.FindAllString(text, -1)
		common := len(a)
		for _, w := range a {
			if !slices.Contains(b, w) {
				common--
			}
		}
		if alike := 2 * float64(common) / float64(len(a)+len(b)); alike > most || alike == most && found == nil {
			most, found = alike, e
		}
	}
	return found
}

func headOf(file string) string {
	head, _, _ := strings.Cut(file, "\n\n")
	return strings.TrimSuffix(head, "\n") + "\n"
}

// notesOf are the lines of comment that begin in one of some ways, by message.
func notesOf(file string, prefixes ...string) map[string]string {
	notes := map[string]string{}
	for block := range strings.SplitSeq(file, "\n\n") {
		for line := range strings.Lines(block) {
			if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
				notes[parse(block)[0].key()] += line
			}
		}
	}
	return notes
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

func quote(text string) string { return `"` + quoted.Replace(text) + `"` }

// TestUpdate: translations stay, a changed message makes its translation fuzzy, a new one has none, and a removed one goes.
func TestUpdate(t *testing.T) {
	const head = "msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n"
	before := head + `
#. a comment for translators
#: web/a.go
# of a translator
msgid ""
"Send "
"it"
msgstr "Absenden"

msgid "Nobody has sent anything to this form yet"
msgstr "Noch hat niemand etwas gesendet"

#~ msgid "obsolete"
#~ msgstr "alt"

msgid "Something else"
msgstr "Etwas anderes"

#, fuzzy
msgctxt "filter"
msgid "is"
msgstr "ist"

msgid "{0} form"
msgid_plural "{0} forms"
msgstr[0] "{0} Formular"
msgstr[1] "{0} Formulare"
`
	messages := []*used{
		{text: "filter|is"},
		{text: "Send it", places: []string{"web/a.go", "web/b.go"}},
		{text: "Nobody has sent anything to this form"},
		{one: "{0} form", text: "{0} forms"},
		{one: "{0} page", text: "{0} pages"},
		{text: "\"new\""},
	}
	want := head + `
#, fuzzy
msgctxt "filter"
msgid "is"
msgstr "ist"

# of a translator
msgid "Send it"
msgstr "Absenden"

#, fuzzy
#| msgid "Nobody has sent anything to this form yet"
msgid "Nobody has sent anything to this form"
msgstr "Noch hat niemand etwas gesendet"

msgid "{0} form"
msgid_plural "{0} forms"
msgstr[0] "{0} Formular"
msgstr[1] "{0} Formulare"

msgid "{0} page"
msgid_plural "{0} pages"
msgstr[0] ""
msgstr[1] ""

msgid "\"new\""
msgstr ""
`
	if got := writePO(before, messages, []string{"one", other}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	} else if again := writePO(got, messages, []string{"one", other}); again != got {
		t.Errorf("a second time\n%s", again)
	}
	const wantPOT = "\n#. a comment for translators\n#: web/a.go web/b.go\nmsgid \"Send it\"\nmsgstr \"\"\n"
	if got := writePOT(before, messages[1:2]); got != head+wantPOT {
		t.Errorf("got\n%s", got)
	}
}

// TestWhatPagesSay: a fuzzy message is said in English, and so is one that has not all of its texts.
func TestWhatPagesSay(t *testing.T) {
	l := Language{Tag: "de", Plurals: []string{"one", other}}.With(func() string {
		return `msgid ""
msgstr "head"

#, c-format, fuzzy
msgid "a"
msgstr "A"

msgid "b"
msgstr ""

msgctxt "filter"
msgid "c"
msgstr ""
"C\t"
"\"c\""

msgid "{0} d"
msgid_plural "{0} ds"
msgstr[0] "{0} D"
msgstr[1] ""

# fuzzy
msgid "{0} e"
msgid_plural "{0} es"
msgstr[0] "{0} E"
msgstr[1] "{0} Es"

#~ msgid "f"
#~ msgstr "F"
`
	})
	want := map[string]translation{"filter|c": {other: "C\t\"c\""}, "{0} es": {"one": "{0} E", other: "{0} Es"}}
	if got := l.messages(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := l.Text("a"); got != "a" {
		t.Error(got)
	}
}

// FuzzCatalog: an entry is read as it was written, whatever else the file says.
func FuzzCatalog(f *testing.F) {
	f.Add("#: a\n\n\nmsgid \"\"\"\n", "a\\n", "\"b\"\tc|")
	f.Fuzz(func(t *testing.T, file, text, translated string) {
		if text == "" || strings.Contains(text, "|") || strconv.Quote(text) != quote(text) || strconv.Quote(translated) != quote(translated) {
			return // no text of a message
		}
		file += "\n\n" + (&used{text: text}).write(entry{"msgstr": translated})
		all := parse(file)
		if e := all[len(all)-1]; e.key() != text || e["msgstr"] != translated {
			t.Errorf("%q is read as %q", file, e)
		}
	})
}

var (
	poLine = regexp.MustCompile(`^(?:#.*|(?:(?:msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d\]) )?("(?:[^"\\]|\\[nt"\\])*"))?$`)
	tags   = regexp.MustCompile(`<[^>]*>`)
	word   = regexp.MustCompile(`\p{L}{2,}`)
)

// TestTranslations holds the messages of each language against the English ones: they have the same placeholders and
// tags, and the plural forms of the language.
func TestTranslations(t *testing.T) {
	messages := map[string]*used{}
	for _, m := range allMessages(t) {
		messages[m.text] = m
	}
	for _, l := range All()[1:] {
		t.Run(l.Tag, func(t *testing.T) {
			file, seen := readFile(l.Tag), map[string]bool{}
			for line := range strings.Lines(file) {
				if !poLine.MatchString(strings.TrimSuffix(line, "\n")) {
					t.Errorf("%q can't be read", line)
				}
			}
			if n := strings.Count(file, "\nmsgid "); n != len(parse(file))-1 {
				t.Errorf("%d messages in %d parts with an empty line between them", n, len(parse(file))-1)
			}
			for _, e := range parse(file)[1:] {
				if seen[e.key()] {
					t.Errorf("%q is there twice", e.key())
				}
				seen[e.key()] = true
			}
			for text, translated := range l.messages() {
				if m := messages[text]; m == nil {
					t.Logf("%q is not used any more: make messages removes it", text)
				} else {
					for form, inForm := range translated {
						checkTranslation(t, m, form, inForm)
					}
				}
			}
			if extra := fmt.Sprintf("\nmsgstr[%d]", len(l.Plurals)); strings.Contains(file, extra) {
				t.Errorf("%s: the language has %d plural forms", extra, len(l.Plurals))
			}
		})
	}
}

// TestNothingIsMissing lists the messages that a language has no translation of, or one to be reviewed. It is the list of
// make check; before a release none may be left.
func TestNothingIsMissing(t *testing.T) {
	messages := allMessages(t)
	for _, l := range All()[1:] {
		flags := map[string]string{}
		for _, e := range parse(readFile(l.Tag)) {
			flags[e.key()] = e["#,"]
		}
		for _, m := range messages {
			if l.messages()[m.text] == nil {
				_, _ = fmt.Fprintln(t.Output(), strings.TrimSpace(fmt.Sprintf("%s.po: not translated: %q %s", l.Tag, m.text, flags[m.text])))
				if testkit.Release() {
					t.Fail()
				}
			}
		}
	}
}

func checkTranslation(t *testing.T, m *used, form, text string) {
	t.Helper()
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
func isEnglish(m *used, text string) bool {
	words := word.FindAllString(tags.ReplaceAllString(text, ""), -1)
	return len(words) > 2 && (text == withoutContext(m.text) || text == m.one)
}

// TestEnglishIsFound: TestTranslations notices what it is for.
func TestEnglishIsFound(t *testing.T) {
	m := &used{one: "{0} file of yours", text: "example|{0} files of yours"}
	for text, want := range map[string]bool{"{0} file of yours": true, "{0} files of yours": true, "{0} Ihrer Dateien": false} {
		if isEnglish(m, text) != want {
			t.Errorf("%q: not %t", text, want)
		}
	}
	if m := (&used{text: "Status: <b>{0}</b>"}); isEnglish(m, m.text) {
		t.Error("a word may be the same")
	}
}

// TestLanguages checks settings: all are there, and the head of a file tells tools the same plural forms.
func TestLanguages(t *testing.T) {
	vm, err := quickjs.NewVM()
	testkit.Must(t, err)
	defer func() { _ = vm.Close() }()
	for _, l := range All() {
		for name, text := range map[string]string{
			"name": l.Name, "decimal": l.Decimal, "group": l.Group,
			"day": l.DayLayout, "month": l.MonthLayout, "time": l.TimeLayout,
		} {
			if text == "" {
				t.Errorf("%s has no %s", l.Tag, name)
			}
		}
		if strings.Contains(l.DayLayout, "Jan") && slices.Contains(l.Months[:], "") {
			t.Errorf("%s lacks months", l.Tag)
		}
		if l.Tag == English {
			continue
		}
		head := parse(readFile(l.Tag))[0]["msgstr"]
		if !strings.Contains(head, "Language: "+l.Tag+"\n") || !strings.Contains(head, "charset=UTF-8\n") {
			t.Errorf("%s.po: the head is %q", l.Tag, head)
		}
		rule := regexp.MustCompile(`Plural-Forms: nplurals=(\d); plural=(.*);\n`).FindStringSubmatch(head)
		if rule == nil || rule[1] != strconv.Itoa(len(l.Plurals)) {
			t.Errorf("%s.po: %q for the plural forms %q", l.Tag, rule, l.Plurals)
			continue
		}
		want := []string{}
		for n := range 1000 {
			want = append(want, l.plural(n))
		}
		forms := strings.Join(l.Plurals, " ")
		script := fmt.Sprintf(`Array.from({length: 1000}, (_, n) => "%s".split(" ")[Number(%s)]).join(" ")`, forms, rule[2])
		if got, err := vm.Eval(script, quickjs.EvalGlobal); err != nil || got != strings.Join(want, " ") {
			t.Errorf("%s.po: %s has other plural forms than %q: %v", l.Tag, rule[2], forms, err)
		}
	}
}
