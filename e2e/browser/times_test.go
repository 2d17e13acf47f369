package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

// TestTimesInTheBrowsersZone: the script writes times as the server does, in another zone.
func TestTimesInTheBrowsersZone(t *testing.T) {
	t.Parallel()
	const zone, expense = "America/New_York", "/page/12/form/expense"
	newYork, err := time.LoadLocation(zone)
	testkit.Must(t, err)
	s := newSite(t, browsertest.Options{Zone: zone}, "--timezone", "Asia/Tokyo")
	s.store(t, ann, ann+"-secret", expense, map[string]string{"what": "Train", "amount": "12", "centre": "Sales", "day": "2026-01-31"})
	p := s.as(t, eve, expense+"/results?view=table")
	p.want("31 Jan 2026")
	p.wantNot("Tokyo")
	var days, want []string
	for month := range time.Month(12) {
		at := time.Date(2026, month+1, 2+3*int(month), 9, 5*int(month), 0, 0, newYork)
		days, want = append(days, at.UTC().Format(time.RFC3339)), append(want, "")
	}
	for _, l := range lang.All() {
		for i, day := range days {
			at, err := time.Parse(time.RFC3339, day)
			testkit.Must(t, err)
			want[i] = l.Time(at.In(newYork))
		}
		p.goTo(expense + "/submission/1?lang=" + l.Tag)
		p.wantNot("Tokyo")
		browsertest.Eval[any](p.Page, `void import(document.querySelector("script[src*=times]").src).then(({ showTimes }) => {
			const times = "`+strings.Join(days, " ")+`".split(" ").map((at) => Object.assign(document.createElement("time"), { dateTime: at }));
			document.body.replaceChildren(...times);
			showTimes();
		})`)
		p.Wait("the times in "+l.Name, func() bool {
			return browsertest.Eval[string](p.Page, `[...document.querySelectorAll("body > time")].map((e) => e.textContent).join("|")`) == strings.Join(want, "|")
		})
	}
}
