package rest

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testsite"
)

func readCSV(t testing.TB, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v in %s", err, clip(text))
	}
	return rows
}

// readXLSX reads a sheet as CSV would have it.
func readXLSX(t testing.TB, file, sheet string) [][]string {
	t.Helper()
	book, err := excelize.OpenReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	rows, err := book.GetRows(sheet, excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		for len(rows[i]) < len(rows[0]) {
			rows[i] = append(rows[i], "") // excelize leaves out empty cells at the end
		}
		if i > 0 && sheet == "results" {
			days, err := strconv.ParseFloat(rows[i][1], 64)
			if err != nil {
				t.Fatalf("_timestamp is no date: %v", err)
			}
			rows[i][1] = time.UnixMilli(int64(math.Round((days - 25_569) * 86_400_000))).UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	return rows
}

// flatTable is the flat JSON as a table, columns by name.
func flatTable(t testing.TB, body string, columns []string) [][]string {
	t.Helper()
	var list []map[string]string
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	rows := [][]string{columns}
	for _, result := range list {
		millis, err := strconv.ParseInt(result["_timestamp"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		result["_timestamp"] = time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
		for id := range result {
			if !slices.Contains(columns, id) {
				t.Errorf("%s has no column", id)
			}
		}
		row := make([]string, len(columns))
		for i, id := range columns {
			row[i] = result[id]
		}
		rows = append(rows, row)
	}
	return rows
}

// checkTables holds CSV and XLSX of a form against its flat JSON.
func (e *env) checkTables(t testing.TB, path, query string) {
	t.Helper()
	flat := e.get(t, "alice", path+"/result?"+query)
	for _, format := range []string{"csv", "xlsx"} {
		body := e.get(t, "alice", path+"/result?guard=false&format="+format+"&"+query)
		var got [][]string
		if format == "csv" {
			got = readCSV(t, body)
		} else {
			got = readXLSX(t, body, "results")
		}
		want := flatTable(t, flat, got[0])
		if format == "csv" {
			for _, row := range want {
				for i := range row {
					row[i] = strings.ReplaceAll(row[i], "\r\n", "\n") // as encoding/csv does
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s?%s as %s: (-JSON +table)\n%s", path, query, format, diff)
		}
	}
}

var hostileAnswers = []string{
	"=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1", "-x", "\t=1", "\r=1", `"=1"`, "'=1", "a,b", "a\r\nb", " x ", "00042", "\ufeffx", "\u202ex", "_x000D_",
	"\x01", "<b>&", "\ufffe",
}

func TestTablesOfHostileValues(t *testing.T) {
	e := newEnv(t, house())
	for _, value := range append(hostileAnswers, texts...) {
		e.create(t, "alice", allPath, nestedBody("name", value+"!", "note", value))
	}
	for _, count := range []string{"007", "-1.50", "12345678901234567890", "42", "-0"} {
		e.create(t, "bob", allPath, nestedBody("name", "x", "count", count))
	}
	for _, query := range []string{"", "limit=3", "order=desc&after=7", "username=bob", "username=nobody"} {
		e.checkTables(t, allPath, query)
	}
	for i, row := range readCSV(t, e.get(t, "alice", allPath+"/result?format=csv")) {
		for _, cell := range row {
			if strings.IndexAny(cell, "=+@\t\r") == 0 || strings.HasPrefix(cell, "-") && i <= len(hostileAnswers) {
				t.Errorf("line %d: %q is not guarded", i+1, cell)
			}
		}
	}
}

// Answers to fields that have left the page are in the table, after the others.
func TestTablesHaveFieldsThatHaveLeftThePage(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": blockWith("z", "a", "b", "kept")})
	path := form(1, "f")
	e.create(t, "alice", path, nestedBody("z", "1", "a", "2", "kept", "3"))
	e.create(t, "bob", path, nestedBody("b", "4"))
	e.Write(t, "1.md", blockWith("new", "kept"))
	e.create(t, "alice", path, nestedBody("new", "5"))
	for query, want := range map[string]string{
		"":             "_id,_timestamp,_username,new,kept,a,b,z",
		"order=desc":   "_id,_timestamp,_username,new,kept,a,b,z",
		"username=bob": "_id,_timestamp,_username,new,kept,b",
		"after=2":      "_id,_timestamp,_username,new,kept",
	} {
		header, _, _ := strings.Cut(e.get(t, "alice", path+"/result?format=csv&"+query), "\r\n")
		if header != want {
			t.Errorf("%s: %s, want %s", query, header, want)
		}
		e.checkTables(t, path, query)
	}
}

func TestParametersOfTables(t *testing.T) {
	e := newEnv(t, house())
	e.create(t, "alice", allPath, nestedBody("name", "=1"))
	for query, want := range map[string]string{
		"":                       "_id,_timestamp,_username,name,",
		"labels=false&bom=false": "_id,_timestamp,_username,name,",
		"labels=true":            `_id,_timestamp,_username,"Your <b>""name""</b> & title",`,
		"bom=true":               "\ufeff_id,",
	} {
		if got := e.get(t, "alice", allPath+"/result?format=csv&"+query); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", query, clip(got))
		}
	}
	for query, want := range map[string]string{"": "'=1", "guard=true": "'=1", "guard=false": "=1"} {
		if got := readCSV(t, e.get(t, "alice", allPath+"/result?format=csv&"+query))[1][3]; got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if got := readXLSX(t, e.get(t, "alice", allPath+"/result?format=xlsx&"+query), "results")[1][3]; got != "=1" {
			t.Errorf("%s: XLSX has %s", query, got)
		}
	}
	if got := readXLSX(t, e.get(t, "alice", allPath+"/result?format=xlsx&labels=true"), "results")[0][3]; got != `Your <b>"name"</b> & title` {
		t.Errorf("label: %s", got)
	}
	for _, name := range []string{"labels", "bom", "guard"} {
		for _, value := range []string{"", "=", "=1", "=TRUE", "=yes", "=true&" + name + "=true"} {
			e.reject(t, testRequest{method: "GET", path: allPath + "/result?format=csv&" + name + value}, fault{general: name})
		}
	}
	for _, format := range []string{"csv", "xlsx"} {
		e.reject(t, testRequest{method: "GET", path: allPath + "/submission?format=" + format}, fault{general: "format must be json or ndjson for this list"})
	}
}

func TestHeadersOfTables(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": strings.ReplaceAll(blockWith("a"), "form: f", "form: Rück-meldung.2")})
	path := form(1, "R%C3%BCck-meldung.2")
	for _, tt := range []struct{ name, query, accept, contentType string }{
		{"csv", "?format=csv", "", "text/csv; charset=utf-8"},
		{"csv", "", "text/csv, application/json;q=0.9", "text/csv; charset=utf-8"},
		{"xlsx", "?format=xlsx", "text/csv", encode.XLSX.MediaType},
		{"xlsx", "", encode.XLSX.MediaType, encode.XLSX.MediaType},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := e.expect(t, http.StatusOK, testRequest{user: "alice", method: method, path: path + "/result" + tt.query, header: http.Header{"Accept": {tt.accept}}})
			want := fmt.Sprintf(`attachment; filename="R_ck-meldung.2-2025-11-15.%s"; filename*=UTF-8''R%%C3%%BCck-meldung.2-2025-11-15.%[1]s`, tt.name)
			if got := a.header.Get("Content-Disposition"); got != want || a.header.Get("Content-Type") != tt.contentType {
				t.Errorf("%s %s: %s, %s\nwant %s", method, tt.query, a.header.Get("Content-Type"), got, want)
			}
		}
		a := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "GET", path: path + "/submission", header: http.Header{"Accept": {tt.accept}}})
		if a.header.Get("Content-Type") != encode.JSONType || a.header.Get("Content-Disposition") != "" {
			t.Errorf("the other list for Accept: %s is %v", tt.accept, a.header)
		}
	}
}

// An XLSX is a zip already.
func TestXLSXIsNotCompressedTwice(t *testing.T) {
	e := newEnv(t, house())
	e.fill(t, 20, 2000)
	for format, want := range map[string]string{"ndjson": "gzip", "csv": "gzip", "xlsx": ""} {
		r := testRequest{user: "alice", method: "GET", path: allPath + "/result?format=" + format, header: http.Header{"Accept-Encoding": {"gzip"}}}
		if a := e.expect(t, http.StatusOK, r); a.header.Get("Content-Encoding") != want {
			t.Errorf("%s: Content-Encoding %q, want %q", format, a.header.Get("Content-Encoding"), want)
		}
	}
}

// As long as nothing was sent, a fault in either pass is answered like any
// other.
func TestFaultsInThePassesOfATable(t *testing.T) {
	e := newEnv(t, house())
	for _, format := range []string{"csv", "xlsx"} {
		for pass := 1; pass <= 2; pass++ {
			scans := 0
			e.Store.FailWith(func(context.Context, string) error {
				if scans++; scans == pass {
					return store.ErrUnavailable
				}
				return nil
			})
			a := e.expect(t, http.StatusServiceUnavailable, testRequest{user: "alice", method: "GET", path: allPath + "/result?format=" + format})
			if a.header.Get("Content-Disposition") != "" || scans != pass {
				t.Errorf("%s: %v after %d passes", format, a.header, scans)
			}
		}
	}
}

// Who may no longer read a list gets no table of it, neither during the first
// pass nor during the second.
func TestAccessIsRevokedDuringATable(t *testing.T) {
	e := newEnv(t, map[string]string{"3.md": seen})
	for i := range 20 {
		e.create(t, "alice", staffPath, nestedBody("text", incompressible(30_000, uint64(i))))
	}
	for _, format := range []string{"ndjson", "csv", "xlsx"} {
		e.Users.Set(testsite.Everybody)
		n, broken := e.listSlowly(t, "carol", staffPath+"/result?format="+format, func() { e.Users.Set(testsite.People{"carol": nil}) })
		if !broken || n.Body.Len() < encode.FlushBytes {
			t.Errorf("%s: broken off %t, after %d bytes", format, broken, n.Body.Len())
		}
		if format == "ndjson" {
			continue
		}
		e.Users.Set(testsite.Everybody)
		scans, rows := 0, 0
		e.Store.FailWith(func(context.Context, string) error { scans++; return nil })
		e.Store.FailAtRow(func(n int) error {
			rows = n
			e.Users.Set(testsite.People{})
			return nil
		})
		a := e.expect(t, http.StatusUnauthorized, testRequest{user: "carol", method: "GET", path: staffPath + "/result?format=" + format})
		if scans != 1 || rows > 6 || a.header.Get("Content-Disposition") != "" {
			t.Errorf("%s: given up after %d passes and %d rows, %v", format, scans, rows, a.header)
		}
		e.Store.FailAtRow(func(int) error { return nil })
	}
}

// incompressible is text that a zip makes hardly smaller than three quarters.
func incompressible(n int, seed uint64) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-."
	b := make([]byte, n)
	for i := range b {
		seed = seed*6364136223846793005 + 1442695040888963407
		b[i] = letters[seed>>58]
	}
	return string(b)
}
