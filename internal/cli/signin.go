package cli

import (
	"cmp"
	"log/slog"
	"math"
	"net/netip"
	"net/url"
	"strings"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/formulary/formulary/internal/auth"
)

// signInFlags are those that say who may use the server.
func (c *config) signInFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("users", &c.users.UsersFile,
			"htpasswd file of users, bcrypt only; 'formulary passwd' writes it; "+
				"or wiki: those of the live wiki of --pages; required without --user-header"),
		textFlag("groups", &c.users.GroupsFile, "with --users: Apache-style group file"),
		textFlag("user-header", &c.userHeader,
			"instead of --users: header in which one of --trusted-proxies names the user, such as X-Forwarded-User"),
		textFlag("groups-header", &c.groupsHeader,
			"with --user-header: header in which the proxy names the user's groups, separated by commas"),
		textFlag("logout-url", &c.web.LogoutURL,
			"with --user-header: where people sign out, as a path of the proxy or an address"),
	}
}

func (c *config) checkSignIn() error {
	header, groups, logout := c.userHeader, c.groupsHeader, c.web.LogoutURL
	if header == "" {
		return cmp.Or(
			refuse(c.users.UsersFile == "",
				"say who the users are: --users FILE, or --user-header NAME behind a proxy that signs people in"),
			refuse(groups != "", "--groups-header goes with --user-header; with --users, groups come from --groups FILE"),
			refuse(logout != "", "--logout-url goes with --user-header; with --users, people sign out here"),
		)
	}
	return cmp.Or(
		refuse(c.users.UsersFile != "",
			"--user-header and --users exclude each other: leave out --users, since the proxy names the users"),
		refuse(c.users.GroupsFile != "", "--user-header and --groups exclude each other: "+
			"the proxy names the groups, too, with --groups-header NAME"),
		refuse(!httpguts.ValidHeaderFieldName(header),
			"--user-header %q: use the name of a header, such as X-Forwarded-User", header),
		refuse(groups != "" && !httpguts.ValidHeaderFieldName(groups),
			"--groups-header %q: use the name of a header, such as X-Forwarded-Groups", groups),
		refuse(strings.EqualFold(header, groups), "--user-header and --groups-header are both %s: use two", header),
		refuse(logout != "" && !isLogoutURL(logout),
			"--logout-url %q: use a path such as /oauth2/sign_out, or an address that begins with https://", logout),
		checkProxies(c.server.TrustedProxies),
	)
}

// checkProxies refuses --user-header if no proxy is trusted, or so many addresses that
// clients are among them: then a client could take any name. Nearly all public IPv6 addresses
// are in 2000::/4, a sixteenth of all; private networks are less than a hundredth.
func checkProxies(proxies []netip.Prefix) error {
	if len(proxies) == 0 {
		return usagef("--user-header needs --trusted-proxies: the addresses that the proxy connects from, such as " +
			"--trusted-proxies 127.0.0.1 for one on this machine")
	}
	share := map[int]float64{} // of all IPv4 and of all IPv6 addresses
	for _, p := range proxies {
		family := p.Addr().BitLen()
		if share[family] += math.Ldexp(1, -p.Bits()); share[family] > 1.0/64 {
			return usagef("--trusted-proxies with --user-header: with %s it is more than a 64th of all addresses, "+
				"and everybody could name themselves anybody; use the addresses of the proxy", p)
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

// openUsers opens who may use the server.
func openUsers(c *config, log *slog.Logger) (auth.People, error) {
	if c.userHeader != "" {
		return auth.NewProxy(c.userHeader, c.groupsHeader, log), nil
	}
	c.users.Logger = log
	return configured(auth.Open(c.users))
}
