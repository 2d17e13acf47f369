package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/testkit"
)

// A list by ascending id with after or limit ends before a submission that another server is storing, and says that it
// goes on. Other lists and creates go on as they do.
func TestFollowingAList(t *testing.T) {
	t.Parallel()
	s := newSharedSite(t)
	p := start(t, s)
	p.must(t, 201, "POST", "/note/submission", note("first"))
	first := slices.Collect(maps.Keys(p.submissions(t, "note")))[0]
	other, err := pgx.Connect(t.Context(), s.database)
	must(t, err)
	defer other.Close(t.Context())
	for _, sql := range []string{
		`BEGIN`,
		fmt.Sprintf(`SELECT pg_advisory_xact_lock_shared(('submission_ids'::regclass::oid::bigint & 8388607) << 40 | %d)`, first),
		`SELECT nextval('submission_ids')`,
	} {
		must(t, testkit.ErrorOf(other.Exec(t.Context(), sql)))
	}
	p.must(t, 201, "POST", "/note/submission", note("last"))
	list := func(query string) string {
		r := p.must(t, 200, "GET", "/note/result?"+strings.ReplaceAll(query, "FIRST", fmt.Sprint(first)), "")
		_, next, _ := strings.Cut(r.header.Get("Link"), "after=")
		next, _, _ = strings.Cut(strings.ReplaceAll(next, ">", "&"), "&")
		if next == fmt.Sprint(first) {
			next = "FIRST"
		}
		return fmt.Sprint(strings.Contains(r.body, "first"), strings.Contains(r.body, "last"), " ", next)
	}
	for query, want := range map[string]string{
		"":                               "true true ",
		"order=desc&limit=10":            "true true ",
		"sort=text&limit=10":             "true true ",
		"after=0":                        "true false ",
		"after=FIRST":                    "false false ",
		"limit=10":                       "true false FIRST",
		"limit=1":                        "true false FIRST",
		"after=FIRST&limit=10":           "false false FIRST",
		"limit=10&filter[text]=first":    "true false FIRST",
		"limit=10&filter[text]=last":     "false false 0",
		"limit=10&format=csv":            "true false FIRST",
		"limit=1&username=nobody":        "false false ",
		"limit=10&count=true&format=csv": "true false FIRST",
	} {
		testkit.Same(t, query, list(query), want)
	}
	must(t, testkit.ErrorOf(other.Exec(t.Context(), `ROLLBACK`)))
	testkit.Same(t, "after the end of the transaction", list("after=FIRST&limit=10"), "false true ")
}
