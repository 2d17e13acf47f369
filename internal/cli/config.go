package cli

import (
	"cmp"
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for --timezone where the system has no zones, such as in a container

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/events"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/web"
	"github.com/formulary/formulary/internal/wiki"
)

// config is what the flags of serve say. Parsing sets the flags' fields, in the
// options of the parts where those have one; check sets the rest.
type config struct {
	basePath, timezone, logFormat, logLevel  string
	userHeader, groupsHeader, hooks          string
	anonymousKey, brandCSS                   string
	newAnonymousKey, accessLog, metrics      bool
	maxBody, maxFile                         int64
	wikiRecheck, wikiRelogin, sweepInterval  time.Duration
	trustedProxies, frameAncestors, notified []string
	authors                                  []string

	at       location
	database postgres.Options
	users    auth.Options
	markup   markup.Options
	wiki     wiki.Options // its address is that of the pages
	mailer   events.MailOptions
	events   events.DispatcherOptions
	web      web.Options
	server   server.Options

	base string // what paths begin with
	zone *time.Location
}

func (c *config) flags() []cli.Flag {
	c.accessLog = true
	return slices.Concat([]cli.Flag{
		valueFlag("listen", &c.server.Listen, "127.0.0.1:8080", "address to listen on"),
		valueFlag("base-path", &c.basePath, "/",
			"path that pages, API and /embed.js are below, such as /forms on the host of a wiki; "+
				"/healthz, /readyz and /metrics stay at the root"),
		&cli.StringFlag{
			Name: "pages", Destination: &c.wiki.Address, Required: true, Sources: env("pages"),
			Usage: "directory of wiki pages (" + markup.Extensions + "), or a live wiki: mediawiki+URL of its api.php, " +
				"confluence+URL or confluence-cloud+URL",
		},
		listFlag("authors", &c.authors, "who may save forms on pages of the directory that name them in edit: "+
			"users, groups such as @hr, or * for everybody. The default is nobody"),
	}, c.signInFlags(), c.wikiFlags(), c.storeFlags(), []cli.Flag{
		keyFlag(&c.anonymousKey, "file with the key that anonymous submitters are recognised by, "+
			"the same for all servers on one database; made if it is missing"),
		boolFlag("new-anonymous-key", &c.newAnonymousKey,
			"accept a new key because the old one is lost: everybody may submit once more to anonymous forms"),
		textFlag("tls-cert", &c.server.TLSCert, "certificate chain (PEM); read again when it changes"),
		textFlag("tls-key", &c.server.TLSKey, "private key of the certificate (PEM)"),
		listFlag("trusted-proxies", &c.trustedProxies,
			"addresses or prefixes of proxies whose X-Forwarded-For, X-Forwarded-Proto and --user-header are trusted"),
		valueFlag("timezone", &c.timezone, "UTC",
			"time zone, such as Europe/Berlin. Days of forms, filters and summaries begin at its midnight. "+
				"Exports from pages, and pages without JavaScript, have its times. "+
				"All servers on one database need the same zone"),
		durationFlag("sweep-interval", &c.sweepInterval, time.Hour,
			"how often to delete submissions whose keep has expired, 1s to 24h"),
		sizeFlag("max-body", &c.maxBody, request.DefaultMaxBody, "largest request body, and largest submission, such as 2MB"),
		sizeFlag("max-file", &c.maxFile, service.DefaultMaxFile, "largest file of a submission, such as 50MB"),
		intFlag("max-connections", &c.server.MaxConnections, server.DefaultMaxConnections,
			"most open connections; further ones wait"),
		boolFlag("access-log", &c.accessLog, "log each request; --access-log=no switches it off"),
		valueFlag("log-format", &c.logFormat, "text", "text or json, on standard error; durations in JSON are in seconds"),
		valueFlag("log-level", &c.logLevel, "info", "debug, info, warn or error"),
		boolFlag("metrics", &c.metrics, "serve Prometheus metrics at /metrics, without credentials"),
	}, c.eventFlags(), c.webFlags())
}

// refuse returns an error if a combination of flags is wrong. Rules are joined by cmp.Or, so
// that the first one counts that is broken.
func refuse(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return usagef(format, args...)
}

