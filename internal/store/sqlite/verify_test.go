package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/storetest"
)

// Verify reports all faults of a store, while it is in use and while it is not.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	_, err := Verify(ctx, dir, noProgress)
	wantError(t, err, "no store in "+dir)
	s := openStore(t, dir)
	for i := range 20 {
		mustCreate(t, s, sample(fmt.Sprint(i)))
	}
	for range 2 { // in use, and not
		report, err := Verify(ctx, dir, noProgress)
		must(t, err)
		storetest.Same(t, "report", report, Report{Submissions: 20})
		must(t, s.Close())
	}
	wantFiles(t, dir, FileName)
	for _, sql := range []string{
		`INSERT INTO definitions VALUES (1, 'form', x'00000000000000050000000000000000', 0, '{}'); UPDATE submissions SET definition = x'00000000000000050000000000000000' WHERE row_id & 15 = 2`, `DELETE FROM definitions`,
	} {
		editFile(t, dir, sql)
		_, err = Verify(ctx, dir, noProgress)
		wantError(t, err, "the database is damaged: submission 2 has lost the definition of its form")
	}
	editFile(t, dir, `UPDATE submissions SET definition = x''`)
	editFile(t, dir, `UPDATE sequence SET last = 3; UPDATE submissions SET fields = '{"f":1}' WHERE row_id & 15 = 1`)
	_, err = Verify(ctx, dir, noProgress)
	for _, because := range []string{filepath.Join(dir, FileName), "it is damaged", "an id that was not given yet", "submission 1: ", "submission 17: "} {
		wantError(t, err, because)
	}
	editFile(t, dir, `INSERT INTO keeps VALUES (1, 'form', 'soon', 0, '')`)
	_, err = Verify(ctx, dir, noProgress)
	wantError(t, err, `read keeps: must be from 1 day to 50 years, not "soon"`)
	editFile(t, dir, `UPDATE submissions SET fields = 'x'`)
	_, err = Verify(ctx, dir, noProgress)
	if lines := strings.Count(fmt.Sprint(err), "\n") + 1; lines != maxFaults {
		t.Errorf("%d lines: %v", lines, err)
	}
}
