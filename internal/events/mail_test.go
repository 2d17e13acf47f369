package events

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/events/mailtest"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

const mailPassword = "pa$$w0rd+/=ß"

// leave is a mail about a form.
func leave(count int) Mail {
	return Mail{To: "hr@example.org", Title: "Leave request", PageID: 102, FormID: "leave", Count: count}
}

func mailOptions(server string) MailOptions {
	return MailOptions{Server: server, From: "Formulary <forms@example.org>", PublicURL: "https://forms.example.org/", Domains: []string{"example.org"}}
}

// newMailer makes a Mailer that trusts the authority of a server.
func newMailer(t *testing.T, o MailOptions, s *mailtest.Server) *Mailer {
	t.Helper()
	m, err := NewMailer(o)
	testkit.Must(t, err)
	if s != nil {
		pem, err := os.ReadFile(s.CA)
		testkit.Must(t, err)
		m.tls.RootCAs = x509.NewCertPool()
		m.tls.RootCAs.AppendCertsFromPEM(pem)
	}
	return m
}

// parseMail splits a mail that was delivered into its headers and its text.
func parseMail(t *testing.T, raw string) (netmail.Header, string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	if got := m.Header.Get("Content-Transfer-Encoding"); got != "quoted-printable" {
		t.Fatalf("encoding %q", got)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	testkit.Must(t, err)
	return m.Header, strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestMailMessage(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	m := newMailer(t, mailOptions("smtp://"+server.Addr), nil)
	other := Mail{To: "o'neil+x@Example.org", Title: "Übergabe – 引き継ぎ 🎉", PageID: 7, FormID: "größe.1", Count: 1}
	mine := leave(1)
	mine.Submission = 17
	changed := mine
	changed.Title, changed.Changed = "a\r\nBcc: evil@example.org", true
	german := leave(1)
	german.Lang = "de-AT"
	for _, mail := range []Mail{leave(3), other, mine, changed, german} {
		testkit.Must(t, m.Send(t.Context(), mail))
	}
	const notify = "\n\nThe form has your address under \"notify\". To get no more such mails, have it removed there.\n"
	const submission = "https://forms.example.org/page/102/form/leave/submission/17\n\n" +
		"Your address is an answer in it. If somebody else has written it there, ignore this mail.\n"
	why := lang.Find("de").Text("The form has your address under \"notify\". To get no more such mails, have it removed there.") + "\n"
	for i, want := range []struct{ to, subject, text string }{
		{"<hr@example.org>", "3 new submissions: Leave request", "https://forms.example.org/page/102/form/leave/results" + notify},
		{"<o'neil+x@Example.org>", "1 new submission: Übergabe – 引き継ぎ 🎉", "https://forms.example.org/page/7/form/gr%C3%B6%C3%9Fe.1/results" + notify},
		{"<hr@example.org>", "Your submission: Leave request", "We have received your submission.\n\n" + submission},
		{"<hr@example.org>", "Your submission: a Bcc: evil@example.org", "Editors of the form have changed something about it.\n\n" + submission},
		{"<hr@example.org>", "1 neue Einsendung: Leave request", "https://forms.example.org/page/102/form/leave/results\n\n" + why},
	} {
		header, text := parseMail(t, server.Mails()[i])
		for key, want := range map[string]string{
			"To": want.to, "From": `"Formulary" <forms@example.org>`, "Auto-Submitted": "auto-generated",
			"Content-Type": "text/plain; charset=UTF-8", "Mime-Version": "1.0", "Cc": "", "Bcc": "", "User-Agent": "", "X-Mailer": "",
		} {
			testkit.Same(t, key, strings.Join(header[key], ", "), want)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
		if err != nil || subject != want.subject {
			t.Errorf("subject %q, want %q", subject, want.subject)
		}
		if sent, err := header.Date(); err != nil || time.Since(sent).Abs() > time.Hour {
			t.Errorf("date %v, %v", sent, err)
		}
		if id := header.Get("Message-Id"); !strings.HasPrefix(id, "<") || !strings.HasSuffix(id, "@example.org>") {
			t.Errorf("message id %q", id)
		}
		testkit.Same(t, "text", text, want.subject+"\n\n"+want.text)
	}
	first, _ := parseMail(t, server.Mails()[0])
	second, _ := parseMail(t, server.Mails()[1])
	if first.Get("Message-Id") == second.Get("Message-Id") {
		t.Error("two mails have one id")
	}
}

// A title is the text of a page. It never becomes a header, a recipient or a second mail.
func TestMailTitles(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	m := newMailer(t, mailOptions("smtp://"+server.Addr), nil)
	const injected = "Bcc: evil@example.org"
	for i, tt := range []struct{ title, want string }{
		{"a\r\n" + injected, "a " + injected},
		{"a\n" + injected, "a " + injected},
		{"a\r" + injected, "a " + injected},
		{"a\r\n\r\nbody\r\n.\r\nQUIT\r\n", "a body . QUIT"},
		{"a\x00b\u2028c\u2029d\u0085e\x1b[31m\u202ef", "a b c d e [31m f"},
		{"=?utf-8?Q?a=0D=0ABcc:_evil@example.org?=", "= ?utf-8?Q?a=0D=0ABcc:_evil@example.org?="},
		{"ä =?utf-8?B?DQpCY2M6IGV2aWxAZXhhbXBsZS5vcmc=?=", "ä = ?utf-8?B?DQpCY2M6IGV2aWxAZXhhbXBsZS5vcmc= ?="},
		{"  two  spaces  ", "two spaces"},
		{strings.Repeat("x", 5000), strings.Repeat("x", maxTitle) + "…"},
		{strings.Repeat("ä", 5000), strings.Repeat("ä", maxTitle/2) + "…"},
		{strings.Repeat("word ", 1000), strings.Repeat("word ", maxTitle/5) + "…"},
		{"", ""},
	} {
		mail := leave(1)
		mail.Title = tt.title
		if err := m.Send(t.Context(), mail); err != nil {
			t.Fatalf("%q: %v", tt.title, err)
		}
		mails := server.Mails()
		if len(mails) != i+1 {
			t.Fatalf("%q: %d mails, want %d", tt.title, len(mails), i+1)
		}
		header, text := parseMail(t, mails[i])
		subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
		if want := "1 new submission: " + tt.want; err != nil || strings.TrimSpace(subject) != strings.TrimSpace(want) {
			t.Errorf("%q: subject %q, want %q, %v", tt.title, subject, want, err)
		}
		if len(header["Bcc"]) != 0 || len(header["To"]) != 1 || strings.Count(text, "\n") != 5 {
			t.Errorf("%q: %v %q", tt.title, header, text)
		}
		for line := range strings.Lines(mails[i]) {
			if len(line) > 300 {
				t.Errorf("%q: a line of %d bytes", tt.title, len(line))
			}
		}
	}
	before := len(server.Mails())
	for _, to := range []string{"", "hr", "a@example.org\r\nRCPT TO:<b@example.org>", "a@example.org, b@example.org", "a@example.org>\n<b@example.org", "Ann <a@example.org>"} {
		mail := leave(1)
		mail.To = to
		if err := m.Send(t.Context(), mail); err == nil || strings.Contains(err.Error(), "example.org") {
			t.Errorf("to %q: %v", to, err)
		}
	}
	if after := len(server.Mails()); after != before {
		t.Errorf("%d mails were sent to bad addresses", after-before)
	}
}

// recorder passes what it gets on to a server, and records what clients send in clear text.
type recorder struct {
	addr string
	mu   sync.Mutex
	sent bytes.Buffer
}

func record(t *testing.T, to string) *recorder {
	t.Helper()
	r := &recorder{}
	r.addr = listen(t, func(conn net.Conn) {
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		go func() { _, _ = io.Copy(io.MultiWriter(server, r), conn) }()
		_, _ = io.Copy(conn, server)
	})
	return r
}

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent.Write(p)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent.String()
}

// listen calls serve for each connection, until the test ends.
func listen(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// TLS is used where it is offered, and no password is ever sent without it.
func TestMailSecurity(t *testing.T) {
	const user, hidden = "forms@example.org", "AGZvcm1zQGV4YW1wbGUub3Jn" // the beginning of AUTH PLAIN for the user
	// What it is, the server, who sends, the error. inClear: the mail crosses the network in clear text.
	for line := range strings.Lines(`plain | plain | smtp inClear |
STARTTLS without a user | StartTLS | smtp |
STARTTLS with a user | StartTLS User | smtp user |
smtps without a user | TLS | smtps |
smtps with a user | TLS User | smtps user |
no TLS for a user | User | smtp user | the mail server offers no TLS
wrong password | StartTLS User Other | smtp user | sign-in refused (535)
sign-in required | StartTLS User | smtp | the mail server refused the sender (530)
no sign-in | StartTLS | smtp user | the mail server offers no sign-in
untrusted, STARTTLS | StartTLS | smtp untrusted | its certificate is not trusted
untrusted, user | StartTLS User | smtp user untrusted | its certificate is not trusted
untrusted, smtps | TLS User | smtps user untrusted | its certificate is not trusted
smtps at a port without TLS | plain | smtps | ` + badHandshake + `
recipient refused | Recipients | smtp inClear | the mail server refused the recipient (550)
`) {
		columns := strings.Split(strings.TrimSpace(line), " |")
		has := func(word string) bool {
			return slices.Contains(strings.Fields(columns[1]+columns[2]), word)
		}
		scheme, want := strings.Fields(columns[2])[0], strings.TrimSpace(columns[3])
		t.Run(columns[0], func(t *testing.T) {
			options := mailtest.Options{TLS: has("TLS"), StartTLS: has("StartTLS")}
			if has("User") {
				options.User, options.Password = user, mailPassword
			}
			if has("Other") {
				options.Password = "another"
			}
			if has("Recipients") {
				options.Recipients = "@example.com$"
			}
			server := mailtest.Start(t, options)
			r := record(t, server.Addr)
			o := mailOptions(scheme + "://" + r.addr)
			if has("user") {
				o.Server, o.Password = scheme+"://"+user+"@"+r.addr, mailPassword
			}
			trusted := server
			if has("untrusted") {
				trusted = nil
			}
			err := newMailer(t, o, trusted).Send(t.Context(), leave(2))
			if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
				t.Errorf("%q, want %q\n%s", got, want, server.Log())
			}
			mails := len(server.Mails())
			if (mails == 1) != (want == "") || mails > 1 {
				t.Errorf("%d mails", mails)
			}
			sent := r.text()
			if strings.Contains(sent, "AUTH") || strings.Contains(sent, hidden) {
				t.Errorf("a password was sent in clear text: %q", sent)
			}
			if strings.Contains(sent, "RCPT") != has("inClear") {
				t.Errorf("sent in clear text: %q", sent)
			}
		})
	}
}

// The file with the password is read for each mail.
func TestMailPasswordFile(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "forms", Password: mailPassword})
	file := filepath.Join(t.TempDir(), "password")
	testkit.WriteFile(t, file, "old\n")
	o := mailOptions("smtp://forms@" + server.Addr)
	o.PasswordFile = file
	m := newMailer(t, o, server)
	if err := m.Send(t.Context(), leave(1)); fmt.Sprint(err) != "sign-in refused (535)" {
		t.Errorf("old password: %v", err)
	}
	testkit.WriteFile(t, file, mailPassword+"\r\n")
	testkit.ErrorIs(t, "new password", m.Send(t.Context(), leave(1)), nil)
	testkit.Must(t, os.Remove(file))
	<-m.idle // the next mail needs a new connection
	if err := m.Send(t.Context(), leave(1)); fmt.Sprint(err) != "the password file can't be read" {
		t.Errorf("without the file: %v", err)
	}
}

