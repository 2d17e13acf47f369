package request

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/testkit"
)

func listOptions(t testing.TB, rawQuery string) (query.List, *forms.Invalid) {
	t.Helper()
	params := ReadParams(rawQuery)
	opts := params.List()
	return opts, &params.Invalid
}

func filtered(idOperatorValue ...string) (o query.List) {
	for i := 0; i < len(idOperatorValue); i += 3 {
		o.Filter.Rules = append(o.Filter.Rules, forms.Rule{FieldID: idOperatorValue[i], Operator: forms.Operator(idOperatorValue[i+1]), Value: idOperatorValue[i+2]})
	}
	return o
}

func TestListOptions(t *testing.T) {
	bob, nobody := "bob", ""
	for query, want := range map[string]query.List{
		"":                                     {},
		"other=1&Filter[a]=1&filters=x&limits": {},
		"limit=5&after=7&order=desc":           {Limit: 5, After: 7, Descending: true},
		"after=0&order=asc&count=false":        {},
		"username=bob&count=true":              {Username: &bob, Count: true},
		"username=":                            {Username: &nobody},
		"q=":                                   {},
		"q=Some+%C3%A4&cou=x":                  {Filter: query.Filter{Search: "Some ä"}},
		"filter[a]=1":                          filtered("a", "equals", "1"),
		"filter%5Ba%5D=1":                      filtered("a", "equals", "1"),
		"filter[a]":                            filtered("a", "equals", ""),
		"filter[a]=1&filter[a]=2":              filtered("a", "equals", "1", "a", "equals", "2"),
		"filter[a][one-of]=1;2":                filtered("a", "one-of", "1;2"),
		"filter[a][one-of]=1%3B2":              filtered("a", "one-of", "1;2"),
		"filter[b][empty]&filter[a][not-empty]=true":  filtered("a", "not-empty", "", "b", "empty", ""),
		"filter[a b][less-than]=-3.5":                 filtered("a b", "less-than", "-3.5"),
		"filter[a][b][equals]=x":                      filtered("a][b", "equals", "x"),
		"filter[a]b]=x":                               filtered("a]b", "equals", "x"),
		"filter[_timestamp][greater-than]=2026-01-31": filtered("_timestamp", "greater-than", "2026-01-31"),
		"sort=a&limit=1000":                           {Limit: 1000, Sort: &query.Sort{ID: "a"}},
		"sort=-_id&limit=1&cursor=xyz":                {Limit: 1, Sort: &query.Sort{ID: "_id", Descending: true}, Cursor: "xyz"},
		"sort=--a&limit=1":                            {Limit: 1, Sort: &query.Sort{ID: "-a", Descending: true}},
	} {
		got, invalid := listOptions(t, query)
		if invalid.Err() != nil {
			t.Errorf("%s: %v", query, invalid.Errors)
		}
		testkit.Diff(t, query, got, want)
	}
}

func TestRefusedListOptions(t *testing.T) {
	for query, want := range map[string]string{
		"filter=1":                       "filter is not a filter",
		"filter[=1":                      "filter[ is not a filter",
		"filter[]=1":                     "filter[] is not a filter",
		"filter[a=1":                     "filter[a is not a filter",
		"filter[a]x=1":                   "filter[a]x is not a filter",
		"filter[][equals]=1":             "filter[][equals] is not a filter",
		"filter[%FF]=1":                  "is not a filter",
		"filter[a][like]=1":              "filter[a][like] has an unknown operator",
		"filter[a][]=1":                  "filter[a][] has an unknown operator",
		"filter[a][Equals]=1":            "filter[a][Equals] has an unknown operator",
		"filter[a]=%FF":                  "filter[a] must be valid text",
		"filter[a][empty]=false":         "filter[a][empty] takes true",
		"filter[a][less-than]=b":         "filter[a][less-than] must be a number",
		"filter[_timestamp]=x":           "filter[_timestamp] must be a time",
		"q=%FF":                          "q must be text",
		"q=a%00":                         "q must be text",
		"q=a;limit=1":                    "the query of the URL can't be read",
		"a=1;filter[b]=2":                "the query of the URL can't be read",
		"q=a&q=b":                        "q must not be given twice",
		"count=1":                        "count must be true or false",
		"count=":                         "count must be true or false",
		"count=true&count=true":          "count must not be given twice",
		"sort=&limit=1":                  "sort must be the id of a field",
		"sort=-&limit=1":                 "sort must be the id of a field",
		"sort=%FF&limit=1":               "sort must be text",
		"sort=a&sort=b&limit=1":          "sort must not be given twice",
		"sort=a&limit=1&after=1":         "after is of a list by id",
		"sort=a&limit=1&order=asc":       "order is of a list by id",
		"sort=a&limit=1&cursor=":         "cursor must be",
		"sort=a&limit=1&cursor=&cursor=": "cursor must not be given twice",
		strings.Repeat("filter[a]=1&", query.MaxRules+1):             "at most 20 filters",
		"filter[a][nope]=&filter[" + strings.Repeat("é", 300) + "=1": "é… is not a filter",
	} {
		_, invalid := listOptions(t, query)
		if err := invalid.Err(); err == nil || !strings.Contains(forms.Join(invalid.Errors).String(), want) {
			t.Errorf("%s: %q, want %q", query, invalid.Errors, want)
		}
	}
}

