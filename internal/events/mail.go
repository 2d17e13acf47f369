package events

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/reload"
)

// Bounds of a mail.
const (
	mailTimeout = 20 * time.Second // from the connection to the last answer
	maxReplies  = 1 << 20          // bytes that the server answers
	maxTitle    = 200              // bytes of the form's title
	maxPassword = 4096

	maxMails = 100             // over one connection
	maxIdle  = 5 * time.Second // that a connection is kept for the next mail
)

// MailOptions are what flags say about mail. The server is smtp://USER@HOST:587 or smtps://USER@HOST:465.
type MailOptions struct {
	Server, PasswordFile, Password, From, PublicURL string
	Language                                        string // of mails about forms whose page names none that there is
	Domains                                         forms.MailDomains
}

// Mailer sends mails. It keeps connections for a short time.
type Mailer struct {
	forms.MailDomains
	options        MailOptions
	server, public *url.URL
	from           *netmail.Address
	tls            *tls.Config
	timeout        time.Duration

	idle chan *session
}

// session is a connection to the mail server.
type session struct {
	client *mail.Client
	smtp   *smtp.Client
	conn   net.Conn
	mails  int
	stop   func() bool // ends that conn is closed with a context
	expiry *time.Timer // while it is idle
}

// NewMailer checks the options. Its errors never contain a password.
func NewMailer(o MailOptions) (*Mailer, error) {
	m := &Mailer{
		MailDomains: o.Domains, options: o, timeout: mailTimeout, idle: make(chan *session, slotsPerHook),
		server: parseURL(o.Server, "smtp", "smtps"), public: parseURL(o.PublicURL, "http", "https"),
	}
	_, inURL := m.server.User.Password()
	hasUser, hasPassword := m.server.User.Username() != "", o.Password != "" || o.PasswordFile != ""
	from, err := netmail.ParseAddress(o.From)
	switch {
	case inURL:
		err = errors.New("--smtp must not contain a password: use --smtp-password-file or FORMULARY_SMTP_PASSWORD")
	case m.server.Host == "" || m.server.Path != "":
		err = errors.New("--smtp must be smtp://HOST, smtp://USER@HOST:587 or smtps://USER@HOST:465, " +
			"without a path or a query")
	case o.Password != "" && o.PasswordFile != "":
		err = errors.New("--smtp-password-file and FORMULARY_SMTP_PASSWORD: use one of them")
	case hasUser != hasPassword:
		err = errors.New("a user in --smtp needs a password, by --smtp-password-file or FORMULARY_SMTP_PASSWORD, " +
			"and a password needs a user")
	case err != nil || !forms.IsEmail(from.Address) || strings.ContainsFunc(from.Name, unicode.IsControl):
		err = errors.New("--mail-from must be one address, such as forms@example.org or Forms <forms@example.org>")
	case m.public.Host == "" || m.public.User != nil:
		err = errors.New("--public-url must be the address of this server, such as https://forms.example.org, " +
			"without user, query and fragment")
	default:
		_, err = m.password()
	}
	m.from = from
	m.tls = &tls.Config{ServerName: m.server.Hostname(), MinVersion: tls.VersionTLS12}
	return m, err
}

// parseURL returns an empty URL for what is none. The error would show a password.
func parseURL(text string, schemes ...string) *url.URL {
	u, err := url.Parse(text)
	if err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && !strings.ContainsAny(text, "?#") {
		if port, err := strconv.ParseUint(cmp.Or(u.Port(), "1"), 10, 16); err == nil && port > 0 {
			return u
		}
	}
	return &url.URL{}
}

// password reads the file each time, so that a new password needs no restart.
func (m *Mailer) password() (string, error) {
	if m.options.PasswordFile == "" {
		return m.options.Password, nil
	}
	text, err := reload.ReadFile(m.options.PasswordFile, maxPassword)
	password := strings.TrimRight(string(text), "\r\n")
	if err == nil && password == "" {
		err = fmt.Errorf("%s is empty", m.options.PasswordFile)
	}
	return password, err
}

