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
		}
	}
}
