package markup

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const (
	notifyHint    = "write an address such as name@example.org, or several as [a@example.org, b@example.org]"
	maxAddressLen = 254 // what mail servers take
)

// notify reads the addresses that get a mail when submissions have come: one, or a list.
func (r *formReader) notify(m *yaml.Node) {
	n := valueOf(m, "notify")
	if n == nil {
		return
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = r.items(n, "notify", notifyHint)
	}
	if len(items) > MaxNotify {
		r.errorf(n.Column, "use the address of a mailing list", "notify has more than %d addresses", MaxNotify)
		return
	}
	for _, n := range items {
		local, domain, _ := strings.Cut(n.Value, "@")
		address := local + "@" + strings.ToLower(domain)
		switch {
		case !r.isText(n, "an address of notify"):
		case !forms.IsEmail(n.Value):
			r.errorf(n.Column, notifyHint, "notify %s is not an e-mail address", quote(n.Value))
		case len(n.Value) > maxAddressLen:
			r.errorf(n.Column, "", "notify %s is longer than %d bytes", quote(n.Value), maxAddressLen)
		case slices.Contains(r.form.Notify, address):
			r.warnf(n.Column, "remove one of them", "notify %s appears twice: it gets each mail once", quote(n.Value))
		default:
			r.form.Notify = append(r.form.Notify, address)
			r.warnOfNoMail(n, n.Value)
		}
	}
}

// warnOfNoMail warns of an address that gets no mail, or of others who get none.
func (r *formReader) warnOfNoMail(n *yaml.Node, who string) {
	switch {
	case r.server == nil:
	case r.server.NoMail:
		r.warnf(n.Column, "ask the operator of the server, or remove it",
			"%s gets no mail: mail is not set up on this server (--smtp)", who)
	case len(r.server.MailDomains) == 0:
		r.warnf(n.Column, "name the domains that get mail with --mail-domains",
			"%s gets no mail: no domain is allowed", who)
	case who == n.Value && !r.server.MailDomains.Allows(who):
		r.warnf(n.Column, "use an address of an allowed domain, or have this one allowed",
			"%s gets no mail: its domain is not one of --mail-domains", who)
	}
}
