package events

import (
	"crypto/tls"
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
	const server, withUser = "smtp://mail.example.org", "smtp://forms@mail.example.org"
	file := func(name string) func(*MailOptions) {
		return func(o *MailOptions) { o.Server, o.PasswordFile = withUser, filepath.Join(dir, name) }
	}
	smtp := func(address string) func(*MailOptions) { return func(o *MailOptions) { o.Server = address } }
	from := func(address string) func(*MailOptions) { return func(o *MailOptions) { o.From = address } }
	public := func(address string) func(*MailOptions) { return func(o *MailOptions) { o.PublicURL = address } }
	for _, tt := range []struct {
		want   string
		change []func(*MailOptions)
	}{
		{"", []func(*MailOptions){
			smtp(server), smtp(server + ":25"), smtp("smtps://mail.example.org:465"), smtp("smtp://[::1]:25"), file("good"),
			func(o *MailOptions) { o.Server, o.Password = "smtp://forms@example.org@mail.example.org:587", "secret" },
			from("forms@example.org"), from("Formulär <forms@example.org>"), from(`"a, b" <forms@example.org>`),
			public("http://localhost:8080"), public("https://example.org/forms/"), public("HTTPS://example.org"),
			func(o *MailOptions) { o.Domains = nil },
		}},
		{"--smtp must be", []func(*MailOptions){
			smtp(""), smtp("mail.example.org"), smtp("mail.example.org:587"), smtp("http://mail.example.org"), smtp("smtp://"), smtp("smtp://:587"),
			smtp(server + ":0"), smtp(server + ":65536"), smtp(server + ":x"), smtp(server + "/path"), smtp(server + "/"), smtp(server + "?a=b"), smtp(server + "?"), smtp(server + "#a"),
			smtp("smtp://forms:secret@mail example.org"), smtp("smtp:mail.example.org"),
		}},
		{"--smtp must not contain a password", []func(*MailOptions){smtp("smtp://forms:secret@mail.example.org"), smtp("smtp://:secret@mail.example.org"), smtp("smtp://forms:@mail.example.org")}},
		{"needs a password", []func(*MailOptions){smtp(withUser)}},
		{"a password needs a user", []func(*MailOptions){func(o *MailOptions) { o.Password = "secret" }, func(o *MailOptions) { o.PasswordFile = filepath.Join(dir, "good") }}},
		{"use one of them", []func(*MailOptions){func(o *MailOptions) { file("good")(o); o.Password = "secret" }}},
		{dir, []func(*MailOptions){file("empty"), file("long"), file("none"), file(".")}},
		{"--mail-from must be", []func(*MailOptions){from(""), from("forms"), from("a@example.org, b@example.org"), from("forms@exämple.org"), from("a@example.org\r\nBcc: b@example.org"), from("\"a\x01b\" <a@example.org>"), from("=?utf-8?Q?a=0D=0AB?= <a@example.org>")}},
		{"--public-url must be", []func(*MailOptions){
			public(""), public("forms.example.org"), public("ftp://example.org"), public("https://"), public("https://a:secret@example.org"), public("https://a@example.org"),
			public("https://example.org/?a=b"), public("https://example.org?"), public("https://example.org/#x"), public("https://example.org:99999"), public("/forms"),
		}},
	} {
		for i, change := range tt.change {
			o := mailOptions(server)
			change(&o)
			_, err := NewMailer(o)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("case %d of %q: %v for %+v", i, tt.want, err, o)
			}
		}
	}
	m := newMailer(t, mailOptions(server), nil)
	if !m.Allows("hr@EXAMPLE.org") || m.Allows("hr@sub.example.org") || m.timeout != mailTimeout || m.tls.MinVersion < tls.VersionTLS12 || m.tls.InsecureSkipVerify {
		t.Errorf("%+v", m)
	}
}
