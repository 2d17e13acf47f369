package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
)

const exactPage = "---\nedit: [ann]\n---\n```form\n" + `form: survey
fields:
  - {id: name, type: textfield}
  - {id: mail, type: textfield}
  - {id: rating, type: radio, options: [1, 2, 3, 4, 5]}
  - {id: travel, type: checkbox, options: [bus, car, train]}
  - {id: day, type: textfield}
  - {id: people, type: textfield}
  - {id: note, type: textbox}
  - section: more
    fields:
      - {id: a, type: textfield}
      - {id: b, type: textfield, validate: numeric}
` + "```\n"

// exactRows are the submissions as SQL sees them: ” where there is no answer.
const exactRows = `WITH sent AS MATERIALIZED (SELECT id, username, created, json_type(fields, '$.name') AS has_name, fields ->> '$.nick.value' AS nick,
	ifnull(fields ->> '$.name.value', '') AS name, ifnull(fields ->> '$.mail.value', '') AS mail,
	ifnull(fields ->> '$.rating.value', '') AS rating, ifnull(fields ->> '$.travel.value', '') AS travel,
	ifnull(fields ->> '$.day.value', '') AS day, ifnull(fields ->> '$.people.value', '') AS people,
	ifnull(fields ->> '$.note.value', '') AS note, ifnull(fields ->> '$.a.value', '') AS a, ifnull(fields ->> '$.b.value', '') AS b
	FROM readable) SELECT `

const nickGone = "field-gone nick nick <> ''"

// exactChanges are edits of the page, old and new text, and what each does to submissions: code, field and a condition
// in SQL. Answers to nick, which the page does not have, are found with each that does not say otherwise.
var exactChanges = []struct {
	old, new string
	want     []string
}{
	{"", "", nil},
	{"id: name", "label: Your name, id: name", nil},
	{"id: name", "id: who", []string{"field-gone name name <> ''"}},
	{"id: name", "was: name, id: who", nil},
	{"id: name", "required: true, id: who", []string{"field-gone name name <> ''", "required-missing who true"}},
	{"id: name", "required: true, was: name, id: who", []string{"required-missing who trim(name) = ''"}},
	{"id: name", "was: nick, id: name", []string{"field-gone nick has_name IS NOT NULL AND nick <> ''"}},
	{"id: name", "required: true, was: [x, nick, name], id: who", []string{
		"field-gone name nick IS NOT NULL AND name <> ''", "field-gone nick false",
		"required-missing who trim(ifnull(nick, name)) = ''",
	}},
	{"  - {id: mail, type: textfield}\n", "", []string{"field-gone mail mail <> ''"}},
	{"  - section: more\n    fields:\n      - {id: a, type: textfield}\n      - {id: b, type: textfield, validate: numeric}\n", "", []string{"field-gone a a <> ''", "field-gone b b <> ''"}},
	{"  - section: more\n", "  - {id: new, type: textfield, required: true}\n  - section: more\n", []string{"required-missing new true"}},
	{"id: rating", "required: true, id: rating", []string{"required-missing rating rating = ''"}},
	{"id: travel", "required: true, id: travel", []string{"required-missing travel travel = ''"}},
	{"4, 5]", "4]", []string{"value-refused rating rating = '5'"}},
	{"4, 5]", "4, 5, 6]", nil},
	{"[1, 2, 3, 4, 5]", "[5, 6]", []string{"value-refused rating rating BETWEEN '1' AND '4'"}},
	{"4, 5]", "4, {value: top, was: 5}]", nil},
	{"[1, 2, 3, 4, 5]", "[2, {value: more, was: [3, 4]}, {value: top, was: 5}]", []string{"value-refused rating rating = '1'"}},
	{"bus, car, train", "bus, train", []string{"value-refused travel travel LIKE '%car%'"}},
	{"bus, car, train", "bus, {value: auto, was: car}, train", nil},
	{"bus, car, train", "{value: public, was: [bus, train]}, bike", []string{"value-refused travel travel LIKE '%car%'"}},
	{"type: checkbox", "type: dropdown", []string{"value-refused travel travel LIKE '%;%'"}},
	{"id: mail", "validate: email, id: mail", []string{"value-refused mail mail = 'none'"}},
	{"id: name", "validate: alpha, id: name", []string{"value-refused name name IN (' ', 'x1')"}},
	{"id: people", "validate: numeric, id: people", []string{"value-refused people people = 'few'"}},
	{"id: people", "validate: numeric, min: 0, id: people", []string{"value-refused people people IN ('few', '-1')"}},
	{"id: people", "validate: numeric, max: {field: b}, id: people", []string{
		"value-refused people people = 'few' OR people <> '' AND b <> '' AND CAST(people AS REAL) > CAST(b AS REAL)",
	}},
	{"id: day, type: textfield", "id: day, type: date", []string{"value-refused day day IN ('2026-02-30', 'soon')"}},
	{"id: day, type: textfield", "id: day, type: date, min: 2026-02-01", []string{"value-refused day day IN ('2026-02-30', 'soon', '2026-01-31')"}},
	{"id: day, type: textfield", "id: day, type: date, max: today", []string{
		"value-refused day day IN ('2026-02-30', 'soon') OR day > date(created, '+9 hours')",
	}},
	{"id: note", "maxLength: 5, id: note", []string{"value-refused note length(note) > 5"}},
	{"id: note", "showIf: {field: rating, equals: 1}, id: note", []string{"hidden note note <> '' AND rating <> '1'"}},
	{"id: mail", "required: true, validate: email, showIf: {field: rating, equals: 1}, id: mail", []string{
		"hidden mail mail <> '' AND rating <> '1'", "required-missing mail mail = '' AND rating = '1'", "value-refused mail mail = 'none' AND rating = '1'",
	}},
	{"section: more\n", "section: more\n    showIf: {field: travel, contains: car}\n", []string{
		"hidden a a <> '' AND travel NOT LIKE '%car%'", "hidden b b <> '' AND travel NOT LIKE '%car%'",
	}},
	{"id: name", "showIf: {field: mail, not-empty: true}, id: name", []string{"hidden name name <> '' AND mail = ''"}},
	{"form: survey", "form: survey\nlimit: 9999", []string{"over-limit - true"}},
	{"form: survey", "form: survey\nlimit: 10000", nil},
	{"form: survey", "form: survey\nkeep: 1 day", []string{"over-keep - true"}},
	{"form: survey", "form: survey\nkeep: 50 years", nil},
	{"form: survey", "form: survey\noneSubmission: true", []string{
		"submitted-twice - id IN (SELECT max(id) FROM sent GROUP BY username HAVING count(*) > 1)",
	}},
	{"form: survey", "form: other", []string{"form-gone - true", "field-gone nick false"}},
}

