package wiki

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
)

// Options say which wiki is asked, and how.
type Options struct {
	Address    string       // see Open
	CAFile     string       // authorities that certificates are checked against, as PEM; "" for the system's
	EditAction string       // MediaWiki: the action that editors of a page may do; "" for edit
	Cookies    []string     // names of the wiki's session cookies; none for those that it usually has
	Agent      string       // User-Agent of calls
	Logger     *slog.Logger // of reloads
}

// kinds makes a wiki of each kind. The kind begins the address:
// mediawiki+https://wiki.example.org/api.php.
var kinds = map[string]func(*client, Options) Wiki{
	"mediawiki":        newMediaWiki,
	"confluence":       newConfluence(dataCenter),
	"confluence-cloud": newConfluence(cloud),
}

// IsAddress reports whether a text is meant to be the address of a wiki, and not
// the path of a directory.
func IsAddress(text string) bool {
	return strings.Contains(text, "://")
}

// Open makes the client of a wiki. It sends nothing yet. The error says what is
// wrong with the address or the authorities, in words for the operator.
func Open(opts Options) (Wiki, error) {
	kind, base, err := ParseAddress(opts.Address)
	if err != nil {
		return nil, err
	}
	c, err := newClient(base, opts)
	if err != nil {
		return nil, err
	}
	return kinds[kind](c, opts), nil
}

// InClear reports whether passwords would cross a network without encryption.
func InClear(address string) bool {
	_, base, err := ParseAddress(address)
	if err != nil || base.Scheme == "https" || base.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(base.Hostname())
	return err != nil || !ip.IsLoopback()
}

// ParseAddress returns the kind of a wiki and what it is below.
func ParseAddress(text string) (kind string, base *url.URL, err error) {
	kind, address, _ := strings.Cut(text, "+")
	base, err = url.Parse(address)
	switch {
	case kinds[kind] == nil: // it may have a password
		return "", nil, errors.New("the address of a wiki begins with its kind: mediawiki+https://… of its api.php, " +
			"confluence+https://… or confluence-cloud+https://…")
	case err != nil:
		return "", nil, fmt.Errorf("%s+… is followed by no address that can be read", kind) // as above
	case base.User != nil:
		return "", nil, fmt.Errorf("the address of the wiki has a user name or a password: " +
			"leave it out, people sign in with their own")
	case base.Host == "" || base.Scheme != "http" && base.Scheme != "https", base.RawQuery != "" || base.Fragment != "":
		return "", nil, fmt.Errorf("%q is no address of a wiki, such as https://wiki.example.org/api.php", address)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	return kind, base, nil
}
