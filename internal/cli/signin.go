package cli

import (
	"context"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/formulary/formulary/internal/auth"
)

// signInFlags are those of serve that say who may use it.
func signInFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "users", Usage: "htpasswd file of users, bcrypt only; 'formulary passwd' writes it; required without --user-header",
			Sources: env("users"),
		},
		&cli.StringFlag{Name: "groups", Usage: "with --users: Apache-style group file", Sources: env("groups")},
		&cli.StringFlag{
			Name: "user-header", Usage: "instead of --users: header in which one of --trusted-proxies names the user, such as X-Forwarded-User",
			Sources: env("user-header"),
		},
		&cli.StringFlag{
			Name: "groups-header", Usage: "with --user-header: header in which the proxy names the user's groups, separated by commas",
			Sources: env("groups-header"),
		},
		&cli.StringFlag{
			Name: "logout-url", Usage: "with --user-header: where people sign out, as a path of the proxy or an address",
			Sources: env("logout-url"),
		},
	}
}

func checkSignInFlags(cmd *cli.Command) error {
	header, groups, logout := cmd.String("user-header"), cmd.String("groups-header"), cmd.String("logout-url")
	switch {
	case header == "" && cmd.String("users") == "":
		return usagef("say who the users are: --users FILE, or --user-header NAME behind a proxy that signs people in")
	case header == "" && groups != "":
		return usagef("--groups-header goes with --user-header; with --users, groups come from --groups FILE")
	case header == "" && logout != "":
		return usagef("--logout-url goes with --user-header; with --users, people sign out here")
	case header == "":
		return nil
	case cmd.String("users") != "":
		return usagef("--user-header and --users exclude each other: leave out --users, since the proxy names the users")
	case cmd.String("groups") != "":
		return usagef("--user-header and --groups exclude each other: the proxy names the groups, too, with --groups-header NAME")
	case !httpguts.ValidHeaderFieldName(header):
		return usagef("--user-header %q: use the name of a header, such as X-Forwarded-User", header)
	case groups != "" && !httpguts.ValidHeaderFieldName(groups):
		return usagef("--groups-header %q: use the name of a header, such as X-Forwarded-Groups", groups)
	case strings.EqualFold(header, groups):
		return usagef("--user-header and --groups-header are both %s: use two", header)
	case logout != "" && !isLogoutURL(logout):
		return usagef("--logout-url %q: use a path such as /oauth2/sign_out, or an address that begins with https://", logout)
	}
	return checkProxies(cmd.StringSlice("trusted-proxies"))
}

// checkProxies refuses --user-header where everybody could name themselves
// anybody, or nobody could.
func checkProxies(list []string) error {
	proxies, err := parsePrefixes(list)
	if err != nil {
		return err
	}
	if len(proxies) == 0 {
		return usagef("--user-header needs --trusted-proxies: the addresses that the proxy connects from, such as " +
			"--trusted-proxies 127.0.0.1 for one on this machine")
	}
	for _, p := range proxies {
		if p.Bits() == 0 {
			return usagef("--trusted-proxies %s with --user-header: everybody could name themselves anybody; use the addresses of the proxy", p)
		}
	}
	return nil
}

// isLogoutURL takes a path of this host, or the address of a page elsewhere.
func isLogoutURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' }) {
		return false
	}
	if u.Scheme == "" {
		return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
	}
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// people are who may use the server, as the flags say.
type people struct {
	auth.Authenticator
	directory *auth.Directory // nil where a proxy names the users
	headers   []string        // that the proxy names them in
}

func openPeople(cmd *cli.Command, log *slog.Logger) (*people, error) {
	if header := cmd.String("user-header"); header != "" {
		p := &people{Authenticator: auth.NewProxy(header, cmd.String("groups-header"), log), headers: []string{header}}
		if groups := cmd.String("groups-header"); groups != "" {
			p.headers = append(p.headers, groups)
		}
		return p, nil
	}
	directory, err := auth.Open(auth.Options{UsersFile: cmd.String("users"), GroupsFile: cmd.String("groups"), Logger: log})
	if err != nil {
		return nil, &configError{err}
	}
	return &people{Authenticator: directory, directory: directory}, nil
}

// ready returns an error if changes of users and groups are not noticed.
func (p *people) ready(ctx context.Context) error {
	if p.directory == nil {
		return nil
	}
	return p.directory.Ready(ctx)
}

func (p *people) watch(ctx context.Context) {
	if p.directory != nil {
		p.directory.Watch(ctx)
	}
}

func (p *people) reload(ctx context.Context) {
	if p.directory != nil {
		p.directory.Reload(ctx)
	}
}

// noteProxies says at the start whom the server believes.
func (p *people) noteProxies(log *slog.Logger, proxies []netip.Prefix) {
	if p.directory == nil {
		log.Info("users are whom a trusted proxy names", "headers", p.headers, "proxies", proxies)
	}
}
