package cli

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/events"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/store"
)

// eventFlags are those of serve that concern webhooks and mail.
func eventFlags() []cli.Flag {
	return append([]cli.Flag{
		hooksFlag(),
		durationFlag("event-retry", 72*time.Hour, "how long a webhook or a mail that fails is tried again, up to 720h"),
		durationFlag("notify-interval", 10*time.Minute, "least time between two mails about a form to an address, 1s to 24h"),
	}, mailFlags()...)
}

func mailFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("smtp", "mail server, for notify in forms: smtp://USER@HOST:587, or smtps://USER@HOST:465 for TLS at once; needs --mail-from and --public-url"),
		textFlag("smtp-password-file", "file with the password of the user in --smtp; or FORMULARY_SMTP_PASSWORD has the password itself"),
		textFlag("mail-from", "sender of mails, such as forms@example.org or Forms <forms@example.org>"),
		textFlag("public-url", "address of this server in links of mails, such as https://forms.example.org, with the base path if there is one"),
		mailDomainsFlag(),
	}
}

func checkEventFlags(cmd *cli.Command) error {
	retry, interval := cmd.Duration("event-retry"), cmd.Duration("notify-interval")
	base, public := strings.TrimSuffix(cmd.String("base-path"), "/"), strings.TrimSuffix(cmd.String("public-url"), "/")
	switch {
	case retry < 0 || retry > 720*time.Hour:
		return usagef("--event-retry %v: use 0s to 720h", retry)
	case interval < time.Second || interval > 24*time.Hour:
		return usagef("--notify-interval %v: use 1s to 24h", interval)
	case cmd.String("smtp") != "" && (cmd.String("mail-from") == "" || public == ""):
		return usagef("--smtp needs --mail-from ADDRESS, the sender of mails, and --public-url URL, the address of this server in their links")
	case public != "" && !strings.HasSuffix(public, base):
		return usagef("--public-url must end with --base-path: add %s to it", base)
	}
	return nil
}

func mailDomains(cmd *cli.Command) (forms.MailDomains, error) {
	domains, err := forms.ParseMailDomains(cmd.StringSlice("mail-domains"))
	if err != nil {
		return nil, usagef("--mail-domains: %v", err)
	}
	return domains, nil
}

func newMailer(cmd *cli.Command, domains forms.MailDomains) (*events.Mailer, error) {
	mailer, err := events.NewMailer(events.MailOptions{
		Server: cmd.String("smtp"), PasswordFile: cmd.String("smtp-password-file"), Password: os.Getenv("FORMULARY_SMTP_PASSWORD"),
		From: cmd.String("mail-from"), PublicURL: cmd.String("public-url"), Domains: domains,
	})
	if err != nil {
		return nil, &configError{err}
	}
	return mailer, nil
}

// openListeners reads who is told of changes.
func openListeners(cmd *cli.Command, domains forms.MailDomains, log *slog.Logger) (*events.Listeners, error) {
	var sender events.MailSender
	if cmd.String("smtp") != "" {
		mailer, err := newMailer(cmd, domains)
		if err != nil {
			return nil, err
		}
		sender = mailer
	}
	listeners, err := events.OpenListeners(cmd.String("hooks"), sender, log)
	if err != nil {
		return nil, &configError{err}
	}
	return listeners, nil
}

// newDelivery returns what tells listeners until its context ends, and registers its metrics.
func newDelivery(cmd *cli.Command, s store.Engine, listeners *events.Listeners, metrics *server.Metrics, log *slog.Logger) func(context.Context) {
	if cmd.String("hooks") == "" && cmd.String("smtp") == "" {
		return func(context.Context) {}
	}
	d := events.NewDispatcher(events.DispatcherOptions{
		Store: s, Listeners: listeners, Retry: cmd.Duration("event-retry"), NotifyInterval: cmd.Duration("notify-interval"), Log: log,
		Encode: func(s forms.Submission) ([]byte, error) { return encode.AppendSubmission(nil, s) },
	})
	if metrics != nil {
		metrics.Registry().MustRegister(d)
	}
	return d.Run
}
