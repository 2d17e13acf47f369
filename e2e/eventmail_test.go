package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/events/mailtest"
	"github.com/formulary/formulary/internal/testkit"
)

const mailedForms = "\n```yaml form\n" + `form: leave
title: Urlaub für alle
notify: [hr@example.org, eve@elsewhere.example]
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n\n```yaml form\n" + `form: ballot
title: Wahl
anonymous: true
notify: hr@example.org
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n\n```yaml form\n" + `form: request
title: Antrag
submitterMail: text
fields:
  - {id: text, type: textfield, label: E-mail, validate: email}
  - {id: state, type: status, label: State, options: [open, granted], by: editors}
` + "```\n"

// withMail adds forms that have mails sent, and returns the flags for it.
func (s site) withMail(t *testing.T, server string, interval time.Duration) (flags []string) {
	t.Helper()
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), pageSource+mailedForms)
	return []string{
		"--smtp", server, "--mail-from", "Forms <forms@example.org>", "--public-url", "https://example.org/base",
		"--mail-domains", "example.org", "--notify-interval", interval.String(), "--metrics", "--access-log=false",
	}
}

var mailLink = regexp.MustCompile(`(?m)^https://example\.org/base/page/1/form/(leave|ballot)/results\r?$`)

// subjects returns what the mails are about. It checks what all have in common.
func subjects(t *testing.T, server *mailtest.Server) (list []string) {
	t.Helper()
	for _, text := range server.Mails() {
		m, err := mail.ReadMessage(strings.NewReader(text))
		must(t, err)
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		content, bodyErr := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil || bodyErr != nil || !mailLink.Match(content) || regexp.MustCompile(`\bann\b|private`).Match(append(content, text...)) {
			t.Errorf("not a link, or a name or an answer: %v, %v, %s", err, bodyErr, text)
		}
		list = append(list, subject)
		for name, want := range map[string]string{
			"To": "<hr@example.org>", "Cc": "", "Bcc": "", "From": `"Forms" <forms@example.org>`, "Auto-Submitted": "auto-generated",
			"Content-Type": "text/plain; charset=UTF-8", "Content-Transfer-Encoding": "quoted-printable",
		} {
			testkit.Same(t, name, m.Header.Get(name), want)
		}
	}
	return list
}

// The first submission is told at once, and those of the interval after it together: once,
// also when servers are restarted, and with two of them.
func TestMailsTellOfSubmissions(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		const interval = 20 * time.Second
		server := mailtest.Start(t, mailtest.Options{})
		flags := s.withMail(t, "smtp://"+server.Addr, interval)
		replicas := startReplicas(t, s, 1, flags...)
		if s.database != "" {
			replicas = append(replicas, startReplicas(t, s, 1, flags...)...)
		}
		last := replicas[len(replicas)-1]
		create(t, replicas[0].process, "leave", note("private"))
		// Within five seconds; the test allows a busy machine twice as many.
		testkit.EventuallyWithin(
			t, 10*time.Second, "the first mail has come", func() bool { return len(server.Mails()) == 1 },
		)
		first := time.Now()
		for range 3 {
			create(t, last.process, "leave", note("private"))
		}
		for _, r := range replicas {
			if err := r.terminate(t); err != nil {
				t.Error(err)
			}
			r.start(t)
		}
		create(t, replicas[0].process, "leave", note("private"))
		create(t, last.process, "leave", note("private"))
		if took := time.Since(first); took > interval-5*time.Second {
			t.Fatalf("the machine is too slow: %s", took)
		}
		create(t, last.process, "ballot", note("private")) // another form has an interval of its own
		testkit.EventuallyWithin(
			t, 10*time.Second, "the mail of another form has come", func() bool { return len(server.Mails()) == 2 },
		)
		testkit.Eventually(t, "the mail after the interval has come", func() bool { return len(server.Mails()) > 2 })
		last.awaitEvents(t, "mail", "queued", 0)
		want := []string{"1 new submission: Urlaub für alle", "1 new submission: Wahl", "5 new submissions: Urlaub für alle"}
		testkit.Diff(t, "mails", subjects(t, server), want)
	})
}

