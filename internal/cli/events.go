package cli

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/events"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
)

// eventFlags are those that concern webhooks and mail.
func (c *config) eventFlags() []cli.Flag {
	return append([]cli.Flag{
		hooksFlag(&c.hooks),
		durationFlag("event-retry", &c.events.Retry, 72*time.Hour,
			"how long a webhook or a mail that fails is tried again, up to 720h"),
		durationFlag("notify-interval", &c.events.NotifyInterval, 10*time.Minute,
			"least time between two mails about a form, or about a submission to whoever sent it, 1s to 24h"),
	}, mailFlags(&c.mailer, &c.notified)...)
}

// mailFlags set the options of mails, and the domains that may get them.
func mailFlags(to *events.MailOptions, domains *[]string) []cli.Flag {
	return []cli.Flag{
		textFlag("smtp", &to.Server, "mail server, for notify and submitterMail in forms: smtp://USER@HOST:587, "+
			"or smtps://USER@HOST:465 for TLS at once; needs --mail-from and --public-url"),
		textFlag("smtp-password-file", &to.PasswordFile,
			"file with the password of the user in --smtp; or FORMULARY_SMTP_PASSWORD has the password itself"),
		textFlag("mail-from", &to.From, "sender of mails, such as forms@example.org or Forms <forms@example.org>"),
		textFlag("public-url", &to.PublicURL, "address of this server in links of mails, "+
			"such as https://forms.example.org, with the base path if there is one"),
		mailDomainsFlag(domains),
	}
}

func (c *config) checkEvents() error {
	retry, interval, m := c.events.Retry, c.events.NotifyInterval, &c.mailer
	base, public := strings.TrimSuffix(c.basePath, "/"), strings.TrimSuffix(m.PublicURL, "/")
	return cmp.Or(
		refuse(retry < 0 || retry > 720*time.Hour, "--event-retry %v: use 0s to 720h", retry),
		refuse(interval < time.Second || interval > 24*time.Hour, "--notify-interval %v: use 1s to 24h", interval),
		refuse(m.Server != "" && (m.From == "" || public == ""),
			"--smtp needs --mail-from ADDRESS, the sender of mails, "+
				"and --public-url URL, the address of this server in their links"),
		refuse(public != "" && !strings.HasSuffix(public, base),
			"--public-url must end with --base-path: add %s to it", base),
	)
}

func newMailer(options events.MailOptions) (events.MailSender, error) {
	options.Password = os.Getenv("FORMULARY_SMTP_PASSWORD")
	return configured[events.MailSender](events.NewMailer(options))
}

// openListeners reads who is told of changes.
func openListeners(c *config, log *slog.Logger) (_ *events.Listeners, err error) {
	var sender events.MailSender
	if c.mailer.Server != "" {
		if sender, err = newMailer(c.mailer); err != nil {
			return nil, err
		}
	}
	return configured(events.OpenListeners(c.hooks, sender, log))
}

// newDelivery returns what tells listeners until its context ends, and registers its metrics.
func newDelivery(
	c *config, s store.Engine, svc *service.Service, listeners *events.Listeners, metrics *server.Metrics,
	log *slog.Logger,
) func(context.Context) {
	if c.hooks == "" && c.mailer.Server == "" {
		return func(context.Context) {}
	}
	opts := c.events
	opts.Store, opts.Listeners, opts.Log = s, listeners, log
	opts.Current, opts.Append = svc.Current, encode.AppendSubmission
	d := events.NewDispatcher(opts)
	if metrics != nil {
		metrics.Registry().MustRegister(d)
	}
	return d.Run
}
