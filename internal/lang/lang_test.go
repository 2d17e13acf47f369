package lang

import (
	"bytes"
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func TestSay(t *testing.T) {
	at := time.Date(2026, 11, 8, 9, 5, 0, 0, time.UTC)
	for _, tt := range []struct {
		tag     string
		message *forms.Message
		want    string
	}{
		{"en", nil, ""},
		{"en", forms.Say("filter|is"), "is"},
		{"en", forms.Say("a {0} | b", "x"), "a x | b"}, // no context
		{"en", forms.Say("on {0}", forms.Plain("2026-11-08")), "on 8 Nov 2026"},
		{"en", forms.SayN("{0} dog", "{0} dogs", 1), "1 dog"},
		{"en", forms.SayN("{0} dog", "{0} dogs", 12345), "12,345 dogs"},
		{"de", forms.Say("no such message"), "no such message"},
		{"de", forms.Say("{0}, {1}, {2}", forms.Plain("2026-11-08"), at, forms.Plain("soon")), "8. Nov. 2026, 8. Nov. 2026, 09:05 UTC, soon"},
		{"de", forms.Say("{0}", forms.Plain("-1234.5")), "-1234,5"},
		{"de", forms.Say("{0}", forms.Say("Send")), "Senden"},
		{"de", forms.Say("{0}", []string{"a", "b"}), "a, b"},
		{"de", forms.SayN("{0} problem", "{0} problems", 1234), "1.234 Probleme"},
		{"pl", forms.SayN("{0} problem", "{0} problems", 1), "1 problem"},
		{"pl", forms.SayN("{0} problem", "{0} problems", 3), "3 problemy"},
		{"pl", forms.SayN("{0} problem", "{0} problems", 5), "5 problemów"},
		{"ar", forms.Say("{0}", "text"), "\u2068text\u2069"},
		{"ar", forms.Say("{0}", forms.Plain("-1234.5")), "\u200e-1234.5"},
		{"ar", forms.Say("{0}", -5.0), "\u200e-5"},
		{"ar", forms.Say("{0}", 5.0), "5"},
	} {
		if got := Find(tt.tag).Say(tt.message); got != tt.want {
			t.Errorf("%s: %v is %q, want %q", tt.tag, tt.message, got, tt.want)
		}
	}
}

// TestHTML: a script finds the times of a message. Arguments are escaped.
func TestHTML(t *testing.T) {
	at := time.Date(2026, 11, 8, 9, 5, 0, 0, time.UTC)
	m := forms.Say("{0}: {1}", "<b>", forms.Say("{0}.", at))
	const want = `&lt;b&gt;: <time datetime="2026-11-08T09:05:00Z">8. Nov. 2026, 09:05 UTC</time>.`
	testkit.Same(t, "HTML", string(Find("de").HTML(m)), want)
}

// TestFingerprint: scripts have settings of languages, too.
func TestFingerprint(t *testing.T) {
	var written bytes.Buffer
	WriteFiles(&written)
	testkit.Contains(t, "what a fingerprint is of", written.String(), string(settings))
}

func TestNumbers(t *testing.T) {
	for tag, want := range map[string]string{"en": "-1,234,567.5", "de": "-1.234.567,5", "fr": "-1\u202f234\u202f567,5", "ar": "\u200e-1,234,567.5"} {
		testkit.Same(t, tag, Find(tag).Number("-1234567.5"), want)
	}
	for tag, want := range map[string]string{"en": "1,234", "es": "1234", "pl": "1234"} {
		testkit.Same(t, tag, Find(tag).Number("1234"), want)
	}
	if got := Find("de").Answer(&forms.Field{Validation: forms.DateOnly}, "2026-03-01"); got != "1. März 2026" {
		t.Error(got)
	}
	if got := Find("de").Month(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)); got != "März 2026" {
		t.Error(got)
	}
}

// TestTranslate makes templates in several languages. html/template escapes the arguments of a message: as text, or as an
// attribute.
func TestTranslate(t *testing.T) {
	const text = `{{define "b"}}<b>{{.}}</b>{{end -}}
{{range .List}}<a title="{{t "Send"}}" href="{{.}}">{{t "{0}: {1}" . (include "b" .)}}</a>{{end}}` +
		"{{t `No form has\n“{0}” in its name, or in that of its page.` .Query}} {{tn `{0} problem` `{0} problems` .Count}}" +
		` {{- tn "{0} problem"
"{0} problems" (len .List)}}`
	for tag, want := range map[string]string{
		"en": `<a title="Send" href="?a=%3c">?a=&lt;: <b>?a=&lt;</b></a>No form has “&lt;x&gt;” in its name, or in that of its page. 1,000 problems1 problem`,
		"de": `<a title="Senden" href="?a=%3c">?a=&lt;: <b>?a=&lt;</b></a>` + Find("de").Text("No form has “{0}” in its name, or in that of its page.", "&lt;x&gt;") + ` 1.000 Probleme1 Problem`,
	} {
		l := Find(tag)
		set := template.Must(template.New("a").Funcs(l.Funcs()).Parse(l.Translate(text)))
		var b bytes.Buffer
		err := set.Execute(&b, map[string]any{"List": []string{"?a=<"}, "Count": 1000, "Query": "<x>"})
		if err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tag, err, &b, want)
		}
	}
}

// TestMisplaced: a message is no argument of something else.
func TestMisplaced(t *testing.T) {
	for _, text := range []string{`{{len (t "Send")}}`, `{{if tn "{0} problem" "{0} problems" .}}{{end}}`, `{{t "{0}" (len (len .))}}`, `{{t .}}`, `{{tn .}}`} {
		if _, err := template.New("a").Funcs(Find(English).Funcs()).Parse(Find(English).Translate(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestPluralOfLargeNumbers: it is not always that of the last digits.
func TestPluralOfLargeNumbers(t *testing.T) {
	for n, want := range map[int]string{1: "one", 2: "two", 1_000_001: "other", 7_000_002: "other", 1_000_003: "few"} {
		testkit.Same(t, n, Find("ar").plural(n), want)
	}
	if got := Find("en").plural(int64(5_000_001)); got != "other" {
		t.Error(got)
	}
}

func TestMatch(t *testing.T) {
	for accept, want := range map[string]string{
		"": "", "ko": "", "de": "de", "de-CH": "de", "pt-PT": "pt", "ko, ar;q=0.5, de;q=0.4": "ar", "de;q=x": "", "en-GB,en;q=0.9": "en", "*": "",
		"qqqqqqqqq, de;q=0.8": "de", "fr;q=0.5, xy_!, de;q=0.8": "de",
		"de," + strings.Repeat("fr;q=0.1,", 100_000): "de", strings.Repeat("!,", 100_000) + "de": "", strings.Repeat("x", 1000): "",
	} {
		if got := Match(accept); (got == nil) != (want == "") || got != nil && got.Tag != want {
			t.Errorf("%q: %v, want %q", accept, got, want)
		}
	}
}

// Days in bounds have the article that the language needs.
func TestBoundsHaveArticles(t *testing.T) {
	day := forms.Plain("2026-05-31")
	for tag, want := range map[string]string{
		"de": "Nicht vor dem 31. Mai 2026.", "fr": "Pas avant le 31 mai 2026.", "es": "No antes del 31 may 2026.",
		"pl": "Nie przed dniem 31 maj 2026.",
	} {
		testkit.Same(t, tag, Find(tag).Text("Not before {0}.", day), want)
	}
}
