package builder_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/web/builder"
)

// message matches a text of an example that is translated.
var message = regexp.MustCompile(`\{\{t "(?:example\|)?([^"]*)"\}\}`)

// texts are the texts of templates, example pages and documents.
func texts(t testing.TB) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"../examples/*.yaml", "../../../examples/pages/*", "../../../docs/*.md"} {
		names, err := filepath.Glob(pattern)
		testkit.Must(t, err)
		for _, name := range names {
			src, err := os.ReadFile(name)
			testkit.Must(t, err)
			format, isPage := markup.FormatOf(name)
			if !isPage {
				texts[name] = message.ReplaceAllString(string(src), "$1")
				continue
			}
			for _, block := range markup.Parse(format, 1, src, nil).Blocks {
				if block.Form != nil && strings.Contains(block.Text, "\n") {
					texts[name+" "+block.FormID] = block.Text
				}
			}
		}
	}
	if len(texts) < 20 {
		t.Fatalf("only %d texts", len(texts))
	}
	return texts
}

// echo are the controls of a form as a browser sends them when nobody has changed them.
func echo(f *builder.Form) url.Values {
	sent := url.Values{}
	add := func(controls map[string]builder.Control) {
		for _, control := range controls {
			sent.Add(control.Name, strings.ReplaceAll(control.Value, "\n", "\r\n"))
		}
	}
	chosen := func(name string, list []builder.Choice) {
		for _, choice := range list {
			if choice.Chosen {
				sent.Add(name, choice.Value)
			}
		}
	}
	add(f.Settings)
	for _, card := range f.Cards {
		open := card.Open
		if open == nil {
			continue
		}
		sent.Set(builder.OpenControl, card.Key)
		add(open.Controls)
		for _, choice := range open.Choices {
			sent.Add(builder.ChoiceControl, choice.Label)
			sent.Add(builder.ValueControl, choice.Value)
		}
		chosen("q-default", open.Defaults)
		chosen("q-section", open.Sections)
		for _, rule := range open.Rules {
			chosen(rule.Field, rule.Fields)
			for _, o := range rule.Operators {
				if o.Chosen {
					sent.Add(rule.Operator, o.Value)
				}
			}
			if chosen(rule.Value, rule.Answers); rule.Answers == nil {
				sent.Add(rule.Value, rule.Text)
			}
		}
	}
	return sent
}

// TestEveryClickOnEveryCard: what nobody changed stays byte for byte, and no click makes an error.
func TestEveryClickOnEveryCard(t *testing.T) {
	for name, text := range texts(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			c := known(text)
			form, err := builder.Read(builder.Result{Text: text}, c)
			testkit.Must(t, err)
			if form.Broken {
				t.Fatalf("%+v", form.Problems)
			}
			for i, card := range form.Cards {
				if card.Field == nil != card.Section {
					t.Errorf("%s is not shown", card.Label)
				}
				clickAll(t, text, card, builder.Kinds[i%len(builder.Kinds)], c)
			}
		})
	}
}

func clickAll(t *testing.T, text string, card builder.Card, kind *builder.Kind, c builder.Context) {
	t.Helper()
	form, err := builder.Read(builder.Result{Text: text, Open: card.Key}, c)
	testkit.Must(t, err)
	sent := echo(form)
	unchanged, err := builder.Do(text, "done", sent, c)
	if err != nil || unchanged.Text != text {
		t.Errorf("%s: closing it changed the text: %v %v\n%s", card.Label, err, unchanged.Notice, unchanged.Text)
	}
	place := "add:" + card.Next + ":" + kind.Name
	if card.After != "" {
		place = "add:" + card.After + ":" + kind.Name
	}
	actions := []string{"unchoice:0", "several", "other", "unrule:0", place, "apply " + kind.Name}
	for _, verb := range []string{"up:", "down:", "copy:", "delete:"} {
		actions = append(actions, verb+card.Key)
	}
	sent.Set(builder.SeveralControl, "One\nTwo: 2\n- three # 3")
	for i, action := range actions {
		if i%2 == card.Number%2 && !card.Section {
			continue // others have it
		}
		action, name, isKind := strings.Cut(action, " ")
		if isKind {
			sent.Set("q-kind", name)
		}
		got, err := builder.Do(text, action, sent, c)
		testkit.Must(t, err)
		if got.Text == text && got.Notice == nil && strings.HasPrefix(action, "add:") {
			t.Errorf("%s at %s: nothing", action, card.Label)
		}
		after, err := builder.Read(got, c)
		testkit.Must(t, err)
		block, diagnostics := markup.ParseForm(1, "en", []byte(got.Text), c.Options)
		if block.Form == nil && !strings.Contains(got.Text, "fields: []") {
			t.Errorf("%s %s at %s: %v\n%s", action, name, card.Label, diagnostics, got.Text)
		}
		again := echo(after)
		if same, err := builder.Do(got.Text, "apply", again, c); !got.Refused() && (err != nil || same.Text != got.Text) {
			t.Errorf("%s %s at %s is not stable: %v\n%s\nbecomes\n%s", action, name, card.Label, same.Notice, got.Text, same.Text)
		}
	}
}

// FuzzDo: no click panics, or makes an error of a text that had none.
func FuzzDo(f *testing.F) {
	f.Add("form: f\nfields:\n- {id: a, type: radio, options: [x, {value: y, label: Y}]}\n- {id: b, type: date}", "down:0",
		"q=1&q-show=all&q-rule-0-field=a&q-rule-0-op=equals&q-rule-0-value=y")
	f.Add("form: f\nfields:\n- section: s\n  fields: [{id: a, type: status, options: &o [x]}, {id: b, type: radio, options: *o}]", "other",
		"q=0.0&q-choice=z&q-value=x&q-kind=date&q-section=")
	f.Add("form: f\ntitle: {de: A, en: B}\nfields: []\nx: !!str y", "add::scale", "f-title=%00&f-opens-time=1")
	for _, text := range texts(f) {
		f.Add(text, "delete:1", "q=0&q-label=L&q-id=x&q-default=1&q-scale-1=e&q-several=a%0Ab")
		f.Add(text, "add:0.:decision", "q=1&q-choice=%3B&q-value=&q-kind=scale&q-min=1&q-section=1")
	}
	f.Fuzz(func(t *testing.T, text, action, query string) {
		sent, err := url.ParseQuery(query)
		if err != nil || len(text) > 10_000 {
			return
		}
		c := known(text)
		got, err := builder.Do(text, action, sent, c)
		if err != nil {
			return
		}
		if _, err := builder.Read(got, c); err != nil {
			t.Errorf("%v in\n%s", err, got.Text)
		}
		before, _ := markup.ParseForm(1, "en", []byte(text), c.Options)
		after, diagnostics := markup.ParseForm(1, "en", []byte(got.Text), c.Options)
		for _, d := range diagnostics {
			if before.Form != nil && after.Form == nil && d.Severity == markup.Error && !strings.HasSuffix(d.Message, " is an empty list") {
				t.Errorf("%v in\n%s", d, got.Text)
			}
		}
	})
}
