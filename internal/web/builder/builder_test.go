package builder_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/web/builder"
)

// known is what the builder knows of a new form in English.
func known(opened string) builder.Context {
	zone := time.FixedZone("two hours east", 7200)
	words := func(m *forms.Message) string {
		text := m.String()
		return text[strings.IndexByte(text, '|')+1:]
	}
	return builder.Context{
		PageID: 1, Lang: "en", Opened: opened, Options: &markup.Options{Zone: zone}, Words: words,
		Untitled: "Question without a text",
		YesNo:    [][]string{{"Yes", "No"}, {"Ja", "Nein"}},
	}
}

// sent are the controls of a request, as "NAME=VALUE" one a line.
func sent(lines string) url.Values {
	values := url.Values{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name != "" {
			values.Add(name, strings.ReplaceAll(value, "\\n", "\n"))
		}
	}
	return values
}

const leave = `form: leave # of people
title: Leave
fields:
  - id: kind # never change
    type: dropdown
    label: 'Kind of leave'
    options: [holiday, {value: ill, label: Illness}, other]
    default: holiday
  # only for some
  - {id: why, type: textbox, label: Reason, showIf: {field: kind, equals: other}}

  - section: days
    title: Days
    showIf: {field: kind, not-equals: ill}
    fields:
      - id: first
        type: date
        label: First day
      - {id: last, type: date, label: Last day, min: {field: first}}
  - {id: mail, type: textfield, label: Mail, validate: email}
`