func TestSummaryOptionsSelectOnly(t *testing.T) {
	params := ReadParams("limit=x&sort=&order=y&count=z&q=a&username=b&filter[c]=d")
	got := params.Summary()
	b := "b"
	want := filtered("c", "equals", "d")
	want.Username, want.Filter.Search = &b, "a"
	if diff := cmp.Diff(want, got); diff != "" || params.Err() != nil {
		t.Errorf("%v (-want +got):\n%s", params.Invalid.Errors, diff)
	}
}

func TestNextPage(t *testing.T) {
	for _, tt := range []struct {
		at   string
		page query.Page
		want string
	}{
		{"/a/b?limit=1", query.Page{Total: 5}, ""},
		{"/a%2Fb?limit=1", query.Page{Start: query.Start{After: 7}}, "/a%2Fb?after=7&limit=1"},
		{"/a?limit=1&after=3&other=x&other=y", query.Page{Start: query.Start{After: 7}}, "/a?after=7&limit=1&other=x&other=y"},
		{"/a?limit=1&filter[a][one-of]=1;2", query.Page{Start: query.Start{After: 7}}, "/a?after=7&filter%5Ba%5D%5Bone-of%5D=1%3B2&limit=1"},
		{"/a?sort=b&cursor=old&filter[a]=>\"ä", query.Page{Start: query.Start{Cursor: "new"}}, "/a?cursor=new&filter%5Ba%5D=%3E%22%C3%A4&sort=b"},
	} {
		at, err := url.Parse(tt.at)
		testkit.Must(t, err)
		testkit.Same(t, tt.at, NextPage(at, tt.page), tt.want)
	}
}

// FuzzListOptions: no query makes the reader panic; what is wrong is told in
// valid text; what is accepted is within the limits, and is read the same from
// the address of the next page.
func FuzzListOptions(f *testing.F) {
	for _, text := range []string{
		"limit=5&after=7&order=desc&username=bob", "filter[a]=1&filter[a][one-of]=1%3B2&q=x&count=true", "sort=-a&limit=10&cursor=x",
		"filter[_timestamp][less-than]=2026-01-31T12:00:00.5%2B01:00", "filter[a][b][empty]", "filter[%ff]=%00", "filter[&filter]=1;", "%zz",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		opts, invalid := listOptions(t, text)
		if invalid.Err() != nil {
			for _, m := range invalid.Errors {
				if e := m.String(); strings.ToValidUTF8(e, "") != e || len(e) > 1000 {
					t.Fatalf("%q: %q", text, m)
				}
			}
			return
		}
		if len(opts.Filter.Rules) > query.MaxRules || opts.Limit > maxLimit {
			t.Fatalf("%q is accepted: %+v", text, opts)
		}
		page := query.Page{Start: query.Start{After: 9}}
		opts.After = 9
		if opts.Sort != nil {
			page, opts.After, opts.Cursor = query.Page{Start: query.Start{Cursor: "next"}}, 0, "next"
		}
		next, err := url.Parse(NextPage(&url.URL{Path: "/a", RawQuery: text}, page))
		testkit.Must(t, err)
		again, invalid := listOptions(t, next.RawQuery)
		if diff := cmp.Diff(opts, again); diff != "" || invalid.Err() != nil {
			t.Fatalf("%q and %q: %v\n%s", text, next, invalid.Errors, diff)
		}
	})
}