// Whoever sends a request is told that it has come, and once when it is decided.
func TestMailsTellSubmitters(t *testing.T) {
	t.Parallel()
	const interval = 3 * time.Second
	server, s := mailtest.Start(t, mailtest.Options{}), newSite(t)
	p := startReplicas(t, s, 1, s.withMail(t, "smtp://"+server.Addr, interval)...)[0].process
	id := create(t, p, "request", note("private@example.org"))
	create(t, p, "request", note("private@elsewhere.example"))
	testkit.EventuallyWithin(t, 10*time.Second, "the first mail has come", func() bool { return len(server.Mails()) == 1 })
	result := fmt.Sprint("/request/result/", id)
	p.must(t, 200, "PUT", result, `{"state":"open"}`)
	p.must(t, 200, "PUT", result, `{"state":"granted"}`)
	p.must(t, 200, "PUT", result, `{"text":"other@example.org"}`)
	testkit.Eventually(t, "the mail after the interval has come", func() bool { return len(server.Mails()) == 2 })
	for i, want := range []struct{ to, news string }{{"<private@example.org>", "received"}, {"<other@example.org>", "changed"}} {
		m, err := mail.ReadMessage(strings.NewReader(server.Mails()[i]))
		must(t, err)
		text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		must(t, err)
		link := fmt.Sprint("\r\nhttps://example.org/base/page/1/form/request/submission/", id, "\r\n")
		testkit.Same(t, "subject", m.Header.Get("Subject"), "Your submission: Antrag")
		testkit.Same(t, "to", m.Header.Get("To"), want.to)
		if !strings.Contains(string(text), link) || !strings.Contains(string(text), want.news) || regexp.MustCompile(`\bann\b|granted|private`).Match(text) {
			t.Errorf("mail %d: %s", i, text)
		}
	}
	told := map[string]string{"/metrics": fetch(t, p, "/metrics").body, "hooks list": mustRun(t, append([]string{"hooks", "list"}, s.store()...)...)}
	if err := p.terminate(t); err != nil {
		t.Error(err)
	}
	told["log"] = p.output()
	mustNotTell(t, told, "private", "other@")
}

// failures are the times at which mails were not delivered, by the log.
func failures(t *testing.T, p *process) (times []time.Time) {
	t.Helper()
	for text := range strings.Lines(p.output()) {
		var line struct {
			Time        time.Time
			Level, Hook string
		}
		must(t, json.Unmarshal([]byte(text), &line))
		if line.Level == "WARN" && line.Hook == "mail" {
			times = append(times, line.Time)
		}
	}
	return times
}

// The password of the mail server is told nowhere, though the server refuses it. When the
// file has the right one, the mail comes. The log does not tell addresses.
func TestMailTellsNoSecret(t *testing.T) {
	t.Parallel()
	const wrong, right = "hush-hush-wrong", "hush-hush-right"
	server, s := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "forms", Password: right}), newSite(t)
	file := filepath.Join(t.TempDir(), "password")
	testkit.WriteFile(t, file, wrong+"\n")
	flags := append(s.withMail(t, "smtp://forms@"+server.Addr, time.Second), "--smtp-password-file", file, "--log-level", "debug")
	cmd := exec.Command(binary, append(s.serve(), flags...)...)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+server.CA)
	p := launch(t, cmd)
	create(t, p, "leave", note("private"))
	testkit.Eventually(t, "the password is refused", func() bool { return len(failures(t, p)) > 0 })
	list := append([]string{"hooks", "list"}, s.store()...)
	told := map[string]string{
		"hooks list": mustRun(t, list...), "hooks list --format json": mustRun(t, append(list, "--format", "json")...), "/metrics": fetch(t, p, "/metrics").body,
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	mustRun(t, s.command("backup", backup)...)
	content, err := os.ReadFile(backup)
	must(t, err)
	told["backup"] = string(bytes.ReplaceAll(content, []byte("hr@example.org"), nil)) // it has to have that
	testkit.WriteFile(t, file, right+"\n")
	testkit.Eventually(t, "the mail has come", func() bool { return len(server.Mails()) == 1 })
	if err := p.terminate(t); err != nil {
		t.Error(err)
	}
	told["log"] = p.output()
	secrets := []string{"hush", "hr@example.org"}
	for _, password := range []string{wrong, right} {
		for _, login := range []string{"\x00forms\x00" + password, password} {
			secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(login)))
		}
	}
	mustNotTell(t, told, secrets...)
}