// Send implements MailSender. It ends within mailTimeout.
func (m *Mailer) Send(ctx context.Context, n Mail) error {
	switch {
	case !forms.IsEmail(n.To):
		return errors.New("the recipient is not an e-mail address")
	case !m.Allows(n.To): // it was allowed when the event was written
		return errors.New("the recipient is not in --mail-domains")
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel() // closes the connection, unless it is kept
	s, err := m.connect(ctx)
	if err == nil {
		err = s.client.SendWithSMTPClient(s.smtp, m.message(n))
	}
	if err != nil {
		return explainMail(ctx, err)
	}
	m.keep(s) // the mail was taken, whatever happens now
	return nil
}

// keep makes a connection idle. It ends when no mail follows soon, or it had many.
func (m *Mailer) keep(s *session) {
	quit := func() { _ = s.client.CloseWithSMTPClient(s.smtp) }
	if s.mails++; s.mails == maxMails || !s.stop() {
		quit()
		return
	}
	s.expiry = time.AfterFunc(maxIdle, quit)
	select {
	case m.idle <- s:
	default: // others are idle
	}
}

// connect returns an idle connection that still works, or a new one.
func (m *Mailer) connect(ctx context.Context) (*session, error) {
	for {
		select {
		case s := <-m.idle:
			if !s.expiry.Stop() {
				continue
			}
			s.closeWith(ctx)
			if s.smtp.UpdateDeadline(m.timeout) == nil && s.smtp.Noop() == nil {
				return s, nil
			}
		default:
			return m.dial(ctx)
		}
	}
}

func (s *session) closeWith(ctx context.Context) {
	s.stop = context.AfterFunc(ctx, func() { _ = s.conn.Close() })
}

var errPassword = errors.New("the password file can't be read")

// dial gives go-mail a dialer of our own: its own connections do not end with ctx.
func (m *Mailer) dial(ctx context.Context) (*session, error) {
	host, policy := m.server.Hostname(), mail.TLSOpportunistic
	port := cmp.Or(m.server.Port(), map[string]string{"smtp": "587", "smtps": "465"}[m.server.Scheme])
	s := &session{}
	dial := func(_ context.Context, network, _ string) (conn net.Conn, err error) {
		s.conn, err = new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(host, port))
		if err != nil {
			return nil, err
		}
		s.closeWith(ctx)
		limited := limitedConn{s.conn, io.LimitReader(s.conn, maxReplies)}
		if m.server.Scheme == "smtps" {
			return tls.Client(limited, m.tls), nil
		}
		return limited, nil
	}
	options := []mail.Option{
		mail.WithDialContextFunc(dial), mail.WithTLSConfig(m.tls), mail.WithTimeout(mailTimeout),
		mail.WithoutNoop(), mail.WithoutRset(),
	}
	if user := m.server.User.Username(); user != "" {
		password, err := m.password()
		if err != nil {
			return nil, errPassword
		}
		if m.server.Scheme == "smtp" { // with smtps, all is encrypted
			policy = mail.TLSMandatory
		}
		options = append(options, mail.WithUsername(user), mail.WithPassword(password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	client, err := mail.NewClient(host, append(options, mail.WithTLSPolicy(policy))...)
	if err == nil {
		s.client = client
		s.smtp, err = client.DialToSMTPClientWithContext(ctx)
	}
	return s, err
}

// limitedConn is a connection of which only so much can be read.
type limitedConn struct {
	net.Conn
	limited io.Reader
}

func (c limitedConn) Read(p []byte) (int, error) { return c.limited.Read(p) }

func (m *Mailer) message(n Mail) *mail.Msg {
	// A header has one line, and mail readers decode what is between =? and ?=.
	isBreak := func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }
	title := strings.Join(strings.FieldsFunc(strings.ReplaceAll(n.Title, "=?", "= ?"), isBreak), " ")
	title = forms.Truncate(title, maxTitle)
	l := cmp.Or(lang.Match(n.Lang), lang.Find(m.options.Language), lang.All()[0])
	news, page := "", "results"
	subject := l.Say(forms.SayN("{0} new submission: {1}", "{0} new submissions: {1}", n.Count, title))
	why := l.Text("The form has your address under \"notify\". To get no more such mails, have it removed there.")
	if n.Submission != 0 {
		subject, page = l.Text("Your submission: {0}", title), "submission/"+strconv.FormatInt(n.Submission, 10)
		news = l.Text("We have received your submission.") + "\n\n"
		why = l.Text("Your address is an answer in it. If somebody else has written it there, ignore this mail.")
	}
	if n.Changed {
		news = l.Text("Editors of the form have changed something about it.") + "\n\n"
	}
	link := m.public.JoinPath("page", strconv.FormatInt(n.PageID, 10), "form", url.PathEscape(n.FormID), page)
	text := fmt.Sprintf("%s\n\n%s%s\n\n%s\n", subject, news, link, why)
	if n.FormID == "" {
		subject, text = l.Text("Test mail"), l.Text("This is a test: mails from {0} arrive.", m.public.String())+"\n"
	}
	_, domain, _ := strings.Cut(m.from.Address, "@")
	message := mail.NewMsg(mail.WithNoDefaultUserAgent())
	message.FromMailAddress(m.from)
	message.ToMailAddress(&netmail.Address{Address: n.To})
	message.Subject(subject)
	message.SetDate()
	message.SetMessageIDWithValue(rand.Text() + "@" + domain)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(mail.TypeTextPlain, text)
	return message
}

// explainMail says why a mail was not sent, without addresses and text of the server.
func explainMail(ctx context.Context, err error) error {
	refused, isRefused := errors.AsType[*mail.SendError](err)
	reply, isReply := errors.AsType[*textproto.Error](err)
	refusals := map[mail.SendErrReason]string{mail.ErrSMTPRcptTo: "recipient", mail.ErrSMTPMailFrom: "sender"}
	phrase := connectionFault(err, "the connection failed")
	switch {
	case errors.Is(err, errPassword):
		return err
	case ctx.Err() != nil:
		phrase = "no answer in time"
	case isRefused && refused.Reason == mail.ErrSMTPRcptTo && !refused.IsTemp():
		return noRecipient(refused.ErrorCode())
	case isRefused && refused.ErrorCode() != 0:
		what := cmp.Or(refusals[refused.Reason], "mail")
		phrase = fmt.Sprintf("the mail server refused the %s (%d)", what, refused.ErrorCode())
	case isReply && strings.HasPrefix(err.Error(), "SMTP AUTH"):
		phrase = fmt.Sprintf("sign-in refused (%d)", reply.Code)
	case isReply:
		phrase = fmt.Sprintf("the mail server answered %d", reply.Code)
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		phrase = "the mail server offers no TLS"
	case strings.Contains(err.Error(), "AUTH"):
		phrase = "the mail server offers no sign-in"
	}
	return errors.New(phrase)
}

// noRecipient is the code with which a mail server has refused a recipient for good.
type noRecipient int

func (c noRecipient) Error() string {
	return fmt.Sprintf("the mail server refused the recipient (%d)", int(c))
}
