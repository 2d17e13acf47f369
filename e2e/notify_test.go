package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/events/mailtest"
	"github.com/formulary/formulary/internal/testkit"
)

var subject = regexp.MustCompile(`(?m)^Subject: (\d+) new submissions?: `)

// The addresses of a form are told how many submissions have come, each of which counts once, also
// across a restart.
func TestNotify(t *testing.T) {
	t.Parallel()
	engines(t, testNotify)
}

func testNotify(t *testing.T, s site) {
	mails := mailtest.Start(t, mailtest.Options{})
	s.editPage(t, strings.Replace(pageSource, "form: note\n", "form: note\ntitle: Notes\nnotify: [hr@example.org, hr@elsewhere.example]\n", 1))
	flags := []string{
		"--smtp", "smtp://" + mails.Addr, "--mail-from", "Forms <forms@example.org>", "--public-url", "https://forms.example.org/base/",
		"--mail-domains", "Example.org", "--notify-interval", "1s",
	}
	p := start(t, s, flags...)
	p.mustLog(t, 1, "hr@elsewhere.example gets no mail")
	mustTell := func(count int) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprint(count, " submissions are told"), func() bool {
			told := 0
			for _, mail := range mails.Mails() {
				m := subject.FindStringSubmatch(mail)
				if m == nil {
					t.Fatalf("another subject:\n%s", mail)
				}
				n, _ := strconv.Atoi(m[1]) // digits
				told += n
			}
			return told == count
		})
	}
	create(t, p, "note", note("one"))
	mustTell(1)
	first := mails.Mails()[0]
	for _, want := range []string{"To: <hr@example.org>", "Subject: 1 new submission: Notes", "https://forms.example.org/base/page/1/form/note/results"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in:\n%s", want, first)
		}
	}
	create(t, p, "note", note("two"))
	if err := p.terminate(t); err != nil {
		t.Fatal(err)
	}
	p = start(t, s, flags...)
	create(t, p, "note", note("three"))
	mustTell(3)
	for _, secret := range []string{"hr@example.org", mails.Addr} {
		if strings.Contains(p.output(), secret) {
			t.Errorf("the log shows %s:\n%s", secret, p.output())
		}
	}
}
