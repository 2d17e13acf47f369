package builder_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/web/builder"
)

// TestRules shows the rules with one or two questions each. The texts have the fields, or with "form:" all.
func TestRules(t *testing.T) {
	for _, test := range []struct {
		name, page   string // the block on the page, if it is another text
		before       string
		action, sent string
		after        string // "" for the same
		notice       string
		author       string // the author's language
	}{
		// Choices.
		{
			name: "a choice on the page keeps its value", before: "- {id: a, type: radio, options: [x, y]}",
			action: "apply", sent: "q-choice=X;1\nq-value=x\nq-choice=y\nq-value=y",
			after: "- {id: a, type: radio, options: [{value: x, label: \"X,1\"}, y]}",
		},
		{
			name: "the value as text needs no label", before: "- {id: a, type: radio, options: [{value: x, label: X}, y]}",
			action: "apply", sent: "q-choice=x\nq-value=x\nq-choice=y\nq-value=y",
			after: "- {id: a, type: radio, options: [x, y]}",
		},
		{
			name: "another choice changes its value, and what names it", page: "- {id: a, type: radio, options: [y]}",
			before: "- {id: a, type: radio, options: [x, y], default: x}\n- {id: b, type: date, showIf: {field: a, equals: [x, y]}}",
			action: "apply", sent: "q-choice=p;q\nq-value=x\nq-choice=y\nq-value=y",
			after: "- {id: a, type: radio, options: [\"p,q\", y], default: \"p,q\"}\n- {id: b, type: date, showIf: {field: a, equals: [\"p,q\", y]}}",
		},
		{
			name: "of a question that was renamed", page: "- {id: a, type: radio, options: [x, y]}",
			before: "- {id: b, was: a, type: radio, options: [x, y]}", action: "apply",
			sent: "q-choice=X\nq-value=x\nq-choice=y\nq-value=y", after: "- {id: b, was: a, type: radio, options: [{value: x, label: X}, y]}",
		},
		{
			name: "equal labels", before: "- {id: a, type: radio, options: [x, y]}", action: "done",
			sent: "q-choice=y\nq-value=x\nq-choice=y\nq-value=y", notice: "Two choices are “y”. Change one of them.",
		},
		{
			name: "a text whose value is another choice's", before: "- {id: a, type: radio, options: [x, y]}", action: "apply",
			sent:  "q-choice=X\nq-value=x\nq-choice=y\nq-value=y\nq-choice=x\nq-value=",
			after: "- {id: a, type: radio, options: [{value: x, label: X}, y, {value: x 2, label: x}]}",
		},
		{
			name: "add several", before: "- {id: a, type: checkbox, options: [x]}", action: "several",
			sent:   "q-choice=x\nq-value=x\nq-choice=\nq-value=\nq-several=One\t1\r\\n\\nx\t2\\nTwo; 2\\nOne\\n",
			after:  "- {id: a, type: checkbox, options: [x, One, \"Two, 2\"]}",
			notice: "Added 2 choices. Left out 3 lines, blank or double.",
		},
		{
			name: "another button adds them, too", before: "- {id: a, type: checkbox, options: [x]}", action: "done",
			sent: "q-choice=x\nq-value=x\nq-several=One", after: "- {id: a, type: checkbox, options: [x, One]}",
		},
		{
			name: "remove a choice", before: "- {id: a, type: radio, options: [x, y, z]}", action: "unchoice:1",
			sent:  "q-choice=x\nq-value=x\nq-choice=y\nq-value=y\nq-choice=z\nq-value=z",
			after: "- {id: a, type: radio, options: [x, z]}", notice: "“a” no longer has the choices: y.",
		},
		{
			name: "not the default", before: "- {id: a, type: radio, options: [x, y], default: x}", action: "unchoice:0",
			sent:   "q-choice=x\nq-value=x\nq-choice=y\nq-value=y",
			notice: "The default must be an answer that the question takes. Change the default first.",
		},
		{
			name: "other", before: "- {id: a, type: checkbox, label: Why, options: [x]}", action: "other", sent: "q-choice=x\nq-value=x",
			after: "- {id: a, type: checkbox, label: Why, options: [x, Other]}\n" +
				"- {id: please-specify, label: Please specify, type: textfield, showIf: {field: a, contains: Other}}",
		},
		{
			name: "other in a section", before: "- section: s\n  fields:\n    - {id: a, type: radio, options: [x]}", action: "other",
			sent: "q=0.0\nq-choice=x\nq-value=x",
			after: "- section: s\n  fields:\n    - {id: a, type: radio, options: [x, Other]}\n" +
				"- id: please-specify\n  label: Please specify\n  type: textfield\n  showIf: {field: a, equals: Other}",
		},
		{
			name: "a shared list", action: "apply",
			before: "- {id: a, type: radio, options: &m [x, y]}\n- {id: b, type: radio, options: *m}",
			sent:   "q=1\nq-choice=x\nq-value=x\nq-choice=y\nq-value=y\nq-choice=z\nq-value=",
			after:  "- {id: a, type: radio, options: &m [x, y]}\n- {id: b, type: radio, options: [x, y, z]}",
			notice: "New choices of “b”: z. A list that others share was copied to this place first.",
		},

		// Ids.
		{
			name: "an id of the label", page: "- {id: b, type: date}", before: "- {id: question-1, type: date}", action: "done",
			sent: "q-label=Größe & Länge (Ærø)!", after: "- {id: grosse-lange-aero, type: date, label: Größe & Länge (Ærø)!}",
		},
		{
			name: "not before it is closed", page: "- {id: b, type: date}", before: "- {id: question-1, type: date}", action: "apply",
			sent: "q-label=A", after: "- {id: question-1, type: date, label: A}",
		},
		{
			name: "nothing is left of it", page: "- {id: b, type: date}", before: "- {id: question-3, type: date}", action: "done",
			sent: "q-label=日本", after: "- {id: question-3, type: date, label: 日本}",
		},
		{
			name: "at most 40 characters", page: "- {id: b, type: date}", before: "- {id: question-1, type: date}", action: "done",
			sent: "q-label=" + strings.Repeat("abc ", 20), after: "- {id: abc-abc-abc-abc-abc-abc-abc-abc-abc-abc, type: date, label: " +
				strings.TrimSpace(strings.Repeat("abc ", 20)) + "}",
		},
		{
			name: "it differs from others", page: "- {id: when, type: date}", action: "done", sent: "q-label=Day",
			before: "- {id: question-1, type: date}\n- {id: when, was: day, type: date}",
			after:  "- {id: day-2, type: date, label: Day}\n- {id: when, was: day, type: date}",
		},
		{
			name: "and from stored ones", page: "- {id: b, type: date}", before: "- {id: question-1, type: date}", action: "done",
			sent: "q-label=Stored", after: "- {id: stored-2, type: date, label: Stored}",
		},
		{
			name: "conditions follow", page: "- {id: b, type: date}", action: "add:1:date", sent: "q-label=A",
			before: "- {id: question-1, type: date}\n- {id: b, type: date, showIf: {field: question-1, not-empty: true}}",
			after:  "- {id: a, type: date, label: A}\n- {id: b, type: date, showIf: {field: a, not-empty: true}}\n- {id: question-1, label: \"\", type: date}",
		},
		{
			name: "a later label does not change it", before: "- {id: a, type: date, label: A}", action: "done", sent: "q-label=B",
			after: "- {id: a, type: date, label: B}",
		},
		{
			name: "another id writes was", before: "- {id: a, type: date, label: A}\n- {id: b, type: date, min: {field: a}}", action: "done",
			sent: "q-id=c", after: "- {id: c, type: date, label: A, was: a}\n- {id: b, type: date, min: {field: c}}",
		},
		{
			name: "not of a new question", page: "- {id: b, type: date}", before: "- {id: a, type: date}", action: "done", sent: "q-id=c",
			after: "- {id: c, type: date}",
		},
		{
			name: "back again", page: "- {id: a, type: date}", before: "- {id: c, type: date, was: [a, z]}", action: "done", sent: "q-id=a",
			after: "- {id: a, type: date, was: z}",
		},
		{
			name: "an id of another question", before: "- {id: a, type: date}\n- {id: b, type: date}", action: "done", sent: "q-id=b",
			notice: "Choose another name: this one is taken, or is not allowed.",
		},

		// Kinds.
		{
			name: "keys that don't fit go", before: "- {id: a, type: status, label: A, options: [{value: x, color: red}, {value: y, label: Y}], default: x, by: editors}",
			action: "done", sent: "q-kind=date", after: "- {id: a, type: date, label: A}",
			notice: "The kind of “A” is “Date” now. No longer there: Only editors answer this; Choices; Filled in at first.",
		},
		{
			name: "colours", before: "- {id: a, type: status, label: A, options: [{value: x, color: red}, {value: y, label: Y}], default: x}",
			action: "done", sent: "q-kind=list", after: "- {id: a, type: dropdown, label: A, options: [x, {value: y, label: Y}], default: x}",
			notice: "The kind of “A” is “List” now. No longer there: Colours.",
		},
		{
			name: "numbers", before: "- {id: a, type: textfield, label: A, validate: numeric, min: 1, max: 5}", action: "done", sent: "q-kind=email",
			after:  "- {id: a, type: textfield, label: A, validate: email}",
			notice: "The kind of “A” is “E-mail address” now. No longer there: At least; At most.",
		},
		{
			name: "a scale", before: "- {id: a, type: textbox, label: A, maxLength: 5}", action: "done", sent: "q-kind=scale",
			after:  "- {id: a, type: radio, label: A, options: [1, 2, 3, 4, 5], scale: [\"\", \"\"]}",
			notice: "The kind of “A” is “Scale” now. No longer there: Most characters.",
		},
		{
			name: "the ends of a scale", before: "- {id: a, type: radio, options: [1, 2], scale: [{de: Schlecht, en: Bad}, \"\"]}", action: "done",
			sent: "q-scale-0=Poor\nq-scale-1=Good", after: "- {id: a, type: radio, options: [1, 2], scale: [{de: Schlecht, en: Poor}, \"Good\"]}",
		},
		{
			name: "mail to submitters", before: "form: f\nsubmitterMail: a\nfields:\n- {id: a, type: textfield, validate: email}", action: "done",
			sent: "q-kind=date", notice: "Mails about submissions go to this address. Change that in the text first.",
		},

		// Conditions.
		{
			name: "a condition", before: "- {id: a, type: radio, options: [x, y]}\n- {id: b, type: date}", action: "apply",
			sent:  "q=1\nq-show=all\nq-rule-0-field=a\nq-rule-0-op=equals\nq-rule-0-value=",
			after: "- {id: a, type: radio, options: [x, y]}\n- {id: b, type: date, showIf: {field: a, equals: x}}",
		},
		{
			name: "a second rule", before: "- {id: a, type: checkbox, options: [x, y]}\n- {id: b, type: date, showIf: {field: a, contains: x}}", action: "apply",
			sent:  "q=1\nq-show=any\nq-rule-0-field=a\nq-rule-0-op=contains\nq-rule-0-value=x\nq-rule-1-field=a\nq-rule-1-op=one-of\nq-rule-1-value=x\nq-rule-1-value=y",
			after: "- {id: a, type: checkbox, options: [x, y]}\n- {id: b, type: date, showIf: {any: [{field: a, contains: x}, {field: a, one-of: [x, y]}]}}",
		},
		{
			name: "remove a rule", before: "- {id: a, type: date}\n- {id: b, type: date, showIf: {all: [{field: a, empty: true}, {field: a, less-than: 2026-01-31}]}}", action: "unrule:0",
			sent:  "q=1\nq-show=all\nq-rule-0-field=a\nq-rule-0-op=empty\nq-rule-1-field=a\nq-rule-1-op=less-than\nq-rule-1-value=2026-01-31",
			after: "- {id: a, type: date}\n- {id: b, type: date, showIf: {all: [{field: a, less-than: 2026-01-31}]}}",
		},
		{
			name: "without an answer", before: "- {id: a, type: date}\n- {id: b, type: date, showIf: {any: [{field: a, empty: false}, {field: a, empty: true}]}}",
			action: "done", sent: "q=1\nq-show=any\nq-rule-0-field=a\nq-rule-0-op=not-empty\nq-rule-1-field=a\nq-rule-1-op=not-empty\nq-rule-1-value=x",
			after: "- {id: a, type: date}\n- {id: b, type: date, showIf: {any: [{field: a, empty: false}, {field: a, not-empty: true}]}}",
		},
		{
			name: "always", before: "- {id: a, type: date}\n- {id: b, type: date, showIf: {field: a, empty: true}}", action: "apply",
			sent: "q=1\nq-show=\nq-rule-0-field=a\nq-rule-0-op=empty", after: "- {id: a, type: date}\n- {id: b, type: date}",
		},
		{
			name: "a rule without its answer", before: "- {id: a, type: date}\n- {id: b, type: date}", action: "done",
			sent:   "q=1\nq-show=all\nq-rule-0-field=a\nq-rule-0-op=less-than\nq-rule-0-value=",
			notice: "Complete the condition.",
		},

		// Sections.
		{
			name: "into a section", before: "- {id: a, type: date}\n- section: s\n  fields:\n    - {id: b, type: date}", action: "done", sent: "q-section=1",
			after: "- section: s\n  fields:\n    - {id: b, type: date}\n    - {id: a, type: date}",
		},
		{
			name: "out of a section", before: "- section: s\n  fields:\n    - {id: b, type: date}\n    - {id: c, type: date}\n- {id: a, type: date}", action: "open:1", sent: "q=0.0\nq-section=",
			after: "- section: s\n  fields:\n    - {id: c, type: date}\n- {id: b, type: date}\n- {id: a, type: date}",
		},
		{
			name: "its own condition", before: "- {id: a, type: date, label: Reason, showIf: {field: b, empty: true}}\n- section: s\n  fields:\n    - {id: b, type: date}",
			action: "done", sent: "q-section=1", notice: "“Reason” has its own condition. Remove it first, or give the condition to the section.",
		},
		{
			name: "a lock", before: "form: f\nlockIf: {field: a, not-empty: true}\nfields:\n- {id: a, type: date}\n- {id: b, type: date}", action: "delete:0",
			notice: "Its answer locks submissions. Change that in the text first.",
		},

		// Settings.
		{
			name: "settings", before: "form: f # id\nfields:\n- {id: a, type: date}\n", action: "apply",
			sent:   "q=\nf-title=T\nf-intro=A\\nB\nf-limit=5\nf-anonymous=\nf-anonymous=true\nf-notify=a@example.org, b@example.org\nf-opens-day=2026-01-02\nf-opens-time=\nf-closes-day=2026-02-03\nf-closes-time=18:00",
			after:  "form: f # id\nfields:\n- {id: a, type: date}\ntitle: T\nintro: |-\n  A\n  B\nopens: 2026-01-02\ncloses: 2026-02-03 18:00\nlimit: 5\nanonymous: true\nnotify: [a@example.org, b@example.org]\n",
			notice: "The title is “T” now. The introduction has changed. Changed settings: Opens on: 2026-01-02; Closes on: 2026-02-03 18:00:00 (two hours east); Places; Anonymous: no name is stored; Mail to.",
		},
		{
			name: "a time in another zone stays", before: "form: f\ncloses: 2026-02-03T18:00:00+01:00\nfields:\n- {id: a, type: date}", action: "apply",
			sent: "q=\nf-closes-day=2026-02-03\nf-closes-time=19:00",
		},
		{
			name: "the id of a card that closes is no news", page: "- {id: b, type: date}", before: "- {id: question-1, type: date}\n- {id: b, type: date, label: B}",
			action: "open:1", sent: "q-label=A", after: "- {id: a, type: date, label: A}\n- {id: b, type: date, label: B}",
			notice: "“A” has changed.",
		},
		{
			name: "a time without a day", before: "form: f\nfields:\n- {id: a, type: date}", action: "apply",
			sent: "q=\nf-closes-day=\nf-closes-time=19:00", notice: "Write a day and, if you like, a time. The form opens before it closes.",
		},
		{
			name: "a title of a new form is the one in all languages", page: "none",
			before: "form: f\ntitle: {de: Urlaub, en: Leave}\nfields:\n- {id: a, type: date, label: {en: Day, de: Tag}}", action: "done",
			sent:  "f-title=Vacation\nq-label=First day",
			after: "form: f\ntitle: Vacation\nfields:\n- {id: a, type: date, label: {en: First day, de: Tag}}",
		},
		{
			name: "the author's language", author: "de-AT", before: "form: f\ntitle: {en: Leave, de: Urlaub}\nfields:\n- {id: a, type: date, label: {en: Day, de: Tag}}", action: "done",
			sent:  "f-title=Ferien\nq-label=Erster Tag",
			after: "form: f\ntitle: {en: Leave, de: Ferien}\nfields:\n- {id: a, type: date, label: {en: Day, de: Erster Tag}}",
		},
		{
			name: "the page's language", before: "form: f\ntitle: {de: Urlaub, en: Leave}\nfields:\n- {id: a, type: date, label: {en: Day, de: Tag}}", action: "done",
			sent:  "f-title=Vacation\nq-label=First day",
			after: "form: f\ntitle: {de: Urlaub, en: Vacation}\nfields:\n- {id: a, type: date, label: {en: First day, de: Tag}}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, after := wholeForm(test.before), wholeForm(test.after)
			if test.after == "" {
				after = before
			}
			c := known(before)
			if test.page != "" {
				c.Opened = wholeForm(test.page)
			}
			if test.page == "none" {
				c.Opened = ""
			}
			c.Taken, c.Author = []string{"stored"}, test.author
			controls := sent(test.sent)
			if !controls.Has("q") {
				controls.Set("q", "0")
			}
			got, err := builder.Do(before, test.action, controls, c)
			testkit.Must(t, err)
			if diff := cmp.Diff(after, got.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s\n%v", diff, got.Notice)
			}
			if notice := got.Notice.String(); test.notice != "" && notice != test.notice {
				t.Errorf("notice %q, not %q", notice, test.notice)
			}
		})
	}
}
