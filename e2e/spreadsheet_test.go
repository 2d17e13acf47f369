//go:build release

package e2e

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/formulary/formulary/internal/testkit"
)

const answersPage = "```yaml form\n" + `form: answers
fields:
  - {id: text, type: textbox, label: Text}
  - {id: number, type: textfield, label: Number, validate: numeric}
` + "```\n"

// cellLimit is how many characters a cell of an XLSX holds.
const cellLimit = 32_767

// hostileAnswers are what spreadsheets have run, cut or changed: a text, a number, and
// the text as the guard of CSV has it.
var hostileAnswers = []struct{ text, number, guarded string }{
	{"=1+1", "42", "'=1+1"},
	{"=cmd|' /C calc'!A0", "-1", "'=cmd|' /C calc'!A0"},
	{`=DDE("soffice";"x";"y")`, "-1.5", `'=DDE("soffice";"x";"y")`},
	{`=HYPERLINK("http://127.0.0.1/"&A1,"click")`, "0", `'=HYPERLINK("http://127.0.0.1/"&A1,"click")`},
	{"@SUM(A1:A9)", "0.5", "'@SUM(A1:A9)"},
	{"+1-1", "1.50", "'+1-1"},
	{"-1+1", "00042", "'-1+1"},
	{"\t=1+1", "123456789012345678901234567890", "'\t'=1+1"},
	{`say "hi", or 'hi'`, "-0", ""},
	{"two\nlines\n", "1234567890", ""},
	{"a;b;c", "", ""},
	{" spaces ", "", ""},
	{"\ufeffmark", "", ""},
	{"\u202eright to left\u200f", "", ""},
	{"00042", "", ""},
	{"2024-02-29", "", ""},
	{"1/2", "", ""},
	{"1e5", "", ""},
	{"TRUE", "", ""},
	{"<b>&amp;</b> _x0041_", "", ""},
	{"名字 🙂 e\u0301", "", ""},
	{strings.Repeat("long ", cellLimit/5) + "ab", "", ""}, // exactly what a cell can hold
}

// What people see in a spreadsheet is what was sent: nothing is run, and
// nothing is cut.
func TestSpreadsheetShowsWhatWasSent(t *testing.T) { engines(t, testSpreadsheetShowsWhatWasSent) }

func testSpreadsheetShowsWhatWasSent(t *testing.T, s site) {
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), answersPage)
	p := start(t, s)
	for _, a := range hostileAnswers {
		p.must(t, 201, "POST", "/answers/submission", fmt.Sprintf(`{"fields":{"text":{"fieldId":"text","value":%s},"number":{"fieldId":"number","value":%q}}}`, quoted(t, a.text), a.number))
	}
	tooLong := strings.Repeat("x", cellLimit+1)
	p.must(t, 201, "POST", "/answers/submission", fmt.Sprintf(`{"fields":{"text":{"fieldId":"text","value":%q}}}`, tooLong))

	var sent, guarded [][]string
	for _, a := range hostileAnswers {
		sent = append(sent, []string{a.text, a.number})
		if a.guarded == "" {
			a.guarded = a.text
		}
		guarded = append(guarded, []string{a.guarded, a.number})
	}
	sent, guarded = append(sent, []string{"#N/A", ""}), append(guarded, []string{tooLong, ""})

	dir := t.TempDir()
	for name, query := range map[string]string{"plain.csv": "csv", "bom.csv": "csv&bom=true", "plain.xlsx": "xlsx"} {
		testkit.WriteFile(t, filepath.Join(dir, name), p.must(t, 200, "GET", "/answers/result?format="+query, "").body)
	}
	// 44 and 34 are comma and quote, 76 is UTF-8; 2 is a column of text.
	convert(t, dir, "text", "--infilter=CSV:44,34,76,1,1/2/2/2/3/2/4/2/5/2", "plain.csv", "bom.csv")
	for _, name := range []string{"plain", "bom"} {
		compare(t, name, guarded, sheet(t, filepath.Join(dir, "text", name+"-"+name+".csv")))
	}
	// Without a word about columns numbers and dates are taken for such. Formulas
	// are not.
	convert(t, dir, "guess", "--infilter=CSV:44,34,76,1", "plain.csv")
	formulas := 0
	for i, row := range sheet(t, filepath.Join(dir, "guess", "plain-plain.csv")) {
		if guarded[i][0][0] == '\'' {
			compare(t, "guessed", guarded[i][:1], row[:1])
			formulas++
		}
	}
	testkit.Same(t, "formulas", formulas, 8)
	convert(t, dir, "book", "", "plain.xlsx")
	compare(t, "xlsx", sent, sheet(t, filepath.Join(dir, "book", "plain-answers.csv")))
	notes, err := os.ReadFile(filepath.Join(dir, "book", "plain-notes.csv"))
	if err != nil || !strings.Contains(string(notes), fmt.Sprintf("%d,text,32768,", len(hostileAnswers)+1)) {
		t.Errorf("notes: %s (%v)", notes, err)
	}
}

