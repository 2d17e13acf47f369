package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/web"
)

// webFlags are those that concern the pages.
func (c *config) webFlags() []cli.Flag {
	return []cli.Flag{
		valueFlag("brand-name", &c.web.BrandName, "Formulary", "name that the pages show"),
		valueFlag("language", &c.web.Language, lang.English,
			"language of mails, and of pages whose readers ask for none that there is, such as de"),
		textFlag("brand-css", &c.brandCSS, "stylesheet that the pages load after their own; read at the start"),
		listFlag("frame-ancestors", &c.frameAncestors,
			"origins of wikis that may embed forms, such as https://wiki.example.org"),
	}
}

func newSite(c *config, backend *request.Backend, sessions *session.Sessions, anonymousKey []byte) *web.Site {
	opts := c.web
	opts.Backend, opts.Key, opts.Markup = backend, session.Derive(anonymousKey, "formulary pages"), &c.markup
	opts.Version = thisBuild().Version
	if c.userHeader == "" {
		opts.Sessions = sessions
	}
	var live bool
	if opts.Browsers, live = backend.Auth.(*auth.Wiki); live && c.base != "" {
		// The wiki has the same host: that is what the base path is for.
		opts.FrameAncestors = append(opts.FrameAncestors, "'self'")
	}
	return web.New(opts)
}

// parseOrigins reads the origins that may embed forms.
func parseOrigins(list []string) ([]string, error) {
	var origins []string
	for _, text := range list {
		text = strings.TrimSpace(text)
		if !isOrigin(text) {
			return nil, usagef("--frame-ancestors %q: use an origin such as https://wiki.example.org "+
				"or https://wiki.example.org:8443, in lower case and with nothing after it", text)
		}
		origins = append(origins, text)
	}
	return origins, nil
}

// origin has the characters that a Content-Security-Policy takes for a host.
// Addresses of IPv6 are not among them: browsers would match them with nothing.
var origin = regexp.MustCompile(`^https?://(` + hostLabel + `\.)*` + hostLabel + `(:([0-9]+))?$`)

const hostLabel = `[a-z0-9]([a-z0-9-]*[a-z0-9])?`

// isOrigin takes one origin as browsers write it, and nothing that a policy
// would read as more than that.
func isOrigin(text string) bool {
	m := origin.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	if port := m[len(m)-1]; port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		return err == nil && n > 0
	}
	return true
}

// maxBrandCSS bounds the stylesheet of a team.
const maxBrandCSS = 256 << 10

// readBrandCSS reads the stylesheet of a team; nil where there is none.
func readBrandCSS(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := reload.ReadFile(path, maxBrandCSS)
	if err == nil && len(text) == 0 {
		err = errors.New(path + " is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("read --brand-css: %w", err)
	}
	return text, nil
}
