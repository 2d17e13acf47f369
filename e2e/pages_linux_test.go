package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// leaveUnread asks for a page on many connections, and reads only the statuses.
func (p *process) leaveUnread(t *testing.T, count int, cookie, path string) (statuses map[int]int, hangUp func()) {
	t.Helper()
	text := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n\r\n", path, cookie)
	statuses, conns := flood(t, strings.TrimPrefix(p.url, "http://"), text, count, count)
	t.Logf("%.50s: %d unread pages by status: %v", path, count, statuses)
	return statuses, func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// largePages has pages that are as large as they can be: one with many forms, a
// form whose choices repeat long ids, and a wide table.
func largePages(t *testing.T, s site) {
	t.Helper()
	var many, huge, wide strings.Builder
	for f := range 10 {
		fmt.Fprintf(&many, "```form\nform: many%d\nfields:\n", f)
		for i := range 8 {
			fmt.Fprintf(&many, "  - {id: f%d, type: radio, options: [", i)
			for o := range 70 {
				fmt.Fprintf(&many, "option %d, ", o)
			}
			many.WriteString("other]}\n")
		}
		many.WriteString("```\n")
	}
	huge.WriteString("```form\nform: huge\nfields:\n")
	options := "&o [x"
	for i := range 300 {
		options += fmt.Sprintf(", %d", i)
	}
	options += "]"
	for i := range 10 {
		fmt.Fprintf(&huge, "  - {id: '%s%d', type: radio, options: %s}\n", strings.Repeat(`"`, 190), i, options)
		options = "*o"
	}
	huge.WriteString("```\n")
	wide.WriteString("```form\nform: wide\nfields:\n")
	for i := range 1000 {
		fmt.Fprintf(&wide, "  - {id: c%d, type: checkbox}\n", i)
	}
	wide.WriteString("```\n")
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), pageSource+wide.String())
	testkit.WriteFile(t, filepath.Join(s.pages, "2.md"), many.String())
	testkit.WriteFile(t, filepath.Join(s.pages, "3.md"), huge.String())
}

// Large pages that nobody reads hold a bounded amount of memory, and rendering
// them keeps nobody from sending.
func TestLargePagesHoldLittle(t *testing.T) {
	s := newSite(t)
	largePages(t, s)
	p := start(t, s)
	var answers []string
	for i := range 1000 {
		answers = append(answers, fmt.Sprintf(`"c%d":{"fieldId":"c%d","value":"a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a"}`, i, i))
	}
	for range 20 {
		p.must(t, 201, "POST", "/wide/submission", `{"fields":{`+strings.Join(answers, ",")+`}}`)
	}
	ann, ben := p.signIn(t, "ann"), p.signIn(t, "ben")
	paths := []string{"/page/2", "/page/3/form/huge", "/page/1/form/wide/results?limit=200&view=table"}
	for _, path := range paths {
		r, err := p.get(t.Context(), client, path, ann)
		if err != nil || r.status != http.StatusOK || len(r.body) < 700<<10 || len(r.body) > 4<<20 {
			t.Fatalf("%s: status %d, %d bytes, %v", path, r.status, len(r.body), err)
		}
		t.Logf("%s has %d KiB", path, len(r.body)>>10)
	}
	idle := p.memory(t, "VmRSS")
	p.mustServeOthers(t, 4, func(ctx context.Context, n int) { _, _ = p.get(ctx, client, paths[n%len(paths)], ann) })
	for _, path := range paths {
		statuses, hangUp := p.leaveUnread(t, 400, ann, path)
		if statuses[http.StatusOK] == 0 || statuses[http.StatusOK] > 16 || statuses[http.StatusOK]+statuses[http.StatusTooManyRequests] != 400 {
			t.Errorf("%s: statuses %v, want 1 to 16 of 200", path, statuses)
		}
		if r, err := p.get(t.Context(), client, path, ben); err != nil || r.status != http.StatusOK {
			t.Errorf("%s for somebody else: %d, %v", path, r.status, err)
		}
		p.mustCreate(t, 1)
		hangUp()
		testkit.Eventually(t, "the slots are free again", func() bool {
			r, err := p.get(t.Context(), client, path, ann)
			return err == nil && r.status == http.StatusOK
		})
	}
	p.mustHaveStayedSmall(t, idle)
}