// check reads texts into what they mean, and refuses flags that can't be used, alone or with the others.
func (c *config) check(cmd *cli.Command) error {
	s, db := &c.server, &c.database
	var baseErr, proxiesErr, mailErr, originsErr, zoneErr error
	c.base, baseErr = parseBasePath(c.basePath)
	s.TrustedProxies, proxiesErr = parsePrefixes(c.trustedProxies)
	c.mailer.Domains, mailErr = parseMailDomains(c.notified)
	c.web.FrameAncestors, originsErr = parseOrigins(c.frameAncestors)
	c.zone, zoneErr = parseZone(c.timezone)
	c.mailer.Language = c.web.Language
	c.markup = markup.Options{MailDomains: c.mailer.Domains, NoMail: c.mailer.Server == "", Zone: c.zone}
	return cmp.Or(
		refuse(!isListenAddress(s.Listen),
			"--listen %q: use an address such as 127.0.0.1:8080, or :8080 for all interfaces", s.Listen),
		refuse(c.maxBody < 1, "--max-body %d: use 1 or more", c.maxBody),
		refuse(c.maxFile < 1, "--max-file %d: use 1 or more", c.maxFile),
		refuse(c.sweepInterval < time.Second || c.sweepInterval > 24*time.Hour,
			"--sweep-interval %v: use 1s to 24h", c.sweepInterval),
		refuse(s.MaxConnections < 1, "--max-connections %d: use 1 or more", s.MaxConnections),
		refuse((s.TLSCert == "") != (s.TLSKey == ""), "--tls-cert and --tls-key go together: give both or neither"),
		refuse(lang.Find(c.web.Language) == nil,
			"--language %q: use one of %s", c.web.Language, strings.Join(lang.Tags(), ", ")),
		refuse(db.MaxConns < 2, "--database-connections %d: use 2 or more", db.MaxConns),
		refuse(db.StatementTimeout < time.Second, "--database-timeout %v: use 1s or more", db.StatementTimeout),
		refuse(c.at.dir == "" && c.at.url != "" && c.anonymousKey == "",
			"--database needs --anonymous-key FILE: a secret that all servers on the database share, made at the first start"),
		baseErr, proxiesErr, c.checkSignIn(), c.checkAuthors(), c.checkWiki(cmd), c.checkEvents(),
		mailErr, originsErr, zoneErr, c.at.check(),
	)
}

// isListenAddress wants a port: without one, net.Listen would take any.
func isListenAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	_, portErr := net.LookupPort("tcp", port) //nolint:noctx // it asks no server
	return port != "" && err == nil && portErr == nil
}

// basePath is made of segments that need no escape in a path or in a cookie's name.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+/?$`)

// maxBasePath bounds --base-path, in bytes.
const maxBasePath = 200

// parseBasePath returns what paths begin with, without a slash at the end: "" for /.
func parseBasePath(text string) (string, error) {
	if text == "/" {
		return "", nil
	}
	base := strings.TrimSuffix(text, "/")
	if !basePath.MatchString(text) || len(text) > maxBasePath || path.Clean(base) != base {
		return "", usagef("--base-path %q: use a path such as /forms, "+
			"with letters, digits, -, _, . and ~, and at most %d of them", text, maxBasePath)
	}
	return base, nil
}

// parseZone refuses "Local": servers on one database must agree.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, usagef("--timezone %q: there is no such zone; use a name such as UTC or Europe/Berlin", name)
	}
	return zone, nil
}

func parsePrefixes(list []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, s := range list {
		s = strings.TrimSpace(s)
		prefix, err := netip.ParsePrefix(s)
		if err != nil || prefix.Addr().Is4In6() { // which would match no address
			addr, addrErr := netip.ParseAddr(s)
			if addrErr != nil {
				return nil, usagef("--trusted-proxies %q: use an address or a prefix such as 10.0.0.0/8", s)
			}
			addr = addr.Unmap()
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

func parseMailDomains(list []string) (forms.MailDomains, error) {
	domains, err := forms.ParseMailDomains(list)
	if err != nil {
		return nil, usagef("--mail-domains: %v", err)
	}
	return domains, nil
}