// change returns the text with replacements, and fails if there is nothing to replace.
func change(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in the text", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

const whyLine = "  # only for some\n  - {id: why, type: textbox, label: Reason, showIf: {field: kind, equals: other}}\n"

func TestClicks(t *testing.T) {
	for _, test := range []struct {
		name         string
		action, sent string
		open         string // the block on the page, "" for the same
		pairs        []string
		notice       string
		at, opens    string
	}{
		// Cards.
		{name: "open", action: "open:1", at: "1", opens: "1"},
		{
			name: "opening another card applies and closes the open one", action: "open:1", sent: "q=0\nq-label=Kind",
			pairs: []string{"'Kind of leave'", "'Kind'"}, notice: "“Kind of leave” is “Kind” now.", at: "1", opens: "1",
		},
		{
			name: "what is not changed stays as it is written", action: "done",
			sent: "q=0\nq-label=Kind of leave\nq-help=\nq-required=\nq-default=holiday\nq-choice=holiday\nq-value=holiday\n" +
				"q-choice=Illness\nq-value=ill\nq-choice=other\nq-value=other\nq-choice=\nq-value=\nq-id=kind\nq-kind=list\nq-section=\nq-show=",
			at: "0",
		},
		{
			name: "move down", action: "down:0", pairs: []string{
				change(t, leave[strings.Index(leave, "  - id: kind"):strings.Index(leave, "\n  - section")]), "\x00",
			},
			notice: "“Kind of leave” is now question 2 of 5.", at: "1",
		},
		{
			name: "move up in a section", action: "up:2.1", pairs: []string{
				"      - id: first\n        type: date\n        label: First day\n      - {id: last, type: date, label: Last day, min: {field: first}}\n",
				"      - {id: last, type: date, label: Last day, min: {field: first}}\n      - id: first\n        type: date\n        label: First day\n",
			},
			notice: "“Last day” is now question 3 of 5.", at: "2.0",
		},
		{name: "the first one does not move up", action: "up:2.0", at: ""},
		{
			name: "copy", action: "copy:3", pairs: []string{
				"validate: email}\n",
				"validate: email}\n  - {id: question-1, type: textfield, label: Mail, validate: email}\n",
			},
			notice: "Added question 6 of 6.", at: "4", opens: "4",
		},
		{name: "a section has no copy", action: "copy:2"},
		{name: "delete", action: "delete:1", pairs: []string{whyLine, ""}, notice: "Deleted “Reason”.", at: "1"},
		{
			name: "delete a question of conditions", action: "delete:0", pairs: []string{
				"  - id: kind # never change\n    type: dropdown\n    label: 'Kind of leave'\n    options: [holiday, {value: ill, label: Illness}, other]\n    default: holiday\n", "",
				", showIf: {field: kind, equals: other}", "", "    showIf: {field: kind, not-equals: ill}\n", "",
			},
			notice: "Deleted “Kind of leave”, and the condition of “Reason, Days”.", at: "0",
		},
		{name: "delete a question of a bound", action: "delete:2.0", notice: "“Last day” depends on it. Change that question first.", at: "2.0"},
		{
			name: "delete a section", action: "delete:2", pairs: []string{
				"\n  - section: days\n    title: Days\n    showIf: {field: kind, not-equals: ill}\n    fields:\n      - id: first\n        type: date\n        label: First day\n      - {id",
				"  - id: first\n    type: date\n    label: First day\n  - {id",
			},
			notice: "Deleted the section “Days”, and its condition if it had one. Its questions stay.", at: "2",
		},

		// Adding.
		{
			name: "add", action: "add:1:date", pairs: []string{whyLine, whyLine + "\n  - {id: question-1, label: \"\", type: date}\n"},
			notice: "Added question 3 of 6.", at: "2", opens: "2",
		},
		{
			name: "add into a section", action: "add:2.:number", pairs: []string{
				"    fields:\n",
				"    fields:\n      - id: question-1\n        label: \"\"\n        type: textfield\n        validate: numeric\n",
			},
			notice: "Added question 3 of 6.", at: "2.0", opens: "2.0",
		},
		{
			name: "yes or no", action: "add:3:yesno", pairs: []string{
				"validate: email}\n",
				"validate: email}\n  - {id: question-1, label: \"\", type: radio, options: [Yes, No]}\n",
			},
			notice: "Added question 6 of 6.", at: "4", opens: "4",
		},
		{
			name: "a section goes after the section", action: "add:2.0:section", pairs: []string{
				"min: {field: first}}\n",
				"min: {field: first}}\n  - section: section-1\n    title: \"\"\n    fields: []\n",
			},
			notice: "Added a section.", at: "3", opens: "3",
		},

		// The open card.
		{
			name: "texts and boxes", action: "done", sent: "q=1\nq-label=Why: so\nq-help=One\\nTwo\nq-required=\nq-required=true\nq-by=\nq-by=true\nq-maxLength=200",
			pairs:  []string{"label: Reason, showIf: {field: kind, equals: other}", "label: \"Why: so\", showIf: {field: kind, equals: other}, help: \"One\\nTwo\", required: true, by: editors, maxLength: 200"},
			notice: "“Reason” is “Why: so” now. “Why: so” is required now.", at: "1",
		},
		{
			name: "a bound that is wrong", action: "done", sent: "q=2.0\nq-min=soon",
			notice: "Write a number such as 12, or a day such as 2026-01-31. The least is below the greatest.", at: "2.0", opens: "2.0",
		},
		{name: "no text", action: "open:1", sent: "q=0\nq-label=", notice: "Write the question.", at: "0", opens: "0"},
		{name: "its own button deletes it unapplied", action: "delete:3", sent: "q=3\nq-label=\nf-title=New", pairs: []string{
			"title: Leave", "title: New", "  - {id: mail, type: textfield, label: Mail, validate: email}\n", "",
		}, notice: "Deleted “Mail”.", at: "2"},
		{
			name: "all or nothing is applied", action: "down:0", sent: "q=1\nq-label=Why\nq-section=2\nf-title=New",
			notice: "“Why” has its own condition. Remove it first, or give the condition to the section.", at: "1", opens: "1",
		},
		{name: "too long", action: "done", sent: "q=0\nq-label=" + strings.Repeat("x", 5000), notice: "Shorten this text.", at: "0", opens: "0"},
		{
			name: "too many choices", action: "done", sent: "q=0" + strings.Repeat("\nq-choice=x", 1002),
			notice: "A question has at most 1000 choices.", at: "0", opens: "0",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := change(t, leave, test.pairs...)
			if strings.Contains(want, "\x00") {
				parts := strings.Split(test.pairs[0], "  # only for some\n")
				want = strings.Replace(want, "\x00", "  # only for some\n"+parts[1]+parts[0], 1)
			}
			got, err := builder.Do(leave, test.action, sent(test.sent), known(leave))
			testkit.Must(t, err)
			if diff := cmp.Diff(want, got.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if notice := got.Notice.String(); notice != test.notice {
				t.Errorf("notice %q, not %q", notice, test.notice)
			}
			if got.At != test.at || got.Open != test.opens {
				t.Errorf("at %q, opens %q; want %q, %q", got.At, got.Open, test.at, test.opens)
			}
			if (got.Undo != nil) != (got.Text != leave) {
				t.Errorf("undo %v", got.Undo)
			}
		})
	}
}

func wholeForm(text string) string {
	if strings.HasPrefix(text, "form:") {
		return text
	}
	return "form: f\nfields:\n" + text
}

// TestCards shows what a text looks like.
func TestCards(t *testing.T) {
	text := change(t, leave, "default: holiday\n", "default: holiday\n  - {id: question-1, label: \"\", type: textfield}\n",
		"title: Leave\n", "title: Leave\nopens: 2026-02-03T18:00:00+01:00\n",
		"  - {id: mail", "  - {id: none, type: radio, label: None, options: []}\n  - {section: empty, fields: []}\n  - {id: mail", "{field: kind, equals: other}",
		"{any: [{field: kind, one-of: [ill, other]}, {field: kind, empty: true}]}")
	form, err := builder.Read(builder.Result{Text: text, Open: "2"}, known(leave))
	testkit.Must(t, err)
	var got []string
	for _, card := range form.Cards {
		line := fmt.Sprintf("%s %d %s %q shown %v next %s after %q", card.Key, card.Number, card.Kind.Name, card.Label, card.Shown, card.Next, card.After)
		if card.Field == nil {
			line += " no field"
		}
		for _, p := range card.Problems {
			line += fmt.Sprintf(" %s: %v %s", p.Severity, p.Say, p.English)
		}
		got = append(got, line)
	}
	want := []string{
		`0 1 list "Kind of leave" shown  next 0 after ""`,
		`1 2 text "Question without a text" shown  next 1 after "" no field error: Write the question. `,
		`2 3 long "Reason" shown Only if Kind of leave filter|is one of Illness, other or Kind of leave filter|is empty  next 2 after ""`,
		`3 0 section "Days" shown Only if Kind of leave filter|is not Illness next 3. after "" no field`,
		`3.0 4 date "First day" shown  next 3.0 after ""`,
		`3.1 5 date "Last day" shown  next 3.1 after "3"`,
		`4 6 choice "None" shown  next 4 after "" no field error: Add a choice. `,
		`5 0 section "empty" shown  next 5. after "5" no field error: This section has no questions yet. `,
		`6 7 email "Mail" shown  next 6 after ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !form.Broken || form.Settings["opens-time"].Value != "19:00" {
		t.Errorf("%v %v", form.Broken, form.Settings)
	}
	open := form.Cards[2].Open
	var rules []string
	for _, r := range open.Rules {
		rules = append(rules, fmt.Sprintf("%v %v %q %v", r.Fields, r.Answers, r.Text, r.SeveralOf))
	}
	want = []string{
		"[{  false} {kind Kind of leave true} {question-1 Question without a text false}] [{holiday holiday false} {ill Illness true} {other other true}] \"\" true",
		"[{  false} {kind Kind of leave true} {question-1 Question without a text false}] [{holiday holiday false} {ill Illness false} {other other false}] \"\" false",
		"[{  true} {kind Kind of leave false} {question-1 Question without a text false}] [] \"\" false",
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Yes or no is recognised by its words. It is one choice while it gets more.
func TestYesOrNo(t *testing.T) {
	text := wholeForm("- {id: a, label: A, type: radio, options: [Ja, Nein]}")
	for _, test := range [][]string{
		{"open:0", "", "yesno 2"}, {"choice", "q=0\nq-kind=yesno", "choice 3"}, {"apply", "q=0\nq-kind=choice", "choice 3"},
	} {
		r, err := builder.Do(text, test[0], sent(test[1]), known(text))
		testkit.Must(t, err)
		form, err := builder.Read(r, known(text))
		testkit.Must(t, err)
		open := form.Cards[0].Open
		testkit.Same(t, test[0], fmt.Sprint(open.Controls["kind"].Value, " ", len(open.Choices)), test[2])
	}
}

// TestWhatWasTypedIsShownAgain: with the fault at its control.
func TestWhatWasTypedIsShownAgain(t *testing.T) {
	r, err := builder.Do(leave, "down:0", sent("q=2.0\nq-label=First\nq-min=soon\nf-title=New"), known(leave))
	testkit.Must(t, err)
	form, err := builder.Read(r, known(leave))
	testkit.Must(t, err)
	controls := form.Cards[3].Open.Controls
	if !r.Refused() || r.Text != leave || controls["label"].Value != "First" || controls["min"].Value != "soon" ||
		controls["min"].Fault == nil || controls["label"].Fault != nil || form.Settings["title"].Value != "New" || r.Focus != "q-min" {
		t.Errorf("%+v %+v", r, controls)
	}
}

// A result may get another text: its cards are shown.
func TestAnotherText(t *testing.T) {
	r, err := builder.Do(leave, "delete:3", nil, known(leave))
	testkit.Must(t, err)
	r.Text = leave
	form, err := builder.Read(r, known(leave))
	testkit.Must(t, err)
	testkit.Same(t, "cards", len(form.Cards), 6)
}

func TestNewForm(t *testing.T) {
	c := known("")
	r := builder.New()
	form, err := builder.Read(r, c)
	testkit.Must(t, err)
	if open := form.Cards[0].Open; !form.Broken || open == nil || open.Controls["kind"].Value != "text" {
		t.Fatalf("%+v", form)
	}
	r, err = builder.Do(r.Text, "done", sent("q=0\nq-label=Name?\nf-title=Sommer-Fest"), c)
	testkit.Must(t, err)
	text, err := builder.NameForm(r.Text, []string{"sommer-fest"}, c)
	testkit.Must(t, err)
	want := "form: sommer-fest-2\ntitle: \"Sommer-Fest\"\nfields:\n  - id: name\n    label: \"Name?\"\n    type: textfield\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again, err := builder.NameForm(text, nil, c); err != nil || again != text {
		t.Errorf("%v\n%s", err, again)
	}
}

func TestChangesInWords(t *testing.T) {
	after := change(t, leave, "title: Leave", "title: Holidays\nlimit: 5", "holiday, {", "holiday, training, {", ", other]", "]",
		"label: 'Kind of leave'", "label: 'Kind of leave'\n    required: true", "id: why", "id: reason, was: why", "label: Reason", "label: Why",
		"  - {id: mail, type: textfield, label: Mail, validate: email}\n", "  - {id: end, type: date, label: End}\n", "label: Last day, min", "help: x, label: Last day, min")
	say, err := builder.Changes(leave, after, known(leave))
	testkit.Must(t, err)
	var got []string
	for _, m := range say {
		got = append(got, m.String())
	}
	want := []string{
		"Added: End.", "Deleted: Mail.", "New choices of “Kind of leave”: training.", "“Kind of leave” no longer has the choices: other.",
		"“Kind of leave” is required now.", "“Reason” is “Why” now.", "“Last day” has changed.",
		"The title is “Holidays” now.", "Changed settings: Places.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range [][]string{
		{"form: f\nfields:\n- {section: a, title: S, fields: [{id: a, type: date, label: Q}]}"},
		{
			"form: f\ntitle: T\nintro: I\nfields: [{id: a, type: date}]", "form: f\ntitle: ''\nfields: [{id: a, type: date}]",
			"The title was removed.", "The introduction was removed.",
		},
		{
			"form: f\nfields: [{id: a, type: radio, options: [x, y, z]}]",
			"form: f\nfields: [{id: a, type: radio, options: [{value: x, label: X}, {value: p, was: y}, z]}]",
			"“x” reads “X” now.", "“y” reads “p” now.",
		},
	} {
		after := append(test, test[0])[1]
		say, err := builder.Changes(test[0], after, known(test[0]))
		testkit.Must(t, err)
		testkit.Same(t, "changes", forms.Join(say).String(), strings.Join(test[min(2, len(test)):], "; "))
	}
	_, err = builder.Changes(leave, "- no form", known(leave))
	if err == nil {
		t.Error("a list was compared")
	}
}
