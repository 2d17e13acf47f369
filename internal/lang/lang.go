// Package lang is how pages speak to people: the messages in their language, and how it writes
// days and numbers. The English text of a message is its key in all other languages. languages.yaml
// lists the languages, and messages/ has their texts.
package lang

import (
	"cmp"
	"embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/language"

	"github.com/formulary/formulary/internal/forms"
)

//go:embed languages.yaml
var settings []byte

//go:embed messages/*.po
var files embed.FS

// English is the language of messages in the program. It has no file.
const English = "en"

// Language is one that pages speak. languages.yaml says what its settings are for.
type Language struct {
	Tag, Name      string
	RightToLeft    bool `yaml:"rightToLeft"`
	Decimal, Group string
	GroupsFrom     int    `yaml:"groupsFrom"`
	DayLayout      string `yaml:"day"`
	MonthLayout    string `yaml:"month"`
	TimeLayout     string `yaml:"time"`
	Months         [12]string
	Plurals        []string

	tag      language.Tag
	digits   *strings.Replacer
	messages func() map[string]translation // read when they are needed
}

// translation is the text of a message by plural form, see categories. Without a plural, other is the only one.
type translation map[string]string

const other = "other"

// categories are the plural forms as files and scripts call them, by plural.Form.
var categories = []string{other, "zero", "one", "two", "few", "many"}

// All returns the languages, English first and then by their tags.
var All = sync.OnceValue(func() (all []*Language) {
	var languages []Language
	must(yaml.Unmarshal(settings, &languages))
	for _, l := range languages {
		all = append(all, l.With(func() string { return readFile(l.Tag) }))
	}
	return all
})

// With returns the language with the messages of a file of gettext.
func (l Language) With(file func() string) *Language {
	l.tag, l.digits = language.MustParse(l.Tag), strings.NewReplacer(",", l.Group, ".", l.Decimal)
	l.messages = sync.OnceValue(func() map[string]translation {
		return translations(file(), l.Plurals)
	})
	return &l
}

// readFile reads the messages of a language. English has none: they are their keys.
func readFile(tag string) string {
	text, _ := files.ReadFile("messages/" + tag + ".po")
	return string(text)
}

// WriteFiles writes the settings and all files of messages, for a fingerprint.
func WriteFiles(w io.Writer) {
	_, _ = w.Write(settings)
	for _, l := range All() {
		_, _ = io.WriteString(w, readFile(l.Tag)) // a hash takes all
	}
}

// must: files of messages are part of the program.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

var matcher = sync.OnceValue(func() language.Matcher {
	var tags []language.Tag
	for _, l := range All() {
		tags = append(tags, l.tag)
	}
	return language.NewMatcher(tags)
})

// Find returns the language of a tag, nil if there is none.
func Find(tag string) *Language {
	for _, l := range All() {
		if l.Tag == tag {
			return l
		}
	}
	return nil
}

// Tags are those of all languages.
func Tags() (tags []string) {
	for _, l := range All() {
		tags = append(tags, l.Tag)
	}
	return tags
}

// Match returns the language that a header Accept-Language prefers, nil if it has none of them.
func Match(accept string) *Language {
	_, i, confidence := matcher().Match(Preferred(accept)...)
	if confidence == language.No {
		return nil
	}
	return All()[i]
}

// maxAccept bounds the work for a header Accept-Language. Browsers send 100 bytes.
const maxAccept = 500

// Preferred returns the languages that a header Accept-Language names, in their order. It leaves out what is no
// language: the parser would refuse all of them.
func Preferred(accept string) []language.Tag {
	if len(accept) > maxAccept {
		accept = accept[:strings.LastIndexByte(accept[:maxAccept], ',')+1]
	}
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		isUnknown := func(part string) bool { _, _, err := language.ParseAcceptLanguage(part); return err != nil }
		known := slices.DeleteFunc(strings.Split(accept, ","), isUnknown)
		tags, _, _ = language.ParseAcceptLanguage(strings.Join(known, ","))
	}
	return tags
}

// Dir is the value of the attribute dir of HTML.
func (l *Language) Dir() string {
	if l.RightToLeft {
		return "rtl"
	}
	return "ltr"
}

// Text is a message with arguments. The text is a literal, as that of forms.Say.
func (l *Language) Text(text string, args ...any) string {
	return l.Say(forms.Say(text, args...))
}

// Say is a message in the language, "" for nil.
func (l *Language) Say(m *forms.Message) string { return l.say(m, l.write) }

// HTML is a message as HTML. Its times are elements: a script writes them in the browser's zone.
func (l *Language) HTML(m *forms.Message) template.HTML {
	//nolint:gosec // the arguments are escaped
	return template.HTML(l.say(m, func(arg any) string {
		switch arg := arg.(type) {
		case *forms.Message:
			return string(l.HTML(arg))
		case time.Time:
			return `<time datetime="` + arg.Format(time.RFC3339) + `">` + l.write(arg) + "</time>"
		default:
			return template.HTMLEscapeString(l.write(arg))
		}
	}))
}

func (l *Language) say(m *forms.Message, write func(arg any) string) string {
	if m == nil {
		return ""
	}
	form := other
	if m.One != "" {
		form = l.plural(m.Args[0])
	}
	return forms.Fill(l.find(m.One, m.Text, form), m.Args, write)
}

// find returns the text of a message in a plural form. English texts are those of the message. one is "" if it has no
// plural.
func (l *Language) find(one, text, form string) string {
	if found, ok := l.messages()[text]; ok {
		return cmp.Or(found[form], found[other])
	}
	if form == "one" {
		return one
	}
	return withoutContext(text)
}

// withoutContext removes what tells two messages apart that are the same in English: "filter|is".
func withoutContext(text string) string {
	if context, rest, ok := strings.Cut(text, "|"); ok && !strings.ContainsAny(context, " {<") {
		return rest
	}
	return text
}
