package events

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestMailOptions(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"good": "secret\n", "empty": "\n", "long": strings.Repeat("x", maxPassword+1)} {
		testkit.WriteFile(t, filepath.Join(dir, name), content)
	}
	set := map[string]func(o *MailOptions, value string){
		"smtp":     func(o *MailOptions, value string) { o.Server = value },
		"user":     func(o *MailOptions, value string) { o.Server = strings.Replace(o.Server, "//", "//"+value+"@", 1) },
		"password": func(o *MailOptions, value string) { o.Password = value },
		"file":     func(o *MailOptions, value string) { o.PasswordFile = filepath.Join(dir, value) },
		"from":     func(o *MailOptions, value string) { o.From = value },
		"public":   func(o *MailOptions, value string) { o.PublicURL = value },
		"domains":  func(o *MailOptions, _ string) { o.Domains = nil },
	}
	want := ""
	for line := range strings.Lines(mailOptionCases) {
		if text, isError := strings.CutPrefix(line, "= "); isError {
			want = strings.Replace(strings.TrimSpace(text), "DIR", dir, 1)
			continue
		}
		o := mailOptions("smtp://mail.example.org")
		for option := range strings.SplitSeq(line, " + ") {
			var key, value string
			if _, err := fmt.Sscanf(option, "%s %q", &key, &value); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			set[key](&o, value)
		}
		_, err := NewMailer(o)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	m := newMailer(t, mailOptions("smtp://mail.example.org"), nil)
	if !m.Allows("hr@EXAMPLE.org") || m.Allows("hr@sub.example.org") || m.timeout != mailTimeout || m.tls.MinVersion < tls.VersionTLS12 || m.tls.InsecureSkipVerify {
		t.Errorf("%+v", m)
	}
}

// mailOptionCases are options that differ from those of a working mailer, below a part of the
// error that they cause.
const mailOptionCases = `smtp "smtp://mail.example.org"
smtp "smtp://mail.example.org:25"
smtp "smtps://mail.example.org:465"
smtp "smtp://[::1]:25"
user "forms" + file "good"
smtp "smtp://forms@example.org@mail.example.org:587" + password "secret"
from "forms@example.org"
from "Formulär <forms@example.org>"
from "\"a, b\" <forms@example.org>"
public "http://localhost:8080"
public "https://example.org/forms/"
public "HTTPS://example.org"
domains ""
= --smtp must be
smtp ""
smtp "mail.example.org"
smtp "mail.example.org:587"
smtp "http://mail.example.org"
smtp "smtp://"
smtp "smtp://:587"
smtp "smtp://mail.example.org:0"
smtp "smtp://mail.example.org:65536"
smtp "smtp://mail.example.org:x"
smtp "smtp://mail.example.org/path"
smtp "smtp://mail.example.org/"
smtp "smtp://mail.example.org?a=b"
smtp "smtp://mail.example.org?"
smtp "smtp://mail.example.org#a"
smtp "smtp://forms:secret@mail example.org"
smtp "smtp:mail.example.org"
= --smtp must not contain a password
user "forms:secret"
user ":secret"
user "forms:"
= needs a password
user "forms"
= a password needs a user
password "secret"
file "good"
= use one of them
user "forms" + file "good" + password "secret"
= DIR
user "forms" + file "empty"
user "forms" + file "long"
user "forms" + file "none"
user "forms" + file "."
= --mail-from must be
from ""
from "forms"
from "a@example.org, b@example.org"
from "forms@exämple.org"
from "a@example.org\r\nBcc: b@example.org"
from "\"a\x01b\" <a@example.org>"
from "=?utf-8?Q?a=0D=0AB?= <a@example.org>"
= --public-url must be
public ""
public "forms.example.org"
public "ftp://example.org"
public "https://"
public "https://a:secret@example.org"
public "https://a@example.org"
public "https://example.org/?a=b"
public "https://example.org?"
public "https://example.org/#x"
public "https://example.org:99999"
public "/forms"
`