const pricesPage = "```yaml form\n" + `form: prices
fields:
  - {id: price, type: textfield, validate: numeric}
  - {id: rating, type: radio, options: ["1", "2", "3", "4", "5"]}
  - {id: day, type: date}
` + "```\n"

// What a spreadsheet computes from an export agrees with the answers.
func TestSpreadsheetComputes(t *testing.T) {
	s := newSite(t)
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), pricesPage)
	p := start(t, s)
	const answers = 100
	cents, ratings := 0, 0
	for i := range answers {
		cents, ratings = cents+895+7*i, ratings+i%5+1 // 8.95, 9.02, 9.09 …
		p.must(t, 201, "POST", "/prices/submission", fmt.Sprintf(
			`{"fields":{"price":{"fieldId":"price","value":"%d.%02d"},"rating":{"fieldId":"rating","value":"%d"},"day":{"fieldId":"day","value":"2026-03-%02d"}}}`,
			(895+7*i)/100, (895+7*i)%100, i%5+1, i%28+1))
	}
	book, err := excelize.OpenReader(strings.NewReader(p.must(t, 200, "GET", "/prices/result?format=xlsx", "").body))
	must(t, err)
	last := answers + 1
	for cell, formula := range map[string]string{
		"D%d": "SUM(D2:D%d)", "E%d": "AVERAGE(E2:E%d)", "F%d": "MAX(F2:F%d)-MIN(F2:F%d)",
	} {
		formula = strings.ReplaceAll(formula, "%d", fmt.Sprint(last))
		must(t, book.SetCellFormula("prices", fmt.Sprintf(cell, last+1), formula))
	}
	dir := t.TempDir()
	must(t, book.SaveAs(filepath.Join(dir, "prices.xlsx")))
	convert(t, dir, "book", "", "prices.xlsx")
	text, err := os.ReadFile(filepath.Join(dir, "book", "prices-prices.csv"))
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	want := fmt.Sprintf(",,,%d.%d,%d,27", cents/100, cents%100/10, ratings/answers)
	testkit.Same(t, "computed", lines[len(lines)-1], want)
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	must(t, err)
	return string(b)
}

func compare[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	testkit.Diff(t, what, got, want)
}

// convert has LibreOffice open files of dir, and write what it shows of every
// sheet to a directory below.
func convert(t *testing.T, dir, to, importFilter string, files ...string) {
	t.Helper()
	args := []string{
		"-env:UserInstallation=file://" + filepath.Join(dir, "profile"), "--headless", "--norestore",
		// Text in quotes, cells as shown, no formulas, all sheets.
		"--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1", "--outdir", to,
	}
	if importFilter != "" {
		args = append(args, importFilter)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // of a machine that does much else
	defer cancel()
	cmd := exec.CommandContext(ctx, "soffice", append(args, files...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("soffice: %v\n%s", err, out)
	}
}

// sheet reads the answers that LibreOffice has shown: texts and numbers.
func sheet(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	for _, row := range all[1:] {
		if len(row[1]) != len("2026-11-15T19:00:00.000Z") || row[2] != "ann" {
			t.Errorf("%s: %q", path, row[:3])
		}
		rows = append(rows, row[3:])
	}
	return rows
}
