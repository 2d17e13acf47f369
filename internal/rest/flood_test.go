package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// manyMembers writes so many members of an object, each with the given value.
func manyMembers(n int, value string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"f%d":%s`, i, value)
	}
	return b.String()
}

// What is wrong with a body is told in short, however much is wrong with it.
func TestManyFieldsAtFault(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", allPath, nestedBody("name", "Bob"))
	unchanged := e.unchanged(t)
	post, put := ask("POST", allPath+"/submission"), ask("PUT", result(path))
	for _, tt := range []struct {
		name   string
		send   testRequest
		body   string
		fields int    // so many are listed
		end    string // the last of the general errors
	}{
		{"unknown fields", post, `{"fields":{` + manyMembers(4_999, "[]") + `}}`, 100, "and 4900 more fields are at fault"}, // with "name", which is required
		{"unknown fields, flat", put, `{` + manyMembers(5_000, `""`) + `}`, 100, "and 4900 more fields are at fault"},
		{"unknown members", post, `{"fields":{},` + manyMembers(300, `""`) + `}`, 1, "and 200 more errors"},
		{"unknown members alone", post, `{` + manyMembers(300, `""`) + `}`, 0, "and 201 more errors"},
		{"too many fields", post, `{"fields":{` + manyMembers(5_000, "[]") + `}}`, 0, "the body has more than 5000 fields"},
		{"too many fields, flat", put, `{` + manyMembers(5_001, `""`) + `}`, 0, "the body has more than 5000 fields"},
		{"too many members", post, `{` + manyMembers(5_001, "1") + `}`, 0, "the body has more than 5000 fields"},
		{"too many members of an entry", post, entry(`{` + manyMembers(5_001, "1") + `}`), 0, "the body has more than 5000 fields"},
		{"too many members of an ignored member", post, `{"id":{` + manyMembers(5_000, "1") + `}}`, 0, "the body has more than 5000 fields"},
		{"too many in objects within each other", put, `{"_x":{` + manyMembers(2_000, `{}`) + `,"y":{` + manyMembers(3_000, `[{}]`) + `}}}`, 0, "the body has more than 5000 fields"},
		{"too many metadata", put, `{` + strings.ReplaceAll(manyMembers(5_001, `1`), `"f`, `"_`) + `}`, 0, "the body has more than 5000 fields"},
		{"long names", post, `{"fields":{` + strings.ReplaceAll(manyMembers(1_500, "[]"), `"f`, `"`+strings.Repeat("f", 200)) + `}}`, 0, tooLongNames.String()},
		{"long names, ignored", put, `{"_x":{` + strings.ReplaceAll(manyMembers(1_500, "1"), `"f`, `"`+strings.Repeat("f", 200)) + `}}`, 0, tooLongNames.String()},
		{"a flood", put, `{` + manyMembers(90_000, "1") + `}`, 0, "the body has more than 5000 fields"},
	} {
		tt.send.user, tt.send.body = "alice", tt.body
		a := e.expect(t, 400, tt.send)
		var got validationResult
		testkit.Must(t, json.Unmarshal([]byte(a.body), &got))
		if len(got.FieldErrors) != tt.fields || len(got.Errors) == 0 || len(got.Errors) > 101 || got.Errors[len(got.Errors)-1] != tt.end {
			t.Errorf("%s: %d fields at fault, want %d, and %q at the end of %s", tt.name, len(got.FieldErrors), tt.fields, tt.end, clip(fmt.Sprint(got.Errors)))
		}
	}
	unchanged()
}

// A form of the largest size can be filled in, in both models.
func TestAsManyFieldsAsAFormCanHave(t *testing.T) {
	const most = 1000
	var page, nested, flat strings.Builder
	page.WriteString("```form\nform: f\nfields:\n")
	for i := range most {
		fmt.Fprintf(&page, "  - {id: f%d, type: checkbox, label: F, options: [a, b, c, d, e, f, g, h, i, j]}\n", i)
		fmt.Fprintf(&nested, `,"f%d":{"id":1,"fieldId":"f%d","value":["a","b","c","d","e","f","g","h","i","j"]}`, i, i)
		fmt.Fprintf(&flat, `,"f%d":"a;b"`, i)
	}
	page.WriteString("```\n")
	e := newEnv(t, map[string]string{"1.md": page.String()})
	path, _ := e.create(t, "alice", form(1, "f"), `{"fields":{`+nested.String()[1:]+`}}`)
	e.expect(t, 200, ask("alice PUT", result(path), "{"+flat.String()[1:]+"}"))
}

// The values of a list are counted: each costs more memory than it has bytes.
func TestManyValues(t *testing.T) {
	e := newHouse(t)
	list := func(n int) string { return `["a"` + strings.Repeat(`,"a"`, n-1) + `]` }
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	put := ask("PUT", result(path))
	e.expect(t, 200, ask("alice PUT", result(path), `{"extras":`+list(10_000)+`}`))
	e.reject(t, put, fault{body: `{"extras":` + list(10_001) + `}`, fields: []string{"extras"}})
	e.reject(t, put, fault{body: `{"extras":["` + strings.Repeat(`","`, 300_000) + `"]}`, fields: []string{"extras"}})
	e.reject(t, put, fault{body: `{"extras":` + list(9_000) + `,"note":` + list(1_001) + `}`, fields: []string{"note"}}) // in all
	e.reject(t, ask("POST", allPath+"/submission"), fault{
		body:   `{"fields":{"name":{"fieldId":"name","value":"x"},"extras":{"fieldId":"extras","value":` + list(10_001) + `}}}`,
		fields: []string{"extras"},
	})
}

// What a caller made up is not repeated at its whole length.
func TestLongNamesAreNotRepeated(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	long := strings.Repeat(`\u0001`, 30_000)
	for name, body := range map[string]string{
		"unknown field":                 `{"fields":{"` + long + `":{"fieldId":"` + long + `","value":""}}}`,
		"fieldId differs":               `{"fields":{"` + long + `":{"fieldId":"x","value":""}}}`,
		"unknown member":                `{"fields":{},"` + long + `":1}`,
		"unknown member of an entry":    entry(`{"` + long + `":1}`),
		"field twice":                   `{"fields":{"` + long + `":1,"` + long + `":1}}`,
		"member twice":                  `{"` + long + `":1,"` + long + `":1}`,
		"metadata twice":                `{"_` + long + `":1,"_` + long + `":1}`,
		"bad value of a field":          `{"fields":{"` + long + `":{"value":"\ud800"}}}`,
		"bad value of a field, at once": `{"` + long + `":"\ud800"}`,
	} {
		for _, r := range []testRequest{ask("POST", path), ask("PUT", result(path))} {
			r.user, r.body = "alice", body
			if a := e.expect(t, 400, r); len(a.body) > 4000 {
				t.Errorf("%s, %s: %d bytes of answer: %s", name, r.method, len(a.body), clip(a.body))
			}
		}
	}
}