// TestReportIsExact compares the counts of check --against with those of SQL.
func TestReportIsExact(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fillExact(t, s.data)
	var counts []string // a word for each line
	for _, c := range exactChanges {
		for _, line := range append(c.want, nickGone) {
			counts = append(counts, "count(*) FILTER (WHERE "+strings.SplitN(line, " ", 3)[2]+")")
		}
	}
	counts = strings.Fields(s.exec(t, exactRows+strings.Join(counts, " || ' ' || ")+" FROM sent"))
	page := filepath.Join(s.pages, "1.md")
	for _, c := range exactChanges {
		if strings.Count(exactPage, c.old) != 1 && c.old != "" {
			t.Fatalf("%q is not once in the page", c.old)
		}
		want := map[string]string{}
		for _, line := range append(c.want, nickGone) {
			words := strings.SplitN(line, " ", 3)
			if key := words[0] + " " + words[1]; want[key] == "" {
				want[key] = counts[0]
			}
			if (counts[0] == "0") != (words[2] == "false") {
				t.Errorf("%s counts %s", line, counts[0])
			}
			counts = counts[1:]
		}
		maps.DeleteFunc(want, func(_, count string) bool { return count == "0" })
		testkit.WriteFile(t, page, strings.Replace(exactPage, c.old, c.new, 1))
		if got := reported(t, s.data, page); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v\nwant %v", c.new, got, want)
		}
	}
}

// reported are the counts of check --against, by code and field.
func reported(t *testing.T, dir, page string) map[string]int {
	t.Helper()
	out, err := exec.Command(binary, "check", "--timezone", "Asia/Tokyo", "--format", "json", "--against", dir, page).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(out)) {
		found := struct {
			Code, Field string
			Count       int
		}{Field: "-"}
		must(t, json.Unmarshal([]byte(line), &found))
		if found.Code != "" { // all reasons together
			counts[found.Code+" "+found.Field] += found.Count
		}
	}
	return counts
}

// fillExact stores 10,000 submissions, the same in every run.
func fillExact(t *testing.T, dir string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	must(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	records := make([]store.Record, 10_000)
	for i := range records {
		sub := forms.Submission{
			ID: int64(i + 1), PageID: 1, FormID: "survey", Username: fmt.Sprint("user", random.IntN(9000)),
			Created: time.Date(2026, 1, 1+random.IntN(90), 0, random.IntN(24*60), 0, 0, time.UTC),
		}
		var entries []forms.Entry
		for _, f := range []struct{ id, values string }{
			{"name", "| |Ann|Zoë|x1"},
			{"nick", "Al"},
			{"mail", "|a@b.c|none"},
			{"rating", "|1|2|3|4|5"},
			{"travel", "|bus|bus;car|train|car;train|bus;train"},
			{"day", "|2026-01-31|2026-02-01|2026-02-28|2026-02-30|soon"},
			{"people", "|3|-1|10.5|200|few"},
			{"note", "|short|äöüßé|longer"},
			{"a", "|x"},
			{"b", "|4|-20|10.50"},
		} {
			values := strings.Split(f.values, "|")
			if random.IntN(10) == 0 || f.id == "nick" && random.IntN(10) > 0 {
				continue // as if the form had not had the field
			}
			id := sub.ID*(forms.MaxEntries+1) + int64(len(entries)) + 1
			entries = append(entries, forms.Entry{ID: id, FieldID: f.id, Value: values[random.IntN(len(values))]})
		}
		sub.Entries = forms.EncodeEntries(nil, entries)
		records[i].Submission = sub
	}
	must(t, errors.Join(s.Load(t.Context(), records), s.Close()))
}
