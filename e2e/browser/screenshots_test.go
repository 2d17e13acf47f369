package browser

import (
	"cmp"
	"flag"
	"testing"

	"github.com/formulary/formulary/internal/browsertest"
)

var screenshots = flag.String("screenshots", "", "write the pictures to this `directory`, and keep them")

// TestScreenshots takes a picture of every page. Without the flag it shows that
// this works, and the pictures are removed.
func TestScreenshots(t *testing.T) {
	server := serve(t)
	browsertest.Screenshots(t, cmp.Or(*screenshots, t.TempDir()), []browsertest.Shot{
		{Name: "api", Address: server + "/docs", Prepare: func(p *browsertest.Page) { p.WaitText("/page/{pageId}/form/{formId}") }},
	})
}