// Servers that do not answer as they should end the attempt, in time and with a few words.
func TestMailServerFails(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	m := newMailer(t, mailOptions("smtp://"+server.Addr), nil)
	server.Stop()
	if err := m.Send(t.Context(), leave(1)); fmt.Sprint(err) != "connection refused" {
		t.Errorf("stopped: %v", err)
	}
	server.Restart()
	if err := m.Send(t.Context(), leave(1)); err != nil || len(server.Mails()) != 1 {
		t.Errorf("started again: %v", err)
	}
	const silence = 300 * time.Millisecond
	var written atomic.Int64
	for name, tt := range map[string]struct {
		serve func(net.Conn)
		want  string
	}{
		"silent": {func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, "no answer in time"},
		"silent later": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "220 hello\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}, "no answer in time"},
		"slow": {func(conn net.Conn) {
			for err := error(nil); err == nil; time.Sleep(silence / 20) {
				_, err = io.WriteString(conn, "220-a\r\n")
			}
		}, "no answer in time"},
		"endless": {func(conn net.Conn) {
			for err := error(nil); err == nil; {
				var n int
				n, err = io.WriteString(conn, strings.Repeat("x", 4096))
				written.Add(int64(n))
			}
		}, "the connection failed"},
		"closed": {func(net.Conn) {}, "the connection failed"},
		"old TLS": {func(conn net.Conn) {
			answer(conn, "220 hello", "250-hello\r\n250 STARTTLS")
			_, _ = io.WriteString(conn, "220 go on\r\n")
			_ = tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).HandshakeContext(t.Context())
		}, badHandshake},
		"busy": {func(conn net.Conn) { _, _ = io.WriteString(conn, "421 hr@example.org, try later\r\n") }, "the mail server answered 421"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMailer(t, mailOptions("smtp://"+listen(t, tt.serve)), nil)
			if tt.want == "no answer in time" {
				m.timeout = silence
			}
			start := time.Now()
			if err := m.Send(t.Context(), leave(1)); fmt.Sprint(err) != tt.want || time.Since(start) > mailTimeout/2 {
				t.Errorf("%v after %s, want %s", err, time.Since(start), tt.want)
			}
		})
	}
	if n := written.Load(); n > 64<<20 {
		t.Errorf("%d bytes of one answer were read", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m = newMailer(t, mailOptions("smtp://"+listen(t, func(conn net.Conn) { cancel(); _, _ = io.Copy(io.Discard, conn) })), nil)
	start := time.Now()
	if err := m.Send(ctx, leave(1)); err == nil || time.Since(start) > mailTimeout/2 {
		t.Errorf("an attempt that was ended: %v after %s", err, time.Since(start))
	}
}

// answer gives a client one answer after the other, and returns the commands of the client.
func answer(conn net.Conn, answers ...string) (commands []string) {
	client := textproto.NewConn(conn)
	for _, text := range answers {
		_ = client.PrintfLine("%s", text) // the client notices
		switch text {
		case "354 go on":
			_, _ = client.ReadDotBytes()
		case "250 taken":
			return commands
		default:
			command, _ := client.ReadLine()
			commands = append(commands, command)
		}
	}
	return commands
}

// What happens after the server has taken the mail does not matter: it would be sent twice.
func TestMailTaken(t *testing.T) {
	addr := listen(t, func(conn net.Conn) {
		answer(conn, "220 hello", "250 hello", "250 ok", "250 ok", "354 go on", "250 taken")
	})
	testkit.ErrorIs(t, "the mail was taken", newMailer(t, mailOptions("smtp://"+addr), nil).Send(t.Context(), leave(1)), nil)
}

// Some servers know no AUTH PLAIN.
func TestMailLogin(t *testing.T) {
	site := httptest.NewTLSServer(nil) // for its certificate
	defer site.Close()
	commands := make(chan []string, 1)
	addr := listen(t, func(conn net.Conn) {
		encrypted := tls.Server(conn, &tls.Config{Certificates: site.TLS.Certificates})
		commands <- answer(encrypted, "220 hello", "250-hello\r\n250 AUTH LOGIN", "334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6", "235 welcome",
			"250 ok", "250 ok", "354 go on", "250 taken")
	})
	o := mailOptions("smtps://forms@" + addr)
	o.Password = mailPassword
	m := newMailer(t, o, nil)
	m.tls.RootCAs = x509.NewCertPool()
	m.tls.RootCAs.AddCert(site.Certificate())
	if err := m.Send(t.Context(), leave(1)); err != nil {
		t.Error(err)
	}
	encode := base64.StdEncoding.EncodeToString
	want := []string{"AUTH LOGIN", encode([]byte("forms")), encode([]byte(mailPassword))}
	if got := <-commands; !slices.Equal(got[1:4], want) {
		t.Errorf("%q, want %q", got[1:4], want)
	}
}

// Ports have the defaults of their protocols.
func TestMailPorts(t *testing.T) {
	for server, want := range map[string]string{"smtp://127.0.0.9": ":587", "smtps://127.0.0.9": ":465", "smtp://127.0.0.9:1": ":1"} {
		_, err := newMailer(t, mailOptions(server), nil).dial(t.Context())
		var refused *net.OpError
		if !errors.As(err, &refused) || !strings.HasSuffix(refused.Addr.String(), want) {
			t.Errorf("%s: %v, want port %s", server, err, want)
		}
	}
}

// An address of a domain that is not allowed any more gets no mail, although events wait.
func TestMailOutsideDomains(t *testing.T) {
	m := newMailer(t, mailOptions("smtp://127.0.0.9:1"), nil)
	const otherDomain, noAddress = "the recipient is not in --mail-domains", "the recipient is not an e-mail address"
	for to, want := range map[string]string{
		"hr@sub.example.org": otherDomain, "hr@example.com": otherDomain,
		"hr": noAddress, "a@example.org\r\nb@example.org": noAddress,
	} {
		err := m.Send(t.Context(), Mail{To: to, Title: "Leave", PageID: 1, FormID: "leave", Count: 1})
		if fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %s", to, err, want)
		}
	}
}
