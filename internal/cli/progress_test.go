package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &progress{w: &out}
		p.show("copying", "submissions", 1000, 4000)
		p.show("copying", "submissions", 2000, 4000) // too early to be worth a line
		time.Sleep(lineEvery)
		p.show("copying", "submissions", 3000, 4000)
		p.show("copying", "submissions", 4000, 4000)
		p.show("verifying", "submissions", 0, 0)
		want := "copying: 1000 of 4000 submissions\ncopying: 3000 of 4000 submissions\n" +
			"copying: 4000 of 4000 submissions\nverifying: 0 of 0 submissions\n"
		testkit.Diff(t, "", out.String(), want)
	})
}
