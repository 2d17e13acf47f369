package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

func TestParametersOfTables(t *testing.T) {
	e := newHouse(t)
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
		testkit.Contains(t, query, e.get(t, "alice", allPath+"/result?format=csv&"+query), ",alice,"+want+",")
	}
	for _, name := range []string{"labels", "bom", "guard"} {
		for _, value := range []string{"", "=", "=1", "=TRUE", "=yes", "=true&" + name + "=true"} {
			e.reject(t, ask("GET", allPath+"/result?format=csv&"+name+value), fault{general: name})
		}
	}
	for _, format := range []string{"csv", "xlsx"} {
		e.reject(t, ask("GET", allPath+"/submission?format="+format), fault{general: "format must be json or ndjson for this list"})
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
			a := e.expect(t, 200, ask("alice "+method, path+"/result"+tt.query).with(headerOf("Accept", tt.accept)))
			want := fmt.Sprintf(`attachment; filename="R_ck-meldung.2-2025-11-15.%s"; filename*=UTF-8''R%%C3%%BCck-meldung.2-2025-11-15.%[1]s`, tt.name)
			if got := a.header.Get("Content-Disposition"); got != want || a.header.Get("Content-Type") != tt.contentType {
				t.Errorf("%s %s: %s, %s\nwant %s", method, tt.query, a.header.Get("Content-Type"), got, want)
			}
		}
		a := e.expect(t, 200, ask("alice GET", path+"/submission").with(headerOf("Accept", tt.accept)))
		if a.header.Get("Content-Type") != encode.JSONType || a.header.Get("Content-Disposition") != "" {
			t.Errorf("the other list for Accept: %s is %v", tt.accept, a.header)
		}
	}
}

// An XLSX is a zip already.
func TestXLSXIsNotCompressedTwice(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 20, 2000)
	for format, want := range map[string]string{"ndjson": "gzip", "csv": "gzip", "xlsx": ""} {
		r := ask("alice GET", allPath+"/result?format="+format).with(headerOf("Accept-Encoding", "gzip"))
		if a := e.expect(t, 200, r); a.header.Get("Content-Encoding") != want {
			t.Errorf("%s: Content-Encoding %q, want %q", format, a.header.Get("Content-Encoding"), want)
		}
	}
}

// As long as nothing was sent, a fault in either pass is answered like any
// other.
func TestFaultsInThePassesOfATable(t *testing.T) {
	e := newHouse(t)
	for _, format := range []string{"csv", "xlsx"} {
		for pass := 1; pass <= 2; pass++ {
			scans := 0
			e.Store.FailWith(func(context.Context, string) error {
				if scans++; scans == pass {
					return store.ErrUnavailable
				}
				return nil
			})
			a := e.expect(t, 503, ask("alice GET", allPath+"/result?format="+format))
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
		a := e.expect(t, 401, ask("carol GET", staffPath+"/result?format="+format))
		if scans != 1 || rows > 9 || a.header.Get("Content-Disposition") != "" {
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

// Answers to fields that have left the page are in the table, after the others.
func TestTablesHaveFieldsThatHaveLeftThePage(t *testing.T) {
	e := newEnv(t, map[string]string{"1.md": blockWith("z", "a", "kept")})
	path := form(1, "f")
	e.create(t, "alice", path, nestedBody("z", "1", "a", "2", "kept", "3"))
	e.Write(t, "1.md", blockWith("new", "kept"))
	e.create(t, "bob", path, nestedBody("new", "5"))
	const at = ",2025-11-15T00:00:00.123Z,"
	for query, want := range map[string]string{
		"":             "_id,_timestamp,_username,new,kept,a,z\r\n1" + at + "alice,,3,2,1\r\n2" + at + "bob,5,,,\r\n",
		"username=bob": "_id,_timestamp,_username,new,kept\r\n2" + at + "bob,5,\r\n",
	} {
		testkit.Same(t, query, e.get(t, "alice", path+"/result?format=csv&"+query), want)
	}
}
