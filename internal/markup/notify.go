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
func (w *builder) notify(m *yamlMap) {
	n := m.values["notify"]
	if n == nil {
		return
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = w.items(n, "notify", notifyHint)
	}
	if len(items) > MaxNotify {
		w.errorf(n.Column, "use the address of a mailing list", "notify has more than %d addresses", MaxNotify)
		return
	}
	for _, item := range items {
		v := w.scalar(item, "an address of notify")
		local, domain, _ := strings.Cut(v.text, "@")
		address := local + "@" + strings.ToLower(domain)
		switch {
		case v.invalid: // it was reported
		case !forms.IsEmail(v.text):
			w.errorf(v.at, notifyHint, "notify %s is not an e-mail address", quote(v.text))
		case len(v.text) > maxAddressLen:
			w.errorf(v.at, "", "notify %s is longer than %d bytes", quote(v.text), maxAddressLen)
		case slices.Contains(w.form.Notify, address):
			w.warnf(v.at, "remove one of them", "notify %s appears twice: it gets each mail once", quote(v.text))
		default:
			w.form.Notify = append(w.form.Notify, address)
			w.warnOfNoMail(v)
		}
	}
}

// Mail says which addresses get mail.
type Mail struct {
	Off     bool // the server sends none
	Domains forms.MailDomains
}

// warnOfNoMail warns of an address that gets no mail.
func (w *builder) warnOfNoMail(v value) {
	switch {
	case w.mail == nil, !w.mail.Off && w.mail.Domains.Allows(v.text):
	case w.mail.Off:
		w.warnf(v.at, "ask the operator of the server, or remove the address", "%s gets no mail: mail is not set up on this server (--smtp)", v.text)
	case len(w.mail.Domains) == 0:
		w.warnf(v.at, "name the domains that get mail with --mail-domains", "%s gets no mail: no domain is allowed", v.text)
	default:
		w.warnf(v.at, "use an address of an allowed domain, or have this one allowed", "%s gets no mail: its domain is not one of --mail-domains", v.text)
	}
}
